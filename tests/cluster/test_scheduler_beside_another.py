"""The set-up of the guide: kube-scheduler as it comes, and `my-custom-scheduler` beside it from unmodified YAML."""

from pathlib import Path
from typing import Any

from tests.cluster.scheduler_process import scheduler_process
from tests.cluster.scheduler_world import World, features_of_kube_scheduler
from tools.control_plane.running import ControlPlane

GUIDE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: my-custom-scheduler
  plugins:
    score:
      enabled:
      - name: NodeResourcesFit
        weight: 1
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources:
        - name: cpu
          weight: 1
        - name: memory
          weight: 1
  - name: VolumeBinding
    args:
      bindTimeoutSeconds: 60
"""


async def scheduled_by(world: World, pod: str) -> Any:
    """Who says to have scheduled a pod."""
    return (await world.event(pod, "Scheduled"))["reportingController"]


async def test_the_guides_two_schedulers_share_a_cluster(
    control_plane: ControlPlane, world: World, tmp_path: Path
) -> None:
    await world.node("a")
    await world.node("b")
    guide = tmp_path / "guide.yaml"
    guide.write_text(GUIDE)
    with control_plane.start_kube_scheduler():
        async with scheduler_process(world, tmp_path, f"--config={guide}") as custom:
            await custom.ready()
            await world.pod("theirs", schedulerName="default-scheduler")
            full = await world.bound("theirs")
            for number in range(3):
                # MostAllocated packs: the node that has something on it already gets the next.
                await world.pod(f"ours-{number}", schedulerName="my-custom-scheduler")
                assert await world.bound(f"ours-{number}") == full
            await world.pod("theirs-too", schedulerName="default-scheduler")
            assert await world.bound("theirs-too") != full
            assert await scheduled_by(world, "theirs") == "default-scheduler"
            assert await scheduled_by(world, "ours-0") == "my-custom-scheduler"


async def test_events_and_conditions_are_the_same_as_kube_schedulers(control_plane: ControlPlane, world: World) -> None:
    """Field by field, names and times aside."""
    seen = []
    for name in ("kube", "ours"):
        node = await world.node(name, labels={"side": name})
        selector = {"world": world.name, "side": name}
        if name == "kube":
            with control_plane.start_kube_scheduler({"profiles": [{"schedulerName": world.name}]}):
                seen.append(await traces(world, name, node, selector))
        else:
            async with world.scheduling(features=features_of_kube_scheduler()):
                seen.append(await traces(world, name, node, selector))
        await world.delete("Pod", f"{name}-good")
        await world.delete("Pod", f"{name}-bad")
        await world.delete("Node", node)
    theirs, ours = seen
    assert ours == theirs


async def traces(world: World, name: str, node: str, selector: dict[str, str]) -> list[Any]:
    """What a scheduled and a refused pod show of it."""
    await world.pod(f"{name}-good", nodeSelector=selector)
    await world.pod(f"{name}-bad", cpu="64", nodeSelector=selector)
    await world.bound(f"{name}-good")
    await world.refused(f"{name}-bad")
    found: list[Any] = []
    for pod, reason in ((f"{name}-good", "Scheduled"), (f"{name}-bad", "FailedScheduling")):
        event = await world.event(pod, reason)
        conditions = (await world.get("Pod", pod))["status"]["conditions"]
        found += [neutral(event, name, node), *(neutral(one, name, node) for one in conditions)]
    return found


VARYING = ("metadata", "eventTime", "lastTransitionTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp")


def neutral(tree: Any, name: str, node: str) -> Any:
    """Without what differs from one pod to the next."""
    if isinstance(tree, dict):
        kept = {key: neutral(value, name, node) for key, value in tree.items() if key not in VARYING}
        return {key: value for key, value in kept.items() if key not in ("uid", "resourceVersion")}
    if isinstance(tree, list):
        return [neutral(one, name, node) for one in tree]
    return tree.replace(node, "NODE").replace(f"{name}-", "") if isinstance(tree, str) else tree
