"""What keeps a client from following its server, told once for all that fail alike and now and then after that.

A scheduler follows some twenty collections: a wrong kubeconfig fails all of them, several times a second.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from moorage.errors import ApiError
from moorage.kube.errors import Forbidden, Unauthorized, Unreachable

AGAIN: Final = 30.0
"""Seconds before a trouble that goes on is told again."""

_CURES: Final = {
    Unreachable: "does the server run, and does the kubeconfig name the right one?",
    Unauthorized: "the server does not accept these credentials: look at the user in the kubeconfig",
    Forbidden: "`moorage manifests` prints all rights that are needed",
}


@dataclass
class _Trouble:
    since: float
    told: float
    paths: dict[str, None]


class Troubles:
    """The failures that last, by what they have in common."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lasting: dict[tuple[type[ApiError], str], _Trouble] = {}

    def failed(self, path: str, error: ApiError) -> str:
        """The line to tell, or "" where that was told not long ago."""
        # What is forbidden is said of each collection in other words.
        cause = (type(error), "" if isinstance(error, Forbidden) else str(error))
        now = self._now()
        for other, trouble in list(self._lasting.items()):
            if other != cause:
                self._leave(other, trouble, path)
        trouble = self._lasting.setdefault(cause, _Trouble(now, now - AGAIN, {}))
        trouble.paths[path] = None
        if now - trouble.told < AGAIN:
            return ""
        trouble.told = now
        others = f" and {len(trouble.paths) - 1} more" if len(trouble.paths) > 1 else ""
        lasted = f" (for {now - trouble.since:.0f} s)" if now > trouble.since else ""
        cure = _CURES.get(type(error))
        return f"{path}{others}: {error}{lasted}" + (f"; {cure}" if cure else "")

    def passed(self, path: str) -> None:
        """The server answered."""
        for cause, trouble in list(self._lasting.items()):
            self._leave(cause, trouble, path)

    def _leave(self, cause: tuple[type[ApiError], str], trouble: _Trouble, path: str) -> None:
        trouble.paths.pop(path, None)
        if not trouble.paths:
            del self._lasting[cause]
