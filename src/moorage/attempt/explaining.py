"""A decision in log lines: where the pod could go, what each plugin gave each node, and who refused the others."""

import logging
from collections import defaultdict
from collections.abc import Iterator

from moorage.attempt.world import POD_LOGGER
from moorage.engine import Decision

#: The logger of single pods. At DEBUG decisions are told whole, which takes asking every plugin about every node.
pod_logger = logging.getLogger(POD_LOGGER)

_MOST_NODES = 10


def tell(decision: Decision) -> None:
    """Log a decision, a line for each of its best nodes and for each reason against others."""
    for line in lines(decision):
        pod_logger.debug("%s", line)


def lines(decision: Decision) -> Iterator[str]:
    """The lines, each naming the pod."""
    head = f"decided pod {decision.pod}:"
    if decision.is_error:
        yield f"{head} {decision.message}"
        return
    nodes = len(decision.feasible) + len(decision.rejected)
    yield f"{head} {decision.chosen or 'no node'}; {len(decision.feasible)} of {nodes} nodes fit"
    ranked = sorted(decision.feasible, key=lambda name: (-decision.totals[name], name))
    for name in ranked[:_MOST_NODES]:
        scores = ", ".join(f"{plugin} {score}" for plugin, score in sorted(decision.scores[name].items()))
        yield f"{head} {name} scores {decision.totals[name]} ({scores})"
    if len(ranked) > _MOST_NODES:
        yield f"{head} and {len(ranked) - _MOST_NODES} more nodes"
    refused = defaultdict[str, list[str]](list)
    for name, status in sorted(decision.rejected.items()):
        refused[f"{status.plugin or 'PreFilter'} says {status.message}"].append(name)
    for reason, names in refused.items():
        more = f" and {len(names) - _MOST_NODES} more" if len(names) > _MOST_NODES else ""
        yield f"{head} {reason}: {', '.join(names[:_MOST_NODES])}{more}"
