"""PodGroups of scheduling.k8s.io do not go while pods are in them."""

from moorage.controllers.objects.meta import Managed
from moorage.controllers.objects.pods import Pod
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.discovery import discover
from moorage.controllers.runtime.informers import Index
from moorage.kube.informer import Informer, Key

FINALIZER = "scheduling.k8s.io/podgroup-protection"
_GROUP, _PLURAL = "scheduling.k8s.io", "podgroups"


class PodGroupProtection(Controller):
    """Lets groups go that no pod is in any more. It is the API server that protects them to begin with.

    Where the server has no such groups there is nothing to do.
    """

    name = "podgroup-protection"
    workers = 1

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._groups: Informer[Managed] | None = None
        self._members: Index[Pod] = cluster.informers.index(Pod, native_group_of)
        cluster.informers.watch(Pod, self._pod_changed)

    async def prepare(self) -> None:
        """Find the version in which groups are served, if they are."""
        for each in await discover(self.cluster.writer.client):
            if (each.resource.group, each.resource.plural) == (_GROUP, _PLURAL):
                self._groups = self.cluster.informers.watch_resource(each.resource, self.enqueue)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        for group in set(_group_of(old)) - set(_group_of(new)):
            namespace, _, name = group.partition("/")
            self.queue.add((namespace, name))

    async def sync(self, key: Key) -> float | None:
        """Take the finalizer off a group that is to go and that no pod is in."""
        group = self._groups.get(key[1], key[0]) if self._groups is not None else None
        if self._groups is None or group is None or not group.metadata.is_terminating:
            return None
        if FINALIZER not in group.metadata.finalizers or self._members.count("/".join(key)):
            return None
        await self.cluster.writer.remove_finalizer(group, FINALIZER, self._groups.resource)
        return None


def native_group_of(pod: Pod) -> tuple[str, ...]:
    """An index of pods that have not finished, by the group they are in."""
    group = pod.spec.scheduling_group
    if group is None or pod.is_finished:
        return ()
    return (f"{pod.metadata.namespace}/{group.pod_group_name}",)


def _group_of(pod: Pod | None) -> tuple[str, ...]:
    return native_group_of(pod) if pod is not None else ()
