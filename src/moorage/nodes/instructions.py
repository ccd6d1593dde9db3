"""What annotations tell a hollow kubelet to do with a pod."""

from dataclasses import dataclass

from moorage.errors import InputError
from moorage.nodes.objects import EXIT_CODE, RUN_SECONDS, START_SECONDS, TERMINATION_SECONDS, HostedPod

_LARGEST_EXIT_CODE = 255


@dataclass(frozen=True, slots=True)
class Instructions:
    """How the pod is to start, run and end; None where its annotations do not say."""

    start_seconds: float | None = None
    run_seconds: float | None = None
    termination_seconds: float | None = None
    exit_code: int = 0


SILENT = Instructions()


def read_instructions(pod: HostedPod) -> Instructions:
    """The instructions of a pod. An exit code alone means at once. Raises InputError that names the annotation."""
    annotations = pod.metadata.annotations
    if not annotations:
        return SILENT
    code = annotations.get(EXIT_CODE)
    run_seconds = _seconds(annotations.get(RUN_SECONDS), RUN_SECONDS)
    return Instructions(
        start_seconds=_seconds(annotations.get(START_SECONDS), START_SECONDS),
        run_seconds=0.0 if run_seconds is None and code is not None else run_seconds,
        termination_seconds=_seconds(annotations.get(TERMINATION_SECONDS), TERMINATION_SECONDS),
        exit_code=0 if code is None else _exit_code(code),
    )


def _seconds(text: str | None, name: str) -> float | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds < float("inf"):
        raise InputError(f"{text!r} is not a number of seconds, 0 or more", where=f"annotation {name}")
    return seconds


def _exit_code(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _LARGEST_EXIT_CODE):
        raise InputError(f"{text!r} is not an exit code from 0 to 255", where=f"annotation {EXIT_CODE}")
    return int(text)
