"""From kubeconfig entries, flags and a pod's own mount to a `ClusterAccess`: where the server is and who we are."""

import base64
import binascii
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moorage.errors import InputError
from moorage.kube.credentials import (
    CertificateFileSource,
    ClientCertificate,
    Credential,
    Source,
    StaticSource,
    TokenFileSource,
    basic,
    bearer,
)
from moorage.kube.execplugin import API_VERSIONS, ExecSource
from moorage.kube.kubeconfig import ClusterEntry, Exec, Kubeconfig, User, find

logger = logging.getLogger(__name__)

SERVICE_ACCOUNT_MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
EXEC_EXTENSION = "client.authentication.k8s.io/exec"


@dataclass(frozen=True)
class ClusterAccess:
    """Everything a client needs to talk to one cluster as one user."""

    server: str
    source: Source = field(default_factory=StaticSource)
    certificate_authority: bytes | None = None
    insecure: bool = False
    tls_server_name: str = ""
    namespace: str = "default"
    headers: tuple[tuple[str, str], ...] = ()


def load_access(
    kubeconfig: str | Path = "",
    *,
    context: str = "",
    master: str = "",
    environ: Mapping[str, str] = os.environ,
    mount: Path = SERVICE_ACCOUNT_MOUNT,
) -> ClusterAccess:
    """How to reach the cluster: the file named, or KUBECONFIG, or the pod's own mount, or ~/.kube/config."""
    if kubeconfig:
        config = Kubeconfig()
        config.merge(Path(kubeconfig))
        return access_of(config, context, master=master)
    listed = [Path(entry) for entry in environ.get("KUBECONFIG", "").split(os.pathsep) if entry]
    in_pod = environ.get("KUBERNETES_SERVICE_HOST") and (mount / "token").exists()
    if in_pod and not listed and not context and not master:
        return in_cluster_access(environ=environ, mount=mount)
    if not listed:
        listed = [Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"]
    config = Kubeconfig()
    for path in listed:
        if path.exists():
            config.merge(path)
        else:
            logger.debug("kubeconfig %s does not exist: skipped", path)
    if config.files:
        return access_of(config, context, master=master)
    if master and not context:
        return ClusterAccess(server=master)
    raise InputError(
        "no cluster to talk to: expected --kubeconfig FILE, KUBECONFIG, ~/.kube/config, or to run inside a pod "
        f"(looked for {', '.join(map(str, listed))})"
    )


def in_cluster_access(*, environ: Mapping[str, str] = os.environ, mount: Path = SERVICE_ACCOUNT_MOUNT) -> ClusterAccess:
    """The access a pod's service account gives. Its token is read again as the kubelet rotates it."""
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise InputError("not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
    namespace = mount / "namespace"
    return ClusterAccess(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        source=TokenFileSource(mount / "token"),
        certificate_authority=_read(mount / "ca.crt", str(mount), "ca.crt"),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def access_of(config: Kubeconfig, context_name: str = "", *, master: str = "") -> ClusterAccess:
    """The access a context describes: the current one unless another is named. `master` replaces its server."""
    where = ", ".join(map(str, config.files))
    context_name = context_name or config.current_context
    if not context_name:
        known = ", ".join(config.contexts) or "none"
        raise InputError(
            f"no current-context is set: `kubectl config use-context NAME` sets one (there are: {known})", where=where
        )
    path, context = find(config.contexts, context_name, "context", where)
    cluster_path, cluster = find(config.clusters, context.cluster, "cluster", f"{path}: context {context_name!r}")
    user_path, user = path, User()
    if context.user:
        user_path, user = find(config.users, context.user, "user", f"{path}: context {context_name!r}")
    at_cluster = f"{cluster_path}: cluster {context.cluster!r}"
    at_user = f"{user_path}: user {context.user!r}"
    authority = _certificate_authority(cluster, cluster_path, at_cluster)
    server = master or cluster.server
    if not server:
        raise InputError("server is empty: expected the address of an API server", where=at_cluster)
    if cluster.proxy_url:
        raise InputError("proxy-url is not supported: give a server that can be reached directly", where=at_cluster)
    return ClusterAccess(
        server=server,
        source=_source(user, user_path, at_user, _exec_cluster(cluster, server, authority)),
        certificate_authority=authority,
        insecure=cluster.insecure_skip_tls_verify,
        tls_server_name=cluster.tls_server_name,
        namespace=context.namespace or "default",
        headers=_impersonation(user, at_user),
    )


def _certificate_authority(cluster: ClusterEntry, path: Path, where: str) -> bytes | None:
    if cluster.insecure_skip_tls_verify:
        if cluster.certificate_authority or cluster.certificate_authority_data:
            raise InputError("insecure-skip-tls-verify and certificate-authority exclude each other", where=where)
        return None
    return _data_or_file(
        cluster.certificate_authority_data, cluster.certificate_authority, path, where, "certificate-authority"
    )


def _data_or_file(data: str, file: str, kubeconfig: Path, where: str, name: str) -> bytes | None:
    """Inline data wins over a file, as everywhere in kubeconfig."""
    if data:
        try:
            return base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise InputError(f"{name}-data is not base64: {error}", where=where) from error
    return _read(_beside(kubeconfig, file), where, name) if file else None


def _beside(kubeconfig: Path, file: str) -> Path:
    return kubeconfig.absolute().parent / file


def _read(path: Path, where: str, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{name} {path} cannot be read: {error.strerror}", where=where) from error


def _impersonation(user: User, where: str) -> tuple[tuple[str, str], ...]:
    if not user.impersonate:
        if user.impersonate_uid or user.impersonate_groups or user.impersonate_extra:
            raise InputError("as-uid, as-groups and as-user-extra need a user in `as`", where=where)
        return ()
    headers = [("Impersonate-User", user.impersonate)]
    if user.impersonate_uid:
        headers.append(("Impersonate-Uid", user.impersonate_uid))
    headers += [("Impersonate-Group", group) for group in user.impersonate_groups or ()]
    for key, values in (user.impersonate_extra or {}).items():
        headers += [(f"Impersonate-Extra-{key}", value) for value in values]
    return tuple(headers)


def _exec_cluster(cluster: ClusterEntry, server: str, authority: bytes | None) -> dict[str, Any]:
    """What an exec plugin is told about the cluster (ExecCredential.spec.cluster)."""
    told: dict[str, Any] = {"server": server}
    if cluster.tls_server_name:
        told["tls-server-name"] = cluster.tls_server_name
    if cluster.insecure_skip_tls_verify:
        told["insecure-skip-tls-verify"] = True
    if authority is not None:
        told["certificate-authority-data"] = base64.b64encode(authority).decode()
    for named in cluster.extensions or ():
        if named.name == EXEC_EXTENSION:
            told["config"] = named.extension
    return told


def _source(user: User, path: Path, where: str, exec_cluster: Mapping[str, Any]) -> Source:
    """The way this user proves who they are. A token in the file wins over a token file, tokens over basic."""
    if user.auth_provider is not None:
        raise InputError("auth-provider is not supported: use an exec plugin (user.exec)", where=where)
    has_certificate = _has_certificate(user, where)
    certificate = _certificate(user, path, where) if has_certificate else None
    if user.exec is not None:
        return _exec_source(user.exec, path, f"{where}: exec", exec_cluster)
    if not user.token and user.token_file:
        token_file = _beside(path, user.token_file)
        _read(token_file, where, "tokenFile")
        return TokenFileSource(token_file, certificate)
    authorization = ""
    if user.token:
        authorization = bearer(user.token)
    elif user.username:
        authorization = basic(user.username, user.password)
    if has_certificate and not (user.client_certificate_data or user.client_key_data):
        return CertificateFileSource(
            _beside(path, user.client_certificate), _beside(path, user.client_key), authorization
        )
    return StaticSource(Credential(authorization, certificate))


def _has_certificate(user: User, where: str) -> bool:
    certificate = bool(user.client_certificate or user.client_certificate_data)
    key = bool(user.client_key or user.client_key_data)
    if certificate != key:
        missing = "client-key" if certificate else "client-certificate"
        raise InputError(f"{missing} is missing: a client certificate needs both", where=where)
    return certificate


def _certificate(user: User, path: Path, where: str) -> ClientCertificate:
    chain = _data_or_file(user.client_certificate_data, user.client_certificate, path, where, "client-certificate")
    key = _data_or_file(user.client_key_data, user.client_key, path, where, "client-key")
    return ClientCertificate(chain or b"", key or b"")


def _exec_source(plugin: Exec, path: Path, where: str, cluster: Mapping[str, Any]) -> ExecSource:
    if plugin.api_version not in API_VERSIONS:
        raise InputError(f"apiVersion is {plugin.api_version!r}: expected {' or '.join(API_VERSIONS)}", where=where)
    mode = plugin.interactive_mode or "IfAvailable"
    if mode not in ("Never", "IfAvailable", "Always"):
        raise InputError(f"interactiveMode is {mode!r}: expected Never, IfAvailable or Always", where=where)
    if not plugin.command:
        raise InputError("command is empty: expected a program to run", where=where)
    command = plugin.command
    if os.sep in command:
        command = str(_beside(path, command))
    return ExecSource(
        command=command,
        args=tuple(plugin.args or ()),
        env={variable.name: variable.value for variable in plugin.env or ()},
        api_version=plugin.api_version,
        install_hint=plugin.install_hint,
        interactive_mode=mode,
        cluster=cluster if plugin.provide_cluster_info else None,
    )
