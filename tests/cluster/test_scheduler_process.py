"""The process: how it starts, serves, leads, fails and stops."""

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.cluster.scheduler_process import SchedulerProcess, scheduler_process
from tests.cluster.scheduler_world import World

SLOW_BINDER = '''
import asyncio
from pathlib import Path


class SlowBinder:
    """Says that it was asked to bind, and then takes for ever."""

    def __init__(self, args, handle):
        self._marker = Path(args["marker"])

    async def bind(self, state, pod, node_name):
        self._marker.write_text(pod.key)
        await asyncio.sleep(3600)
'''


def with_bind_plugin(world: World, name: str, args: dict[str, Any]) -> dict[str, Any]:
    """A configuration in which this plugin binds."""
    bind = {"disabled": [{"name": "*"}], "enabled": [{"name": name}]}
    profile = {"schedulerName": world.name, "plugins": {"bind": bind}, "pluginConfig": [{"name": name, "args": args}]}
    return {"profiles": [profile]}


async def holder(world: World) -> str:
    """Who holds the lease."""
    lease = await world.get("Lease", world.name)
    return str(lease["spec"].get("holderIdentity") or "")


async def test_a_process_schedules_serves_and_stops(world: World, tmp_path: Path) -> None:
    node = await world.node("a")
    async with scheduler_process(world, tmp_path) as process:
        await process.ready()
        await world.pod("web")
        assert await world.bound("web") == node
        assert await process.ask("/healthz") == (200, "ok")
        assert (await process.ask("/livez/ping"))[0] == 200
        assert (await process.ask("/readyz/nonsense"))[0] == 404
        assert (await process.ask("/metrics", "not-a-token"))[0] == 401
        await world.event("web", "Scheduled")
        process.send(signal.SIGTERM)
        assert await process.end() == 0


async def test_who_the_cluster_lets_see_metrics_sees_them(world: World, tmp_path: Path) -> None:
    await world.node("a")
    async with scheduler_process(world, tmp_path) as process:
        await process.ready()
        await world.pod("web")
        await world.bound("web")
        await world.event("web", "Scheduled")
        status, metrics = await process.ask("/metrics", world.access.token)
        assert status == 200
        assert f'scheduler_schedule_attempts_total{{profile="{world.name}",result="scheduled"}} 1.0' in metrics
        assert 'scheduler_pending_pods{queue="active"} 0.0' in metrics
        status, config = await process.ask("/configz", world.access.token)
        assert status == 200
        assert f'"schedulerName":"{world.name}"' in config


