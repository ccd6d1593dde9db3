"""A pod is bound with a licence, and none is lost. A stand-in is the service: time that jumps waits for no network."""

from pathlib import Path

import aiohttp
import pytest
from examples.prebind_service.plugin import LICENCE, Licences

from moorage.framework import PodInfo
from moorage.testing import Cluster, PodBuilder, Run, a_node, a_pod


class Service:
    """So many licences, by uid of the pod that has one; `broken` is what it raises."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.held: set[str] = set()
        self.broken: Exception | None = None

    async def send(self, method: str, pod: PodInfo, node_name: str = "") -> tuple[int, str]:
        if self.broken is not None:
            raise self.broken
        if method == "DELETE":
            self.held.discard(pod.uid)
        elif len(self.held) >= self.count:
            return 409, f"all {self.count} licences are taken (wanted on {node_name})"
        else:
            self.held.add(pod.uid)
        return 200, ""


@pytest.fixture
def service() -> Service:
    return Service(1)


@pytest.fixture
def run(service: Service) -> Run:
    config = Path(__file__).with_name("scheduler.yaml")
    made = Cluster(a_node("n")).run(plugins=[Licences], config=config)
    made.plugin(Licences).send = service.send  # type: ignore[method-assign]
    return made


def licensed(name: str) -> PodBuilder:
    return a_pod(name).annotations({LICENCE: "cad"})


def test_a_pod_is_bound_with_its_licence(run: Run, service: Service) -> None:
    run.add(licensed("cad"), a_pod("web"))
    assert run.node_of("cad") == run.node_of("web") == "n"
    assert len(service.held) == 1
    assert run.plugin(Licences).asked == set()


def test_a_pod_without_a_licence_waits_and_is_tried_again(run: Run, service: Service) -> None:
    run.add(licensed("one"), licensed("two"))
    assert run.node_of("two") == ""
    assert run.condition("two")[1] == "all 1 licences are taken (wanted on n)"
    service.held.clear()
    run.advance(30)
    assert run.node_of("two") == "n"


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (aiohttp.ClientConnectionError("refused"), "the licence service does not answer: refused"),
        (TimeoutError(), "the licence service does not answer: too slow"),
    ],
)
def test_a_service_that_is_down_delays(run: Run, service: Service, problem: Exception, said: str) -> None:
    service.broken = problem
    run.add(licensed("cad"))
    assert run.condition("cad") == ("SchedulerError", f'running PreBind plugin "Licences": {said}')
    service.broken = None
    run.advance(30)
    assert run.node_of("cad") == "n"
    assert len(service.held) == 1
