"""Gangs in memory: what a pod costs in gangs of several sizes beside single pods, and a gang that cannot fit.

The scheduler is whole, from a pod's event to its bind; the API server answers at once and costs nothing. Time is CPU
time of this process: the machine may be shared.
"""

import gc
import time
from collections.abc import Iterable
from dataclasses import dataclass

from rich.table import Table

from moorage.attempt.scripted import Bind
from moorage.cluster import ObjectEvents
from moorage.config import parse_config
from moorage.engine.engine import default_registry
from moorage.framework.writes import Bound, Done
from moorage.objects import LabelledPodGroup, LabelledPodGroupSpec, ObjectMeta, Pod
from moorage.testing import PodBuilder, Run, a_node, a_pod

SIZES = (8, 64, 512)
LIMIT = 50.0
"""Milliseconds of CPU that a gang may cost to be told that it cannot fit."""

_LABEL = "scheduling.x-k8s.io/pod-group"
_CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {
                "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
                "queueSort": {"disabled": [{"name": "Coscheduling"}]},
            }
        }
    ],
}


@dataclass(frozen=True)
class Fitting:
    """Microseconds of CPU a pod, by size of its gang; 1 is a single pod."""

    size: int
    cost: float


@dataclass(frozen=True)
class Hopeless:
    """Milliseconds of CPU to say that a gang lacks one slot, and of ten minutes in which nothing changes."""

    size: int
    said: float
    waited: float


def fitting(size: int, *, nodes: int = 5_000, pods: int = 4_096) -> Fitting:
    """Place so many pods in gangs of a size."""
    run = _run(nodes, cpu="8")
    _drain(run, [_pod(f"warm-{number}").build() for number in range(64)])
    made = [_member(run, f"g{number // size}", number, size) for number in range(pods)]
    gc.collect()
    started = time.process_time()
    _drain(run, made)
    spent = time.process_time() - started
    bound = sum(isinstance(request, Bind) for request in run.world.requests) - 64
    if bound != pods:
        raise RuntimeError(f"{bound} of {pods} pods in gangs of {size} were bound")
    return Fitting(size, spent / pods * 1e6)


def hopeless(size: int, *, nodes: int = 5_000) -> Hopeless:
    """Try a gang that has room for all but one."""
    run = _run(nodes, cpu="1")
    _drain(run, [_pod(f"running-{number}").on(f"n{number}").build() for number in range(nodes - size + 1)])
    made = [_member(run, "g0", number, size) for number in range(size)]
    # The last member makes the gang one that can be tried: its coming is what is measured.
    _drain(run, made[:-1])
    gc.collect()
    started = time.process_time()
    _drain(run, made[-1:])
    said = time.process_time() - started
    if any(isinstance(request, Bind) for request in run.world.requests):
        raise RuntimeError(f"a part of a gang of {size} was bound")
    started = time.process_time()
    run.driver.advance(600)
    return Hopeless(size, said * 1e3, (time.process_time() - started) * 1e3)


def table(repeats: int = 3) -> Table:
    """Both, for all sizes; the best of a few runs each."""
    made = Table(title="gangs in memory, 5,000 nodes (CPU time)")
    for heading in ("what", "measured", "beside single pods", "target"):
        made.add_column(heading, justify="left" if heading == "what" else "right")
    single = min(fitting(1).cost for _ in range(repeats))
    made.add_row("a single pod", f"{single:,.0f} us", "", "")
    for size in SIZES:
        cost = min(fitting(size).cost for _ in range(repeats))
        made.add_row(f"a pod in gangs of {size}", f"{cost:,.0f} us", f"{cost / single:.2f}", "<= 1.00")
    for size in SIZES:
        told = min((hopeless(size) for _ in range(repeats)), key=lambda one: one.said)
        made.add_row(f"a gang of {size} that cannot fit", f"{told.said:,.1f} ms", "", f"< {LIMIT:.0f} ms")
        made.add_row("  and ten minutes in which nothing changes", f"{told.waited:,.1f} ms", "", "")
    return made


def _run(nodes: int, *, cpu: str) -> Run:
    registry = default_registry()
    run = Run(config=parse_config(_CONFIGURATION, known=registry.known), registry=registry)
    run.world.answer = lambda request: Bound() if isinstance(request, Bind) else Done()
    for number in range(nodes):
        run.core.node_events.added(a_node(f"n{number}").allocatable(cpu=cpu, pods="110").build())
    return run


def _drain(run: Run, pods: Iterable[Pod]) -> None:
    """Tell of the pods, and decide until there is nothing to try."""
    for pod in pods:
        run.core.pod_events.added(pod)
    while run.core.attempts.run_next():
        run.world.time.run()


def _member(run: Run, group: str, number: int, size: int) -> Pod:
    """A pod; with the first of a gang comes its group."""
    name = f"pod-{number}"
    if size == 1:
        return _pod(name).build()
    if number % size == 0:
        meta = ObjectMeta(name=group, namespace="default", uid=f"uid-{group}")
        events = ObjectEvents(LabelledPodGroup, run.core.cluster.snapshot.objects, run.core.queue)
        events.added(LabelledPodGroup(metadata=meta, spec=LabelledPodGroupSpec(min_member=size)))
    return _pod(name).labels({_LABEL: group}).build()


def _pod(name: str) -> PodBuilder:
    return a_pod(name).metadata(uid=f"uid-{name}").requests(cpu="1")
