"""The strategy of each built-in kind: which defaults, admission steps and rules apply to it."""

from moorage.apiserver.kinds import Kind
from moorage.apiserver.strategy import Strategy, Table

STRATEGIES: dict[str, Strategy] = {}
TABLES: dict[str, Table] = {}

_PLAIN = Strategy()


def strategy_for(kind: Kind) -> Strategy:
    """The strategy of a built-in kind."""
    return STRATEGIES.get(kind.resource, _PLAIN)


def table_for(kind: Kind) -> Table | None:
    """The columns of a built-in kind; None for name and age alone."""
    return TABLES.get(kind.resource)
