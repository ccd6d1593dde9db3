"""The incoming pod's terms, with namespace selectors turned into namespaces."""

from collections.abc import Iterable

from moorage.columns import Snapshot
from moorage.columns.tallies import Clause, PodSelection
from moorage.objects import Namespace
from moorage.values.podaffinity import AffinityTerm
from moorage.values.selector import Labels

_NO_LABELS: Labels = {}


def resolve(term: AffinityTerm, snapshot: Snapshot, *, unrolled: bool) -> Clause:
    """The pods that a term of an incoming pod speaks of: in the namespaces that its selector selects, and no others.

    QUIRK: before 1.37 (not `unrolled`) kube-scheduler went on asking the selector too, about no labels at all. So a
    selector made only of NotIn and DoesNotExist meant every namespace.
    """
    selector = term.namespace_selector
    if selector.is_empty or (not unrolled and selector.matches(_NO_LABELS)):
        return Clause(None, term.selector)
    if selector.nothing:
        return Clause(term.namespaces, term.selector)
    matching = (one.metadata.name for one in snapshot.objects.each(Namespace) if selector.matches(one.metadata.labels))
    return Clause(term.namespaces.union(matching), term.selector)


def select(clauses: Iterable[Clause]) -> PodSelection:
    """The pods that meet all of these; pods being deleted count as well."""
    return PodSelection(tuple(clauses), terminating=True)
