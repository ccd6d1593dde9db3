"""The PodGroup controller: counts the pods of each group and says how far it is."""

from moorage.controllers.objects.podgroups import PodGroup
from moorage.controllers.objects.pods import Pod
from moorage.controllers.podgroups import phases
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.expectations import Freshness
from moorage.kube.informer import Key

LABEL = "scheduling.x-k8s.io/pod-group"
"""The label by which pods belong to the group of that name in their namespace."""


class PodGroupController(Controller):
    """Keeps the status of PodGroups. Whom the scheduler takes for a group is none of its business."""

    name = "podgroup"
    rights = (
        ("", ("pods",), ("get", "list", "watch")),
        ("scheduling.x-k8s.io", ("podgroups",), ("get", "list", "watch")),
        ("scheduling.x-k8s.io", ("podgroups/status",), ("patch",)),
    )

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._groups = cluster.informers.watch(PodGroup, self.enqueue)
        self._members = cluster.informers.index(Pod, group_of)
        cluster.informers.watch(Pod, self._pod_changed)
        self._freshness = Freshness()

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for group in {label for pod in (old, new) if pod is not None for label in group_of(pod)}:
            namespace, _, name = group.partition("/")
            # A large group starts over many events: it is looked at for many of them at once.
            self.enqueue_counting((namespace, name), self._members.count(group))

    async def sync(self, key: Key) -> float | None:
        """Bring the status of one group up to date."""
        group = self._groups.get(key[1], key[0])
        if group is None:
            self._freshness.forget(key)
            return None
        if group.metadata.is_terminating or not self._freshness.is_fresh(group):
            return None
        status = phases.status_of(group, self._members["/".join(key)], self.cluster.now())
        if status != group.status:
            patch = phases.status_json(status)
            self._freshness.wrote(await self.cluster.writer.patch_status(group, patch, is_guarded=True))
        return None


def group_of(pod: Pod) -> tuple[str, ...]:
    """An index of pods by group, within their namespace."""
    name = pod.metadata.labels.get(LABEL)
    return (f"{pod.metadata.namespace}/{name}",) if name else ()
