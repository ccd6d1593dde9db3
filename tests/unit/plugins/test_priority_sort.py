from moorage.columns import PodInfo, Snapshot
from moorage.objects import ObjectMeta, Pod, PodSpec
from moorage.plugins.priority_sort import PrioritySort


def pod(name: str, priority: int | None) -> PodInfo:
    return Snapshot().info(Pod(metadata=ObjectMeta(name=name), spec=PodSpec(priority=priority)))


def test_higher_priority_first_then_the_longest_wait() -> None:
    plugin = PrioritySort(None, None)  # type: ignore[arg-type]
    waiting = [
        (pod("low", -5), 1.0),
        (pod("unset", None), 9.0),
        (pod("zero", 0), 8.0),
        (pod("high", 2_000_000_000), 10.0),
        (pod("high-before", 2_000_000_000), 2.0),
    ]
    ordered = sorted(waiting, key=lambda item: plugin.sort_key(*item))
    assert [info.name for info, _ in ordered] == ["high-before", "high", "zero", "unset", "low"]
    assert plugin.events_to_register() == ()
