"""Every extension point times every kind of misbehaviour: the process lives, others are bound, nothing spins.

docs/plugins/faults.md is what this test finds: MOORAGE_WRITE_DOCS=1 writes it anew.
"""

import asyncio
import logging
import os
import re
import time
from pathlib import Path
from typing import Any, Final

import pytest
from tests.cluster.saboteurs import BLOCKS, KINDS, POINTS, Saboteur, Wide
from tests.cluster.scheduler_world import World, condition

from moorage.framework import Status, unschedulable
from moorage.live.scheduler import LiveScheduler
from moorage.live.watchdog import Watchdog

PAGE: Final = Path(__file__).parents[2] / "docs" / "plugins" / "faults.md"

MOST_ATTEMPTS: Final = 12
"""Of one pod within WATCHED seconds."""
WATCHED: Final = 5.0

FAILS, KEPT_OUT, BOUND, UNDONE, ALL_WAIT = "fails", "kept out", "bound", "undone", "all wait"
NO_HELP = "no help"
WHERE: Final = re.compile(r"\(at cluster/saboteurs\.py:\d+\)")

HEAD: Final = """\
# What a plugin may do wrong, and what comes of it

Nothing a plugin does ends the process, loses a pod or spins. The table is written by a test that does all of it, to the
embedded API server and to a real one, with other pods bound meanwhile; no pod was tried more than 12 times in 5 s.

* **fails**: that attempt of that pod fails. Condition and event name the plugin, the point, and the file and line; the
  log has a traceback, once for each plugin, point and line. The pod is tried again after 1 s, 2 s, 4 s and so on.
  (A score out of range is told in kube-scheduler's words, which know no line.)
* **kept out**: the pod stays out of the queue, as if the gate were closed, until one of the plugin's events.
* **bound**: the log tells of it, and the pod goes its way. At QueueSort it stands behind all others in order of
  priority and time; a queueing hint that fails in any way counts as QUEUE.
* **no help**: a dry run of preemption that breaks makes its node one that does not help; what the pod is told says
  who broke, and where.
* **undone**: what the attempt took is given back by all other plugins, and the pod is tried again.
* **all wait**: a plugin that blocks holds up everything: nobody is decided or bound, the lease is not renewed. After
  5 s of it the log names plugin, method, pod and line, and `moorage_event_loop_blocks_total` counts it; then all goes
  on. PreBind, Bind and PostBind may be declared to run in a worker thread: `worker_thread = ("pre_bind",)`.
* **-**: cannot be told from a right answer, or is one.

`KeyboardInterrupt` alone is let pass. Repeats are counted in `moorage_plugin_faults_total`. Told to stop, the process
ends within 10 s whatever plugins do.

"""


def misbehaviours() -> list[tuple[str, str, str]]:
    """Point, kind, and the name of the pod that asks for it."""
    pairs = [(point, kind) for point, but in POINTS.items() for kind in KINDS if kind not in but]
    return [(point, kind, re.sub("[^a-z0-9]+", "-", f"{point}-{kind}".lower())) for point, kind in pairs]


@pytest.fixture
def profiles(world: World) -> list[dict[str, Any]]:
    both = [{"name": "Saboteur"}, {"name": "Wide"}]
    return [
        {
            "schedulerName": world.name,
            "plugins": {
                "multiPoint": {"enabled": both},
                "queueSort": {"enabled": [{"name": "Saboteur"}], "disabled": [{"name": "*"}]},
                "bind": {"enabled": [*both, {"name": "DefaultBinder"}], "disabled": [{"name": "*"}]},
            },
        }
    ]


