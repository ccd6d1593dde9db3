"""What became of a write, in words of our own: whoever writes, and over which wire, is no matter of who reads this.

bind        Bound, or one of NotDone
any other   Done or the object as it now is, or one of NotDone

NotDone
├── BoundElsewhere   somebody else was quicker: the pod has a node, perhaps the same
├── Gone             there is no such object any more, or another has taken its name
├── Conflict         the object has changed since it was read: read it again
├── Refused          the answer is no, and would be no again
└── Unknown          no answer was had: it may have been carried out
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from moorage.errors import ApiError
from moorage.objects import KubeObject


@dataclass(frozen=True, slots=True)
class Bound:
    """The pod is on the node it was to go to."""


@dataclass(frozen=True, slots=True)
class Done:
    """It was carried out."""


@dataclass(frozen=True, slots=True)
class NotDone:
    """It was not carried out, as far as is known. `code` and `reason` are the API server's, where it gave any."""

    message: str
    code: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class BoundElsewhere(NotDone):
    """Somebody else has bound the pod; to the very node it was to go to, perhaps."""

    node_name: str = ""


@dataclass(frozen=True, slots=True)
class Gone(NotDone):
    """There is no such object any more, or another has taken its name."""


@dataclass(frozen=True, slots=True)
class Conflict(NotDone):
    """The object has changed since it was read."""


@dataclass(frozen=True, slots=True)
class Refused(NotDone):
    """The answer is no: the request is wrong or not allowed, or this process may no longer act."""


@dataclass(frozen=True, slots=True)
class Unknown(NotDone):
    """No answer was had. With `may_be_done` the request went out, so look before it is sent again."""

    may_be_done: bool = True


BindAnswer = Bound | BoundElsewhere | Gone | Refused | Unknown
WriteAnswer = Done | Gone | Conflict | Refused | Unknown


class NotWritten(ApiError):
    """What plugins meet where a read or a write of theirs came to nothing: `answer` says why, as a type."""

    def __init__(self, answer: NotDone) -> None:
        super().__init__(answer.message, code=answer.code, reason=answer.reason)
        self.answer = answer


def aimed_at(item: KubeObject, patch: Mapping[str, Any]) -> dict[str, Any]:
    """The patch with the object's uid in it: the API server refuses it (409) for another that has taken the name."""
    uid = item.metadata.uid
    return {**patch, "metadata": {"uid": uid, **patch.get("metadata", {})}} if uid else dict(patch)
