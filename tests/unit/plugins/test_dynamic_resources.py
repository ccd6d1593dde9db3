"""DynamicResources."""

from tests.unit.plugins.handles import a_handle
from tests.unit.plugins.volumes.volume_builders import hint

from moorage.columns import Snapshot
from moorage.framework.events import Action, Hint, Resource
from moorage.objects import PodResourceClaim
from moorage.plugins import DynamicResources
from moorage.testing import Cluster, PodBuilder, a_node, a_pod


def test_a_pod_with_claims_is_refused_not_placed_wrongly() -> None:
    pod = a_pod().spec(resource_claims=(PodResourceClaim("gpu", "claim"),))
    decided = Cluster(a_node("n")).decide(pod)
    decided.assert_unschedulable("pod uses resource claims, which moorage does not support yet")
    assert decided.decision.pre_filter is not None
    assert decided.decision.pre_filter.plugin == "DynamicResources"


def test_only_losing_its_claims_helps_it() -> None:
    plugin = DynamicResources(None, a_handle())
    claiming = a_pod("p").spec(resource_claims=(PodResourceClaim("gpu", "claim"),))
    pod = Snapshot().info(claiming.build())
    action = Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM

    def after(old: PodBuilder, new: PodBuilder) -> Hint | None:
        return hint(plugin, pod, Resource.UNSCHEDULABLE_POD, action, old.build(), new.build())

    assert after(claiming, a_pod("p")) is Hint.QUEUE
    assert after(claiming, claiming) is Hint.SKIP
    assert after(claiming, a_pod("q")) is Hint.SKIP
