"""What versions of Kubernetes do not agree on when they choose victims."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PreemptionRules:
    """`first_broken_budget`: a victim is charged to its budgets up to the first it breaks; before 1.37 to all of them.

    `start_times_once`: victims that have not started keep the order in which they came to the node. Before 1.37
    kube-scheduler took the time anew in each comparison, which turned them round.

    `units`: members of groups that are disrupted as a whole are evicted together, for single pods, too.
    """

    first_broken_budget: bool = True
    start_times_once: bool = True
    units: bool = True