async def test_whatever_a_plugin_does(
    world: World, profiles: list[dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("a", "b"):
        await world.node(name, cpu="500", pods="500")
    found: dict[tuple[str, str], str] = {}
    wrong = [one for one in misbehaviours() if one[1] != BLOCKS]
    async with world.scheduling(profiles=profiles, plugins=[Saboteur, Wide]) as scheduler:
        # Dry runs by themselves: their pods are of those that any pod which goes may help.
        for is_dry_run in (False, True):
            some = [one for one in wrong if (one[0] == "RemovePod") is is_dry_run]
            for point, kind, name in some:
                await _ask_for(world, point, kind, name)
            await asyncio.gather(*(_good(world, f"{is_dry_run}-{number}".lower()) for number in range(10)))
            if not is_dry_run:
                await _nudge(world)
            await asyncio.sleep(WATCHED)
            await _good(world, f"{is_dry_run}-last".lower())
            for point, kind, name in some:
                found[point, kind] = await _outcome(world, scheduler, point, name)
            for pod in await world.pods():
                await world.delete("Pod", pod["metadata"]["name"])
        for point, kind, name in misbehaviours():
            if kind == BLOCKS:
                found[point, kind] = await _blocked(world, scheduler, caplog, point, name)
        await _good(world, "end")
        for pod in await world.pods():
            await world.delete("Pod", pod["metadata"]["name"])
    told = {(fault.plugin, fault.point) for fault in scheduler.core.faults.counts}
    assert {
        ("Saboteur", point) for point in ("QueueSort", "PreEnqueue", "QueueingHint", "Unreserve", "PostBind")
    } <= told
    assert len([one for one in caplog.records if one.exc_info]) < 150, "tracebacks are told once"
    _compare(_page(found))


async def _ask_for(world: World, point: str, kind: str, name: str) -> None:
    metadata: dict[str, Any] = {"annotations": {"does": f"{point}: {kind}"}}
    if point == "RemovePod":
        # Somebody would have to go from a node of its own, which nobody else looks at.
        node = await world.node(name, cpu="1", labels={"for": name, "world": "apart"})
        await world.pod(f"{name}-victim", nodeSelector={"for": name})
        assert await world.bound(f"{name}-victim") == node
        high = "system-cluster-critical"
        await world.pod(name, metadata=metadata, nodeSelector={"for": name}, priorityClassName=high)
    else:
        await world.pod(name, metadata=metadata, cpu="9999" if point == "PostFilter" else "1")


async def _good(world: World, number: str) -> None:
    await world.pod(f"good-{number}")
    await world.bound(f"good-{number}")


async def _nudge(world: World) -> None:
    """The event about which hints are asked."""
    names = [name for point, _, name in misbehaviours() if point == "QueueingHint"]
    for name in names:
        if not name.endswith("blocks"):
            await _tried(world, name)
    await world.patch("Node", f"{world.name}-a", {"metadata": {"labels": {"nudged": "yes"}}})


async def _tried(world: World, name: str) -> None:
    async def look() -> bool:
        pod = await world.get("Pod", name)
        return bool(pod["spec"].get("nodeName") or condition(pod, "PodScheduled", "False"))

    await world.eventually(look)


async def _outcome(world: World, scheduler: LiveScheduler, point: str, name: str) -> str:
    """What became of the pod. It was not tried too often, and what is said of it says who, where and why."""

    async def at_rest() -> bool:
        """It is bound, or waits in the queue: between two attempts, not within one."""
        return f"{world.name}/{name}" in queued() or bool((await world.get("Pod", name))["spec"].get("nodeName"))

    def queued() -> dict[str, Any]:
        return {entity.key: entity for _, entity in scheduler.queue.pods()}

    await world.eventually(at_rest)
    pod = await world.get("Pod", name)
    if pod["spec"].get("nodeName"):
        return BOUND
    found = queued()[f"{world.name}/{name}"]
    assert found.attempts <= MOST_ATTEMPTS, f"{name} was tried {found.attempts} times in {WATCHED} s"
    if found.is_gated:
        note = (await world.event(name, "SchedulingGated"))["note"]
        assert 'PreEnqueue plugin "Saboteur"' in note
        assert WHERE.search(note), note
        return KEPT_OUT
    refusal = condition(pod, "PodScheduled", "False")
    assert refusal is not None, f"{name} waits without a word"
    if point == "RemovePod":
        assert refusal["reason"] == "Unschedulable"
        assert WHERE.search(refusal["message"]), refusal["message"]
        return NO_HELP
    if point == "Unreserve":
        assert refusal["message"] == "so that it is undone"
        return UNDONE
    assert refusal["reason"] == "SchedulerError", f"{name}: {refusal}"
    assert re.search('plugin "(Saboteur|Wide)"|"(Saboteur|Wide)" filter plugin', refusal["message"]), refusal["message"]
    in_their_words = "returns an invalid score" in refusal["message"]
    assert in_their_words or WHERE.search(refusal["message"]), f"{name}: {refusal['message']}"
    event = await world.event(name, "FailedScheduling")
    assert event["note"] == refusal["message"]
    return FAILS


async def _blocked(
    world: World, scheduler: LiveScheduler, caplog: pytest.LogCaptureFixture, point: str, name: str
) -> str:
    """Have one pod block at a point, and nothing else; it is told who does."""
    counted: list[str] = []
    watching = asyncio.create_task(Watchdog(scheduler.plugins, count=counted.append, patience=0.1).run())
    try:
        await asyncio.sleep(0.05)
        await _ask_for(world, point, BLOCKS, name)
        if point == "QueueingHint":
            await _tried(world, name)
            await world.patch("Node", f"{world.name}-a", {"metadata": {"labels": {"nudged": "again"}}})

        async def told() -> bool:
            return bool({"Saboteur", "Wide"} & set(counted))

        await world.eventually(told)
    finally:
        watching.cancel()
        await asyncio.wait([watching])
    held = [one for one in caplog.messages if "it is held by plugin" in one and "saboteurs.py:" in one]
    assert held, "the line is told"
    await world.delete("Pod", name)
    return ALL_WAIT


class Slow:
    """Blocks where it may."""

    worker_thread = ("pre_bind", "post_bind")

    def pre_bind(self, _state: Any, pod: Any, _node_name: str) -> Status | None:
        if pod.name.startswith("slow"):
            time.sleep(1.0)
        return unschedulable("not today") if pod.name == "slow-no" else None

    def post_bind(self, _state: Any, pod: Any, _node_name: str) -> None:
        if pod.name == "slow":
            raise KeyError("tide")


async def test_what_blocks_in_a_worker_thread_holds_up_nobody(world: World) -> None:
    await world.node("a", cpu="50")
    profiles = [{"schedulerName": world.name, "plugins": {"multiPoint": {"enabled": [{"name": "Slow"}]}}}]
    async with world.scheduling(profiles=profiles, plugins=[Slow]) as scheduler:
        for name in ("slow", "slow-no", "slow-too"):
            await world.pod(name)
        await _good(world, "0")
        assert [(await world.get("Pod", name))["spec"].get("nodeName") for name in ("slow", "slow-too")] == [None, None]
        await asyncio.gather(world.bound("slow"), world.bound("slow-too"))
        assert (await world.refused("slow-no"))["message"] == "not today"
        assert ("Slow", "PostBind") in scheduler.core.faults.by_point()
        await world.delete("Pod", "slow-no")


def _page(found: dict[tuple[str, str], str]) -> str:
    rows = [
        "| point | " + " | ".join(KINDS) + " |",
        "|---|" + "---|" * len(KINDS),
        *(f"| {point} | " + " | ".join(found.get((point, kind), "-") for kind in KINDS) + " |" for point in POINTS),
    ]
    return HEAD + "\n".join(rows) + "\n"


def _compare(written: str) -> None:
    if os.environ.get("MOORAGE_WRITE_DOCS"):
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(written)
    assert PAGE.read_text() == written, f"{PAGE} is not what was found: MOORAGE_WRITE_DOCS=1 writes it anew"


def test_nothing_is_left_out() -> None:
    """Whatever methods the contracts name, the saboteurs have."""
    from moorage.framework.answers import CONTRACTS

    methods = {contract.method for contract in CONTRACTS.values()} | {"sort_key", "score", "normalize_scores"}
    assert methods <= set(dir(Saboteur)), methods - set(dir(Saboteur))
    assert logging.getLogger("moorage").isEnabledFor(logging.ERROR)
