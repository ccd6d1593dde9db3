"""Ephemeral volumes: a claim made for a pod, which goes with it."""

from typing import Any

from moorage.controllers.objects.pods import Pod, PodVolume
from moorage.controllers.runtime.controller import Controller, ControllerContext
from moorage.controllers.runtime.informers import key_of
from moorage.controllers.runtime.ownership import owner_reference
from moorage.controllers.runtime.writer import is_namespace_terminating
from moorage.errors import ApiError
from moorage.kube.errors import AlreadyExists
from moorage.kube.informer import Key
from moorage.kube.paths import resource_of
from moorage.kube.recorder import WARNING

Json = dict[str, Any]

_CLAIMS = resource_of("PersistentVolumeClaim")


class EphemeralVolumeController(Controller):
    """Makes the claims of pods' ephemeral volumes. Deleting them is the garbage collector's: the pod owns them."""

    name = "ephemeral-volume"
    workers = 4

    def __init__(self, cluster: ControllerContext) -> None:
        super().__init__(cluster)
        self._pods = cluster.informers.watch(Pod, self._pod_changed)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if old is None and new is not None and any(volume.ephemeral for volume in new.spec.volumes):
            self.queue.add(key_of(new))

    async def sync(self, key: Key) -> float | None:
        """Make the claims of one pod."""
        pod = self._pods.get(key[1], key[0])
        if pod is None or pod.metadata.is_terminating:
            return None
        for volume in pod.spec.volumes:
            if volume.ephemeral is not None:
                await self._make(pod, volume, volume.ephemeral.volume_claim_template)
        return None

    async def _make(self, pod: Pod, volume: PodVolume, template: Json) -> None:
        metadata = template.get("metadata") or {}
        name = f"{pod.metadata.name}-{volume.name}"
        body = {
            "apiVersion": _CLAIMS.api_version,
            "kind": _CLAIMS.kind,
            "metadata": {
                "name": name,
                "labels": metadata.get("labels") or {},
                "annotations": metadata.get("annotations") or {},
                "ownerReferences": [owner_reference(pod)],
            },
            "spec": template.get("spec") or {},
        }
        try:
            await self.cluster.writer.create(_CLAIMS, body, pod.metadata.namespace)
        except AlreadyExists:
            # Ours from before; where it is somebody else's, the scheduler says so.
            return
        except ApiError as error:
            if is_namespace_terminating(error):
                return
            note = f"ephemeral volume {volume.name}: {error}"
            self.record(pod, "EphemeralVolumeFailed", note, action="Creating", event_type=WARNING)
            raise
