"""Health as Kubernetes components tell it: named checks under /healthz, /livez and /readyz."""

from collections.abc import Callable, Collection, Mapping

#: A check answers what is wrong, "" where nothing is.
Check = Callable[[], str]


class Health:
    """The checks of each path. What is wrong is logged by whoever noticed; answers only say which check failed."""

    def __init__(self) -> None:
        self._checks: dict[str, dict[str, Check]] = {"healthz": {}, "livez": {}, "readyz": {}}
        for checks in self._checks.values():
            checks["ping"] = lambda: ""

    @property
    def paths(self) -> Collection[str]:
        """The paths without their slash."""
        return self._checks.keys()

    def add(self, name: str, check: Check, *paths: str) -> None:
        """Ask this check under these paths."""
        for path in paths:
            self._checks[path][name] = check

    def answer(self, path: str, *, verbose: bool = False, exclude: Collection[str] = ()) -> tuple[int, str]:
        """Status and text for a path."""
        checks: Mapping[str, Check] = self._checks[path]
        lines, failed = [], False
        for name, check in checks.items():
            if name in exclude:
                lines.append(f"[+]{name} excluded: ok")
            elif check():
                failed = True
                lines.append(f"[-]{name} failed: reason withheld")
            else:
                lines.append(f"[+]{name} ok")
        if failed:
            return 500, "\n".join([*lines, f"{path} check failed", ""])
        return 200, "\n".join([*lines, f"{path} check passed", ""]) if verbose else "ok"

    def answer_one(self, path: str, name: str) -> tuple[int, str] | None:
        """Status and text for one check; None if there is no such check."""
        check = self._checks[path].get(name)
        if check is None:
            return None
        problem = check()
        return (500, f"internal server error: {problem}\n") if problem else (200, "ok")
