"""Which events may help a pod that waits for devices."""

from collections.abc import Sequence

from moorage.columns import PodInfo, Snapshot
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.objects import Pod, ResourceClaim
from moorage.plugins.dynamic_resources.extended import is_special_of
from moorage.plugins.dynamic_resources.podclaims import NotReady, pod_claims
from moorage.plugins.dynamic_resources.rules import Rules


class Hints:
    """Looks at the claims as they count when the event comes."""

    def __init__(self, snapshot: Snapshot, rules: Rules) -> None:
        self._snapshot = snapshot
        self._rules = rules

    def events(self) -> Sequence[EventHint]:
        """Nodes, claims, the pod's own generated claims, classes and slices."""
        return (
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE),
            on(Resource.RESOURCE_CLAIM, Action.ADD | Action.UPDATE | Action.DELETE, self.after_claim),
            on(Resource.POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, self.after_pod),
            on(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE),
            on(Resource.RESOURCE_SLICE, Action.ADD | Action.UPDATE),
        )

    def after_claim(self, pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None) -> Hint:
        """Devices that were freed help anybody; else only what happened to the pod's own claims."""
        if new is None:
            return Hint.QUEUE if self._is_freed(pod, old) else Hint.SKIP
        try:
            claims = pod_claims(self._snapshot.claims, pod)
        except NotReady:
            return Hint.SKIP
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return Hint.QUEUE
        if all(claim.metadata.uid != new.metadata.uid for claim in claims):
            return Hint.SKIP
        return Hint.QUEUE if old is None or old.status != new.status else Hint.SKIP

    def _is_freed(self, pod: PodInfo, old: ResourceClaim | None) -> bool:
        """Whether a claim that is gone was in the pod's way.

        So was one that a scheduler made for the pod before it died: PostFilter had it deleted. kube-scheduler lets the
        pod sleep there, for five minutes, if nothing was allocated yet.
        """
        if old is not None and is_special_of(old, pod.pod):
            return True
        return self._rules.deletion_wakes and (old is None or old.status.allocation is not None)

    def after_pod(self, pod: PodInfo, _old: Pod | None, new: Pod | None) -> Hint:
        """The claims that were made for the pod may be complete."""
        if new is None or new.metadata.uid != pod.uid:
            return Hint.SKIP
        try:
            pod_claims(self._snapshot.claims, self._snapshot.info(new))
        except NotReady:
            return Hint.SKIP
        return Hint.QUEUE
