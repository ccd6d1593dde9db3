"""Pod groups on their way from the API into the queue."""

from moorage.cluster import ObjectEvents
from moorage.columns import Snapshot
from moorage.config.gates import features_of
from moorage.framework.events import Action, Resource, on
from moorage.objects import ObjectMeta, Pod, PodGroup, PodGroupSpec, PodSpec, SchedulingGroup
from moorage.plugins.priority_sort import PrioritySort
from moorage.queue import ProfileHints, SchedulingQueue


def group(priority: int = 0, parent: str = "") -> PodGroup:
    spec = PodGroupSpec(priority=priority, parent_composite_pod_group_name=parent)
    return PodGroup(metadata=ObjectMeta(name="g", namespace="default", uid="g"), spec=spec)


def test_a_group_queues_its_pods_and_leaves_them_incomplete_when_it_goes() -> None:
    snapshot = Snapshot()
    queue = SchedulingQueue(
        profiles={"default-scheduler": ProfileHints({"Gang": [on(Resource.POD_GROUP, Action.ALL)]})},
        queue_sort=PrioritySort(None, None),  # type: ignore[arg-type]  # it wants neither
        nominations=snapshot.nominations,
        now=lambda: 0.0,
        features=features_of("1.37", {"GenericWorkload": True}),
        holds_groups=True,
    )
    events = ObjectEvents(PodGroup, snapshot.objects, queue)
    spec = PodSpec(scheduling_group=SchedulingGroup("g"))
    queue.add(snapshot.info(Pod(metadata=ObjectMeta(name="a", namespace="default", uid="a"), spec=spec)))
    assert len(queue.incomplete()) == 1
    events.added(group())
    events.updated(group(), group(priority=4))
    [(_, entity)] = queue.pods()
    assert (entity.key, entity.pod.priority) == ("podgroups/default/g", 4)
    events.deleted(group(priority=4))
    assert (queue.pods(), len(queue.incomplete())) == ([], 1)
    events.added(group(parent="root"))
    assert len(queue.incomplete()) == 1