async def test_strangers_see_no_metrics(world: World, tmp_path: Path) -> None:
    async with scheduler_process(world, tmp_path) as process:
        await process.ready()
        review = {"spec": {"user": "system:anonymous", "nonResourceAttributes": {"path": "/metrics", "verb": "get"}}}
        answer = await world.client.post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            json.dumps({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", **review}).encode(),
        )
        allowed = json.loads(answer)["status"]["allowed"]
        assert (await process.ask("/metrics"))[0] == (200 if allowed else 403)


async def test_a_bad_configuration_ends_the_process_with_a_line_for_each_fault(world: World, tmp_path: Path) -> None:
    async with scheduler_process(world, tmp_path, config={"parallelism": -1, "podMaxBackoffSeconds": 0}) as process:
        assert await process.end() == 2
        lines = process.log.read_text().splitlines()
    assert len(lines) == 2
    assert all("config-" in line and ("parallelism" in line or "podMaxBackoffSeconds" in line) for line in lines)


async def test_the_second_leads_when_the_first_stops(world: World, tmp_path: Path) -> None:
    await world.node("a")
    async with scheduler_process(world, tmp_path, elect=True) as first:
        await first.ready()
        await world.eventually(lambda: holder(world))
        async with scheduler_process(world, tmp_path, elect=True) as second:
            await second.ready()
            await world.pod("one")
            await world.bound("one")
            leader = await holder(world)
            first.send(signal.SIGTERM)
            assert await first.end() == 0

            async def changed() -> bool:
                return await holder(world) not in ("", leader)

            await world.eventually(changed)
            await world.pod("two")
            await world.bound("two")
            second.send(signal.SIGTERM)
            assert await second.end() == 0
            assert await holder(world) == ""


async def test_a_leader_frozen_past_its_lease_acts_no_more(world: World, tmp_path: Path) -> None:
    node = await world.node("a", cpu="1")
    async with scheduler_process(world, tmp_path, elect=True) as first:
        await first.ready()
        await world.eventually(lambda: holder(world))
        leader = await holder(world)
        async with scheduler_process(world, tmp_path, elect=True) as second:
            await second.ready()
            first.send(signal.SIGSTOP)

            async def changed() -> bool:
                return await holder(world) not in ("", leader)

            await world.eventually(changed)
            await world.pod("web")
            assert await world.bound("web") == node
            await world.event("web", "Scheduled")
            first.send(signal.SIGCONT)
            assert await first.end() == 1
            assert "leader election lost" in first.log.read_text()
            await world.pod("next")
            await world.refused("next")
            assert await has_not_acted(first)
    assert len(await world.events("web", "Scheduled")) == 1


async def has_not_acted(process: SchedulerProcess) -> bool:
    """Whether the process' log speaks of no pod."""
    return "was bound" not in process.log.read_text()


@asynccontextmanager
async def binding_slowly(world: World, tmp_path: Path) -> AsyncIterator[SchedulerProcess]:
    """A process whose plugin has been asked to bind the pod `web`, and does not come to an end."""
    plugin, marker = tmp_path / "slow.py", tmp_path / "asked"
    plugin.write_text(SLOW_BINDER)
    config = with_bind_plugin(world, "SlowBinder", {"marker": str(marker)})
    async with scheduler_process(world, tmp_path, f"--plugin={plugin}:SlowBinder", config=config) as process:
        await process.ready()
        await world.pod("web")

        async def asked() -> bool:
            return marker.exists()

        await world.eventually(asked)
        yield process


async def test_a_process_killed_before_it_bound_loses_nothing(world: World, tmp_path: Path) -> None:
    node = await world.node("a", cpu="1")
    async with binding_slowly(world, tmp_path) as process:
        process.send(signal.SIGKILL)
        await process.end()
    assert "nodeName" not in (await world.get("Pod", "web"))["spec"]
    async with scheduler_process(world, tmp_path) as process:
        await process.ready()
        assert await world.bound("web") == node


async def test_a_binding_that_does_not_end_is_undone_at_the_stop(world: World, tmp_path: Path) -> None:
    await world.node("a", cpu="1")
    async with binding_slowly(world, tmp_path) as process:
        process.send(signal.SIGTERM)
        assert await process.end() == 0
    assert "nodeName" not in (await world.get("Pod", "web"))["spec"]


BLOCKING_FILTER = '''
import time


class Blocking:
    """Blocks the whole process, once, for as long as it is told."""

    def __init__(self, args, handle):
        self._seconds = args["seconds"]

    def filter(self, state, pod, node):
        seconds, self._seconds = self._seconds, 0
        time.sleep(seconds)
'''


def with_blocking_filter(world: World, seconds: float) -> dict[str, Any]:
    """A configuration in which the first decision takes that long."""
    profile = {
        "schedulerName": world.name,
        "plugins": {"filter": {"enabled": [{"name": "Blocking"}]}},
        "pluginConfig": [{"name": "Blocking", "args": {"seconds": seconds}}],
    }
    return {"profiles": [profile]}


async def test_a_plugin_that_blocks_for_a_while_delays_and_loses_nothing(world: World, tmp_path: Path) -> None:
    await world.node("a")
    plugin = tmp_path / "blocking.py"
    plugin.write_text(BLOCKING_FILTER)
    config = with_blocking_filter(world, 1.5)
    async with scheduler_process(world, tmp_path, f"--plugin={plugin}:Blocking", config=config) as process:
        await process.ready()
        await world.pod("first")
        await world.pod("second")
        await world.bound("first")
        await world.bound("second")
        assert (await process.ask("/livez"))[0] == 200


async def test_a_leader_that_a_plugin_blocks_past_its_lease_acts_no_more(world: World, tmp_path: Path) -> None:
    node = await world.node("a")
    plugin = tmp_path / "blocking.py"
    plugin.write_text(BLOCKING_FILTER)
    config = with_blocking_filter(world, 8)
    flag = f"--plugin={plugin}:Blocking"
    async with scheduler_process(world, tmp_path, flag, config=config, elect=True) as blocked:
        await blocked.ready()
        await world.eventually(lambda: holder(world))
        async with scheduler_process(world, tmp_path, elect=True) as other:
            await other.ready()
            await world.pod("web")
            assert await world.bound("web") == node
            assert await blocked.end() == 1
            assert await has_not_acted(blocked)
    assert len(await world.events("web", "Scheduled")) == 1


async def test_a_process_that_a_plugin_holds_up_names_it_and_stops_when_told(world: World, tmp_path: Path) -> None:
    await world.node("a")
    plugin = tmp_path / "blocking.py"
    plugin.write_text(BLOCKING_FILTER)
    config = with_blocking_filter(world, 3600)
    async with scheduler_process(world, tmp_path, f"--plugin={plugin}:Blocking", config=config) as process:
        await process.ready()
        await world.pod("web")

        async def told() -> bool:
            return f'plugin "Blocking" in filter for pod {world.name}/web at {plugin}:' in process.log.read_text()

        await world.eventually(told)
        process.send(signal.SIGTERM)
        assert await process.end() == 1
        assert "ending as things are" in process.log.read_text()


async def test_the_state_is_logged_on_demand(world: World, tmp_path: Path) -> None:
    await world.node("a")
    async with scheduler_process(world, tmp_path) as process:
        await process.ready()
        await world.pod("web")
        await world.pod("huge", cpu="64")
        await world.bound("web")
        await world.refused("huge")
        process.send(signal.SIGUSR2)

        async def logged() -> bool:
            log = process.log.read_text()
            return "the cache agrees with the informers" in log and f"queue unschedulable: {world.name}/huge" in log

        await world.eventually(logged)


async def test_a_cluster_read_only_by_the_leader_is_scheduled(world: World, tmp_path: Path) -> None:
    node = await world.node("a")
    config = {"delayCacheUntilActive": True}
    async with scheduler_process(world, tmp_path, config=config, elect=True) as process:
        await process.ready()
        await world.pod("web")
        assert await world.bound("web") == node
        async with scheduler_process(world, tmp_path, config=config, elect=True) as second:

            async def serves() -> bool:
                return (await second.ask("/healthz"))[0] == 200

            await world.eventually(serves)
            assert (await second.ask("/readyz/sched-handler-sync"))[0] == 500
            process.send(signal.SIGTERM)
            assert await process.end() == 0
            await second.ready()
            await world.pod("next")
            assert await world.bound("next") == node
