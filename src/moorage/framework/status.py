"""What a plugin answers: a Status for "no" and "not yet"; None, or nothing at all, for "yes".

| code | a plugin says | what follows |
|---|---|---|
| SUCCESS | fine (same as returning None) | the cycle goes on |
| ERROR | something is broken | the pod's cycle fails and is retried on a timer |
| UNSCHEDULABLE | not here, not now | another node; preemption may help |
| UNSCHEDULABLE_AND_UNRESOLVABLE | not here, whoever leaves | another node; preemption is not tried here |
| WAIT | (Permit) hold the pod | it waits until allowed, rejected or timed out |
| SKIP | nothing for me to do | the plugin's coupled points are left out of this cycle |
| PENDING | waiting for something outside | like UNSCHEDULABLE, but requeued without back-off |
"""

import enum
from dataclasses import dataclass


class Code(enum.IntEnum):
    """The kinds of answer, in kube-scheduler's order."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        """The name kube-scheduler gives it in logs, metrics and events."""
        return _LABELS[self]


#: By value; metrics ask for them many times a decision.
_LABELS = tuple("".join(part.capitalize() for part in code.name.split("_")) for code in Code)
_REJECTIONS = (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)


@dataclass(frozen=True, slots=True)
class Status:
    """An answer with its reasons. The runner fills in `plugin`."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    def __post_init__(self) -> None:
        if type(self.code) is not Code:
            raise TypeError(f"the code of a status is {self.code!r}; expected one of Code")
        if type(self.reasons) is not tuple:
            raise TypeError(f"the reasons of a status are {self.reasons!r}; expected a tuple of texts")
        for reason in self.reasons:
            if not isinstance(reason, str):
                raise TypeError(f"a reason of a status is {reason!r}; expected text")

    @property
    def is_success(self) -> bool:
        """Whether it says yes."""
        return self.code is Code.SUCCESS

    @property
    def is_rejection(self) -> bool:
        """Whether it says no, as opposed to broken, wait or skip."""
        return self.code in _REJECTIONS

    @property
    def message(self) -> str:
        """The reasons in one line."""
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> "Status":
        """The same answer with the plugin's name on it."""
        return self if self.plugin == plugin else Status(self.code, self.reasons, plugin)


SKIP = Status(Code.SKIP)
#: PreScore's other way to do nothing: every node scores 0, and is shown to. The plugin is not asked about any.
INDIFFERENT = Status(Code.SKIP, ("every node scores 0",))


def unschedulable(*reasons: str) -> Status:
    """Not here now; preemption may help."""
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """Not here, whichever pods leave."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)


def error(*reasons: str) -> Status:
    """Something is broken."""
    return Status(Code.ERROR, reasons)


def wait(*reasons: str) -> Status:
    """Hold the pod at Permit."""
    return Status(Code.WAIT, reasons)


def pending(*reasons: str) -> Status:
    """Waiting for something outside: like `unschedulable`, but tried again without back-off once that may be there."""
    return Status(Code.PENDING, reasons)
