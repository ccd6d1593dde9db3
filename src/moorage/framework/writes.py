"""What became of a write, in words of our own: whoever writes, and over which wire, is no matter of who reads this.

bind        Bound, or one of NotDone
any other   Done or the object as it now is, or one of NotDone

NotDone
├── BoundElsewhere   the pod is on another node already: somebody else was quicker
├── Gone             there is no such object any more, or another has taken its name
├── Conflict         the object has changed since it was read: read it again
├── Refused          the answer is no, and would be no again
└── Unknown          no answer was had: it may have been carried out
"""

from dataclasses import dataclass


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
    """The pod has a node, and not the one it was to go to."""

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
