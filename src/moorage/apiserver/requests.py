"""Requests and their answers, apart from HTTP: the resource from the path, the options from the query."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from moorage.apiserver import status
from moorage.apiserver.auth import User
from moorage.apiserver.media import JSON, Answer, negotiate


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a resource path."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def parse_path(path: str) -> Target | None:
    """The resource that a path under /api or /apis names, or None for discovery and all else."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    # /namespaces/NAME and its subresources are the Namespace itself; anything longer is inside it.
    if rest[0] == "namespaces" and len(rest) >= 3 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3 or not all(rest):
        raise status.no_such_path()
    resource, name, subresource = (*rest, "", "")[:3]
    return Target(group, version, resource, namespace, name, subresource)


@dataclass(slots=True)
class Request:
    """One request, with everything the verbs need to know about it and nothing of HTTP."""

    method: str
    path: str
    query: Mapping[str, str]
    user: User
    body: bytes = b""
    content_type: str = ""
    accept: str = ""
    warnings: list[str] = field(default_factory=list)
    #: Filled in as the request is understood.
    target: Target | None = None
    verb: str = ""

    @property
    def answer(self) -> Answer:
        """The form the client would like the answer in; 406 where we have none."""
        return negotiate(self.accept)

    def flag(self, name: str) -> bool:
        """A boolean of the query; 400 for anything but true and false."""
        value = self.query.get(name, "")
        if value.lower() in ("", "false", "0", "f"):
            return name in self.query and value == ""
        if value.lower() in ("true", "1", "t"):
            return True
        raise status.bad_request(f"invalid value {value!r} for {name}: expected true or false")

    def integer(self, name: str) -> int | None:
        """A number of the query, None where absent; 400 for garbage."""
        value = self.query.get(name, "")
        if not value:
            return None
        digits = value.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
            raise status.bad_request(f"invalid value {value!r} for {name}: expected a number")
        return int(value)

    def revision(self, name: str = "resourceVersion") -> int | None:
        """A resource version of the query, None where absent; 400 for garbage."""
        return parse_revision(self.query.get(name, ""))

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing may be stored."""
        return check_dry_run(self.query.get("dryRun", ""))


def check_dry_run(value: str) -> bool:
    """Whether a dryRun option asks for a dry run; 400 for what it may not be."""
    if value not in ("", "All"):
        raise status.bad_request(f'dryRun: Unsupported value: "{value}": supported values: "All"')
    return value == "All"


def parse_revision(text: str) -> int | None:
    """A resource version as a number; None for the empty one, 400 for garbage."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise status.bad_request(f'resourceVersion: Invalid value: "{text}": must be a number')
    return int(text)


@dataclass(frozen=True, slots=True)
class Response:
    """An answer: its code, bytes, format, headers. `is_write`: to be sent once the change is durable."""

    code: int
    body: bytes
    content_type: str = JSON
    headers: dict[str, str] = field(default_factory=dict)
    is_write: bool = False
