"""What can be wrong with an expression: it does not compile, or it breaks on a device."""


class CompileError(Exception):
    """An expression that does not compile; the text shows where, as Kubernetes shows it."""

    def __init__(self, problem: str, source: str, offset: int) -> None:
        line_start = source.rfind("\n", 0, offset) + 1
        line_end = source.find("\n", offset)
        line = source[line_start : line_end if line_end >= 0 else len(source)]
        #: Both count from 1.
        self.line = source.count("\n", 0, offset) + 1
        self.column = offset - line_start + 1
        self.problem = problem
        pointer = "." * (self.column - 1) + "^"
        where = f"<input>:{self.line}:{self.column}"
        super().__init__(f"compilation failed: ERROR: {where}: {problem}\n | {line}\n | {pointer}")


class NotASelector(CompileError):
    """An expression that compiles, but does not answer yes or no, or has a constant that cannot be made."""

    def __init__(self, problem: str, source: str) -> None:
        super().__init__(problem, source, 0)
        self.args = (problem,)


class EvaluationError(Exception):
    """An expression broke. `&&` and `||` may make up for it."""


class CostExceeded(Exception):
    """An expression took more than it may. Nothing makes up for that."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


NO_OVERLOAD = "no such overload"
