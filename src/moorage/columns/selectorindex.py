"""Finds the few selectors that may match some labels without trying them all."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from moorage.values.selector import Labels, Selector

T = TypeVar("T")
_Key = tuple[str | None, str, str]


class SelectorIndex(Generic[T]):
    """Things with a selector, filed by a label the selector insists on and by namespace.

    A selector that insists on no single value is filed under no label; one for any namespace under None.
    """

    def __init__(self) -> None:
        self._filed: dict[_Key, dict[T, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._filed)

    def add(self, namespaces: frozenset[str] | None, selector: Selector, item: T) -> None:
        """File an item; None stands for any namespace."""
        for key in _keys(namespaces, selector):
            self._filed.setdefault(key, {})[item] = None

    def remove(self, namespaces: frozenset[str] | None, selector: Selector, item: T) -> None:
        """Take out an item that was filed so."""
        for key in _keys(namespaces, selector):
            items = self._filed[key]
            del items[item]
            if not items:
                del self._filed[key]

    def candidates(self, namespace: str, labels: Labels) -> Iterator[T]:
        """Every item whose selector matches these labels, once, and some whose selector does not."""
        filed = self._filed
        for place in (namespace, None):
            yield from filed.get((place, "", ""), ())
            for label, value in labels.items():
                yield from filed.get((place, label, value), ())


def _keys(namespaces: frozenset[str] | None, selector: Selector) -> Iterator[_Key]:
    label, value = "", ""
    for requirement in selector.requirements:
        if requirement.operator == "In" and len(requirement.values) == 1:
            label, value = requirement.key, next(iter(requirement.values))
            break
    for namespace in (None,) if namespaces is None else namespaces:
        yield namespace, label, value
