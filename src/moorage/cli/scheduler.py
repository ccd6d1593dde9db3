"""moorage scheduler: schedule the pods of a real cluster."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from moorage.cli.goflags import GoFlagsCommand, boolean, duration
from moorage.cli.options import GatesOption, PluginOption, VersionOption, make_features
from moorage.cli.refusing import BAD_INPUT, in_one_line

_POLICY_FLAGS = (
    "--policy-config-file",
    "--policy-configmap",
    "--policy-configmap-namespace",
    "--use-legacy-policy-config",
    "--algorithm-provider",
)


class SchedulerCommand(GoFlagsCommand):
    """kube-scheduler's flags; those of before 1.23 that named a policy answer with what to run instead."""

    booleans: ClassVar[frozenset[str]] = frozenset({"--leader-elect"})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Answer the flags that are gone, and read the rest."""
        answer = _answer_to_policy_flags(args)
        if answer:
            typer.echo(answer, err=True)
            raise typer.Exit(BAD_INPUT)
        return super().parse_args(ctx, args)


def _answer_to_policy_flags(args: list[str]) -> str:
    """The command that turns what these flags name into a file for --config; "" where none of them is given."""
    given: dict[str, str] = {}
    for index, arg in enumerate(args):
        name, equals, value = arg.partition("=")
        if name in _POLICY_FLAGS:
            given[name] = value if equals else (args[index + 1] if index + 1 < len(args) else "")
    if not given:
        return ""
    flag = next(iter(given))
    if "--policy-configmap" in given:
        namespace = given.get("--policy-configmap-namespace") or "kube-system"
        what = f" --policy-configmap {namespace}/{given['--policy-configmap'] or 'NAME'}"
    elif "--policy-config-file" in given:
        what = f" {given['--policy-config-file'] or 'FILE'}"
    else:
        return f"{flag} is gone since 1.23: leave it out, and say in a file for --config which plugins run"
    return (
        f"{flag} is gone since 1.23: run `moorage config convert{what} > scheduler.yaml` once, "
        "and start with --config scheduler.yaml"
    )


def scheduler(
    config: Annotated[
        Path | None, typer.Option(help="A KubeSchedulerConfiguration. Default: kube-scheduler's.")
    ] = None,
    kubeconfig: Annotated[
        str, typer.Option(help="How to reach the cluster, where the configuration's clientConnection does not say.")
    ] = "",
    master: Annotated[str, typer.Option(help="The API server's address, in place of the kubeconfig's.")] = "",
    plugin: PluginOption = None,
    emulated_version: VersionOption = "",
    feature_gates: GatesOption = None,
    leader_elect: Annotated[
        Any, typer.Option("--leader-elect", parser=boolean, metavar="BOOL", help="Lead by a lease.")
    ] = None,
    leader_elect_lease_duration: Annotated[
        Any, typer.Option(parser=duration, metavar="DURATION", help="How long others wait for a silent leader.")
    ] = None,
    leader_elect_renew_deadline: Annotated[
        Any, typer.Option(parser=duration, metavar="DURATION", help="How long a leader tries to renew its lease.")
    ] = None,
    leader_elect_retry_period: Annotated[
        Any, typer.Option(parser=duration, metavar="DURATION", help="Time between two tries.")
    ] = None,
    leader_elect_resource_name: Annotated[str | None, typer.Option(help="The name of the lease.")] = None,
    leader_elect_resource_namespace: Annotated[str | None, typer.Option(help="The namespace of the lease.")] = None,
    bind_address: Annotated[str, typer.Option(help="The address to serve HTTPS on.")] = "0.0.0.0",
    secure_port: Annotated[int, typer.Option(min=0, max=65535, help="The port to serve HTTPS on; 0 for none.")] = 10259,
    tls_cert_file: Annotated[Path | None, typer.Option(help="The endpoint's certificate. Default: its own.")] = None,
    tls_private_key_file: Annotated[Path | None, typer.Option(help="The key of that certificate.")] = None,
    authorization_always_allow_paths: Annotated[
        str, typer.Option(metavar="PATHS", help="Paths open to everybody, separated by commas.")
    ] = "/healthz,/readyz,/livez",
    extender_questions: Annotated[
        int, typer.Option(min=1, help="How many pods wait for extenders' answers at once, at most.")
    ] = 32,
    extender_breaker: Annotated[
        int, typer.Option(min=0, help="Leave an extender alone for a while after so many failures in a row; 0: never.")
    ] = 5,
    write_config_to: Annotated[
        Path | None, typer.Option(help="Write the configuration in full to a file and end.")
    ] = None,
    verbosity: Annotated[int, typer.Option("-v", "--v", help="How much to log: 0, 2 (pods), 4 (everything).")] = 0,
    logging_format: Annotated[str, typer.Option(metavar="text|json", help="What log lines look like.")] = "text",
) -> None:
    """Schedule the pods of a cluster: in kube-scheduler's place, or beside it under another scheduler name."""
    from moorage.live.options import ExtenderOptions, Serving, make_options
    from moorage.live.process import run
    from moorage.observe.logs import configure
    from moorage.values import yaml

    election = {
        "leader_elect": leader_elect,
        "lease_duration": leader_elect_lease_duration,
        "renew_deadline": leader_elect_renew_deadline,
        "retry_period": leader_elect_retry_period,
        "resource_name": leader_elect_resource_name,
        "resource_namespace": leader_elect_resource_namespace,
    }
    with in_one_line():
        options = make_options(
            features=make_features(emulated_version, feature_gates),
            config_file=config,
            kubeconfig=kubeconfig,
            master=master,
            plugins=plugin or (),
            leader_election={name: value for name, value in election.items() if value is not None},
            asking=ExtenderOptions(extender_questions, extender_breaker),
            serving=Serving(
                address=bind_address,
                port=secure_port,
                certificate=tls_cert_file,
                key=tls_private_key_file,
                always_allowed=[path for path in authorization_always_allow_paths.split(",") if path],
            ),
        )
        if write_config_to is not None:
            write_config_to.write_text(yaml.dump(options.document))
            return
        configure(verbosity, as_json=logging_format == "json")
        status = run(options)
    raise typer.Exit(status)
