"""Decisions in memory: what one costs, for each kind of workload and for growing clusters.

A decision is a whole scheduling cycle and the placing of the pod, so that the next one sees it. Time is CPU time of
this process: the machine may be shared.
"""

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bench import clusters
from moorage.attempt.placing import Placer
from moorage.cluster import ClusterState
from moorage.columns import Snapshot
from moorage.engine import Failure, Placement, make_engine
from moorage.objects import Pod


@dataclass(frozen=True)
class Scenario:
    """A workload and what a decision of it shall cost, in microseconds."""

    name: str
    cluster: Callable[[int], Snapshot]
    pods: Callable[[int], Iterator[Pod]]
    goal: int
    count: int = 2000
    #: Pods decided before the clock starts, so that every class has been seen once.
    warm_up: int = 1


def _with_pods(nodes: int) -> Snapshot:
    return clusters.a_cluster(nodes, running=10 * nodes)


SCENARIOS = (
    Scenario("identical pods", _with_pods, clusters.identical, 15),
    Scenario("200 classes interleaved", _with_pods, clusters.many_classes, 35, warm_up=200),
    Scenario("hard + soft spread", _with_pods, clusters.spread, 40),
    Scenario("required (anti)affinity", _with_pods, clusters.affinity, 40, warm_up=10),
    Scenario("preemption dry run, full nodes", clusters.full_cluster, clusters.preemptors, 1_500, 20),
)


def measure(scenario: Scenario, nodes: int, *, repeats: int = 3) -> float:
    """Microseconds of CPU a decision takes: the best of a few runs."""
    return min(_run(scenario, nodes) for _ in range(repeats))


def _run(scenario: Scenario, nodes: int) -> float:
    snapshot = scenario.cluster(nodes)
    engine = make_engine(snapshot)
    placer = Placer(cluster=ClusterState(snapshot), engine=engine)
    pods = clusters.infos(snapshot, scenario.pods(scenario.count + scenario.warm_up))
    for pod in pods[: scenario.warm_up]:
        _place(placer, engine.schedule(pod))
    gc.collect()
    gc.freeze()
    started = time.process_time()
    for pod in pods[scenario.warm_up :]:
        _place(placer, engine.schedule(pod))
    spent = time.process_time() - started
    gc.unfreeze()
    return spent / scenario.count * 1e6


def _place(placer: Placer, outcome: Placement | Failure) -> None:
    if isinstance(outcome, Placement):
        placer.reserve(outcome)
    elif outcome.nomination is None or not outcome.nomination.node_name:
        raise RuntimeError(f"the benchmark's pods must fit or preempt: {outcome.full_message}")


def fill(nodes: int, pods: int) -> float:
    """Seconds of CPU to decide and place so many pods of 20 classes on so many nodes."""
    snapshot = clusters.a_cluster(nodes)
    engine = make_engine(snapshot)
    placer = Placer(cluster=ClusterState(snapshot), engine=engine)
    waiting = clusters.infos(snapshot, clusters.many_classes(pods, classes=20))
    gc.collect()
    gc.freeze()
    started = time.process_time()
    for pod in waiting:
        _place(placer, engine.schedule(pod))
    spent = time.process_time() - started
    gc.unfreeze()
    return spent
