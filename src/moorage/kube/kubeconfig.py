"""Kubeconfig files: their fields, and several of them read as one.

The rules are kubectl's: KUBECONFIG may list several files, and the first to name a cluster, user or context wins.
What the entries mean is for `access`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from moorage.errors import InputError, ObjectError
from moorage.objects import convert
from moorage.values import yaml


class NamedExtension(msgspec.Struct):
    name: str = ""
    extension: Any = None


class ClusterEntry(msgspec.Struct, rename="kebab"):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    extensions: list[NamedExtension] | None = None


class ExecVariable(msgspec.Struct):
    name: str
    value: str


class Exec(msgspec.Struct, rename="camel"):
    command: str
    api_version: str = ""
    args: list[str] | None = None
    env: list[ExecVariable] | None = None
    install_hint: str = ""
    interactive_mode: str = ""
    provide_cluster_info: bool = False


class User(msgspec.Struct, rename="kebab"):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    impersonate: str = msgspec.field(default="", name="as")
    impersonate_uid: str = msgspec.field(default="", name="as-uid")
    impersonate_groups: list[str] | None = msgspec.field(default=None, name="as-groups")
    impersonate_extra: dict[str, list[str]] | None = msgspec.field(default=None, name="as-user-extra")
    auth_provider: Any = None
    exec: Exec | None = None


class Context(msgspec.Struct):
    cluster: str
    user: str = ""
    namespace: str = ""


class NamedCluster(msgspec.Struct):
    name: str
    cluster: ClusterEntry


class NamedUser(msgspec.Struct):
    name: str
    user: User = msgspec.field(default_factory=User)


class NamedContext(msgspec.Struct):
    name: str
    context: Context


class _File(msgspec.Struct, rename="kebab"):
    kind: str = "Config"
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None
    current_context: str = ""


_Entry = TypeVar("_Entry")


@dataclass
class Kubeconfig:
    """Several files as one. Each entry remembers the file it came from."""

    clusters: dict[str, tuple[Path, ClusterEntry]] = field(default_factory=dict)
    users: dict[str, tuple[Path, User]] = field(default_factory=dict)
    contexts: dict[str, tuple[Path, Context]] = field(default_factory=dict)
    current_context: str = ""
    files: list[Path] = field(default_factory=list)

    def merge(self, path: Path) -> None:
        """Add a file: what an earlier file said stays."""
        content = _parse(path)
        self.files.append(path)
        for named_cluster in content.clusters or ():
            self.clusters.setdefault(named_cluster.name, (path, named_cluster.cluster))
        for named_user in content.users or ():
            self.users.setdefault(named_user.name, (path, named_user.user))
        for named_context in content.contexts or ():
            self.contexts.setdefault(named_context.name, (path, named_context.context))
        self.current_context = self.current_context or content.current_context


def _parse(path: Path) -> _File:
    try:
        content = yaml.load(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except InputError as error:
        raise InputError(str(error), where=str(path)) from error
    try:
        file = convert({} if content is None else content, _File)
    except ObjectError as error:
        raise InputError(error.problem, where=f"{path}: {error.where}" if error.where else str(path)) from error
    if file.kind != "Config":
        raise InputError(f'expected a kubeconfig, whose kind is "Config", got "{file.kind}"', where=f"{path}: kind")
    return file


def find(entries: dict[str, tuple[Path, _Entry]], name: str, kind: str, where: str) -> tuple[Path, _Entry]:
    """An entry and the file it came from, or InputError that lists the names there are."""
    try:
        return entries[name]
    except KeyError:
        known = ", ".join(entries) or "none"
        raise InputError(f"there is no {kind} {name!r}: expected one of {known}", where=where) from None
