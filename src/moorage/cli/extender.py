"""moorage extender: serve plugins to a scheduler that cannot be rebuilt."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from moorage.cli.completing import plugins
from moorage.cli.options import GatesOption, VersionOption, make_features
from moorage.cli.refusing import in_one_line

if TYPE_CHECKING:
    from moorage.extender.process import Settings

_PEM = "PEM file"


def extender(
    plugin: Annotated[
        list[str] | None,
        typer.Option(
            "--plugin",
            metavar="REF",
            help="A plugin to serve, module:Class, file.py:Class or one that is known by name; repeatable.",
            autocompletion=plugins,
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A KubeSchedulerConfiguration with the plugins' arguments and weights.")
    ] = None,
    kubeconfig: Annotated[str, typer.Option(help="How to reach the cluster.")] = "",
    master: Annotated[str, typer.Option(help="The API server's address, in place of the kubeconfig's.")] = "",
    whole_nodes: Annotated[
        bool, typer.Option("--whole-nodes", help="Be sent whole nodes (nodeCacheCapable: false); follow no cluster.")
    ] = False,
    address: Annotated[str, typer.Option(help="The address to serve on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to serve on; 0 for any.")] = 8888,
    tls_cert: Annotated[Path | None, typer.Option(metavar=_PEM, help="Serve HTTPS with this certificate.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar=_PEM, help="The key of that certificate.")] = None,
    client_ca: Annotated[
        Path | None, typer.Option(metavar=_PEM, help="Let in callers with a certificate of this authority.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="Let in callers with the bearer token in this file (kube-scheduler sends none).")
    ] = None,
    leader_elect: Annotated[
        bool, typer.Option("--leader-elect", help="Answer only while holding a lease, so that several can run.")
    ] = False,
    leader_elect_resource_name: Annotated[str, typer.Option(help="The name of the lease.")] = "moorage-extender",
    leader_elect_resource_namespace: Annotated[str, typer.Option(help="The namespace of the lease.")] = "kube-system",
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print what kube-scheduler's configuration needs, and end.")
    ] = False,
    url: Annotated[str, typer.Option(help="Where the scheduler reaches it, for --print-config.")] = "",
    emulated_version: VersionOption = "",
    feature_gates: GatesOption = None,
    verbosity: Annotated[int, typer.Option("-v", "--v", help="How much to log.")] = 2,
    logging_format: Annotated[str, typer.Option(metavar="text|json", help="What log lines look like.")] = "text",
) -> None:
    """Serve plugins as an extender: a webhook that an unmodified kube-scheduler asks to filter, score and bind."""
    from moorage.engine.engine import default_registry
    from moorage.extender.configuring import plugins_config, register
    from moorage.extender.guarding import WHOLE_NODES_LIMIT, Limits
    from moorage.extender.process import Settings, run
    from moorage.kube.access import load_access
    from moorage.kube.election import ElectionSettings
    from moorage.observe.logs import configure

    with in_one_line():
        _check_tls(tls_cert, tls_key, client_ca)
        registry = default_registry()
        names = register(registry, plugin or ())
        text = config.read_bytes() if config is not None else None
        settings = Settings(
            config=plugins_config(
                registry,
                names,
                text,
                str(config or ""),
                features=make_features(emulated_version, feature_gates),
            ),
            registry=registry,
            access=None if whole_nodes or print_config else load_access(kubeconfig, master=master),
            address=address,
            port=port,
            tls_cert=tls_cert,
            tls_key=tls_key,
            client_ca=client_ca,
            token_file=token_file,
            election=ElectionSettings(name=leader_elect_resource_name, namespace=leader_elect_resource_namespace)
            if leader_elect
            else None,
            limits=Limits(body=WHOLE_NODES_LIMIT) if whole_nodes else Limits(),
        )
        if print_config:
            typer.echo(_snippet(settings, url, whole_nodes=whole_nodes), nl=False)
            return
        configure(verbosity, as_json=logging_format == "json")
        status = run(settings)
    raise typer.Exit(status)


def _check_tls(certificate: Path | None, key: Path | None, client_ca: Path | None) -> None:
    from moorage.errors import InputError

    if (certificate is None) != (key is None):
        raise InputError("expected both --tls-cert and --tls-key, or neither")
    if client_ca is not None and certificate is None:
        raise InputError("needs --tls-cert and --tls-key", where="--client-ca")


def _snippet(settings: "Settings", url: str, *, whole_nodes: bool) -> str:
    """The `extenders:` entry, with a comment on what has to be filled in."""
    from moorage.extender.configuring import snippet
    from moorage.extender.service import verbs_of
    from moorage.values import yaml

    secure = settings.tls_cert is not None
    url = url or f"{'https' if secure else 'http'}://{settings.address}:{settings.port}"
    lines = ["# For the file that kube-scheduler is started with (--config).\n"]
    if secure:
        lines.append("# The scheduler reads these files: name them as it sees them.\n")
    if settings.token_file is not None and settings.client_ca is None:
        lines.append(
            "# kube-scheduler can send no token: give it a certificate (--client-ca) instead of --token-file.\n"
        )
    tls = {}
    if secure:
        tls["caFile"] = "/etc/moorage/extender/ca.crt"
    if settings.client_ca is not None:
        tls |= {"certFile": "/etc/moorage/extender/client.crt", "keyFile": "/etc/moorage/extender/client.key"}
    verbs = verbs_of(settings.config.profiles[0].plugins.at, follows=not whole_nodes)
    entry = snippet(url, verbs, whole_nodes=whole_nodes, tls=tls)
    return "".join(lines) + yaml.dump({"extenders": [entry]})
