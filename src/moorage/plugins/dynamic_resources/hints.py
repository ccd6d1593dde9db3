"""Which events may help a pod that waits for devices."""

from collections.abc import Sequence

from moorage.columns import PodInfo, Snapshot
from moorage.framework.events import Action, EventHint, Hint, Resource, on
from moorage.objects import Pod, ResourceClaim
from moorage.plugins.dynamic_resources.podclaims import NotReady, pod_claims
from moorage.plugins.dynamic_resources.rules import Rules


class Hints:
    """Looks at the claims as they count when the event comes."""

    def __init__(self, snapshot: Snapshot, rules: Rules) -> None:
        self._snapshot = snapshot
        self._rules = rules

    def events(self) -> Sequence[EventHint]:
        """Nodes, claims, the pod's own generated claims, classes and slices."""
        claim_actions = Action.ADD | Action.UPDATE
        if self._rules.deletion_wakes:
            claim_actions |= Action.DELETE
        return (
            on(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE),
            on(Resource.RESOURCE_CLAIM, claim_actions, self.after_claim),
            on(Resource.POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, self.after_pod),
            on(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE),
            on(Resource.RESOURCE_SLICE, Action.ADD | Action.UPDATE),
        )

    def after_claim(self, pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim | None) -> Hint:
        """Devices that were freed help anybody; else only what happened to the pod's own claims."""
        if new is None:
            freed = old is None or old.status.allocation is not None
            return Hint.QUEUE if freed else Hint.SKIP
        try:
            claims = pod_claims(self._snapshot.claims, pod)
        except NotReady:
            return Hint.SKIP
        if old is not None and old.status.allocation is not None and new.status.allocation is None:
            return Hint.QUEUE
        if all(claim.metadata.uid != new.metadata.uid for claim in claims):
            return Hint.SKIP
        return Hint.QUEUE if old is None or old.status != new.status else Hint.SKIP

    def after_pod(self, pod: PodInfo, _old: Pod | None, new: Pod | None) -> Hint:
        """The claims that were made for the pod may be complete."""
        if new is None or new.metadata.uid != pod.uid:
            return Hint.SKIP
        try:
            pod_claims(self._snapshot.claims, self._snapshot.info(new))
        except NotReady:
            return Hint.SKIP
        return Hint.QUEUE
