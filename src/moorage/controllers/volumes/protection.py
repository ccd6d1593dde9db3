"""What is in use does not go: claims that pods use, volumes that claims have."""

from moorage.controllers.objects.pods import Pod
from moorage.controllers.objects.volumes import BOUND, PersistentVolume, PersistentVolumeClaim
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.kube.informer import Key

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class ClaimProtection(Controller):
    """Lets claims go that no running pod uses. It is the API server that protects them to begin with."""

    name = "pvc-protection"
    workers = 2

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._claims = cluster.informers.watch(PersistentVolumeClaim, self.enqueue)
        self._users = cluster.informers.index(Pod, claims_of)
        cluster.informers.watch(Pod, self._pod_changed)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if old is None or not (new is None or new.is_finished):
            return
        for key in claims_of(old):
            namespace, _, name = key.partition("/")
            claim = self._claims.get(name, namespace)
            if claim is not None and claim.metadata.is_terminating:
                self.queue.add((namespace, name))

    async def sync(self, key: Key) -> float | None:
        """Take the finalizer off a claim that is to go and that nobody uses."""
        claim = self._claims.get(key[1], key[0])
        if claim is None or not claim.metadata.is_terminating or CLAIM_FINALIZER not in claim.metadata.finalizers:
            return None
        users = self._users["/".join(key)]
        if not any(pod.spec.node_name and not pod.is_finished for pod in users):
            await self.cluster.writer.remove_finalizer(claim, CLAIM_FINALIZER)
        return None


class VolumeProtection(Controller):
    """Lets volumes go that no claim has."""

    name = "pv-protection"
    workers = 2

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._volumes = cluster.informers.watch(PersistentVolume, self.enqueue)

    async def sync(self, key: Key) -> float | None:
        """Take the finalizer off a volume that is to go and is not bound."""
        volume = self._volumes.get(key[1])
        if volume is None or not volume.metadata.is_terminating or VOLUME_FINALIZER not in volume.metadata.finalizers:
            return None
        if volume.status.phase != BOUND:
            await self.cluster.writer.remove_finalizer(volume, VOLUME_FINALIZER)
        return None


def claims_of(pod: Pod) -> tuple[str, ...]:
    """The claims behind a pod's volumes, as namespace/name."""
    namespace = pod.metadata.namespace
    found = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append(f"{namespace}/{volume.persistent_volume_claim.claim_name}")
        elif volume.ephemeral is not None:
            found.append(f"{namespace}/{pod.metadata.name}-{volume.name}")
    return tuple(dict.fromkeys(found))
