"""The labels a pod will have once it is bound.

Since Kubernetes 1.35 the API server copies a node's topology labels to the pods it binds to it. Counting a decided pod
with the labels it has now would mean to count it twice: once decided, and once more when it comes back relabelled.
"""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from moorage.columns import NodeInfo
from moorage.objects import Pod

COPIED_KEYS: Final = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


class BoundLabels:
    """Expects labels to be copied once they were seen to be, and no longer once they were not."""

    def __init__(self) -> None:
        #: Whether labels are expected to be copied at all.
        self.copies = False

    def expected(self, pod: Pod, node: NodeInfo | None) -> Pod:
        """The pod with the labels it will have on that node; the same object where that changes nothing."""
        if not self.copies or node is None:
            return pod
        copied = _topology(node.labels)
        labels = pod.metadata.labels
        if copied.items() <= labels.items():
            return pod
        return replace(pod, metadata=replace(pod.metadata, labels={**labels, **copied}))

    def learn(self, bound: Pod, node: NodeInfo | None) -> None:
        """See what became of a pod that was bound."""
        copied = _topology(node.labels) if node is not None else {}
        if copied:
            self.copies = copied.items() <= bound.metadata.labels.items()


def _topology(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: labels[key] for key in COPIED_KEYS if key in labels}
