"""One write under way: the resource, the object's place, the user, and the options that came with it."""

from dataclasses import dataclass, field

from moorage.apiserver.auth import User
from moorage.apiserver.registry import Registry, Resource


@dataclass(slots=True)
class Operation:
    """What admission and the verbs know about a write."""

    registry: Registry
    resource: Resource
    namespace: str
    user: User
    name: str = ""
    subresource: str = ""
    is_dry_run: bool = False
    field_validation: str = ""
    field_manager: str = ""
    is_apply: bool = False
    warnings: list[str] = field(default_factory=list)
