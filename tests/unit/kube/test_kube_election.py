"""Elections on a virtual clock, with a lease server in memory that can be slow, deaf, or forgetful."""

import asyncio
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from moorage.errors import InputError
from moorage.kube.election import ElectionSettings, LeaderElector, LeadershipLost
from moorage.kube.errors import AlreadyExists, AnswerLost, Conflict, NotFound, Unreachable

if TYPE_CHECKING:
    from tests.unit.kube.conftest import ScriptedClient

pytestmark = pytest.mark.looptime

Scripted = type["ScriptedClient"]


class LeaseServer:
    """Leases with resource versions. `trouble(identity, method)` may raise or sleep before a request is carried out."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.trouble: Callable[[str, str], Any] | None = None
        self.lose_answers = False

    def client_for(self, identity: str, scripted: Scripted) -> "ScriptedClient":
        async def serve(method: str, _path: str, body: Any) -> Any:
            await asyncio.sleep(0.01)
            if self.trouble is not None:
                await self.trouble(identity, method)
            answer = self._carry_out(method, body)
            if self.lose_answers and method != "GET":
                raise AnswerLost("cut")
            return answer

        return scripted(serve)

    def _carry_out(self, method: str, body: Any) -> Any:
        if method == "POST":
            if self.lease is not None:
                raise AlreadyExists("exists", code=409)
            return self._store(body)
        if self.lease is None:
            raise NotFound("none", code=404)
        if method == "PUT":
            if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
                raise Conflict("changed", code=409)
            return self._store(body)
        return self.lease

    def _store(self, body: Any) -> Any:
        self.version += 1
        self.lease = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self.version)}}
        return self.lease

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        spec: dict[str, Any] = self.lease["spec"]
        return spec


class Candidate:
    """An elector and a record of when it acted."""

    def __init__(self, name: str, server: LeaseServer, scripted: Scripted) -> None:
        self.name = name
        self.elector = LeaderElector(
            server.client_for(name, scripted), ElectionSettings(identity=name), clock=self.clock
        )
        self.acted: list[float] = []
        self.task = asyncio.create_task(self.elector.run(self.work))

    def clock(self) -> float:
        return asyncio.get_running_loop().time()

    async def work(self) -> None:
        while True:
            if self.elector.is_leader():
                self.acted.append(self.clock())
            await asyncio.sleep(0.1)

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


async def test_the_first_creates_the_lease_and_renews_it(server: LeaseServer, scripted: Scripted) -> None:
    one = Candidate("one", server, scripted)
    await asyncio.sleep(60)
    assert one.elector.is_leader()
    assert server.version > 20
    spec = server.spec
    assert spec["holderIdentity"] == "one"
    assert spec["leaseDurationSeconds"] == 15
    assert spec["leaseTransitions"] == 0
    for stamp in ("acquireTime", "renewTime"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", spec[stamp])
    await one.stop()


async def test_a_clean_stop_hands_over_at_once(server: LeaseServer, scripted: Scripted) -> None:
    one = Candidate("one", server, scripted)
    await asyncio.sleep(1)
    two = Candidate("two", server, scripted)
    await asyncio.sleep(20)
    assert two.acted == []
    await one.stop()
    assert server.spec["holderIdentity"] == ""
    stopped = one.clock()
    await asyncio.sleep(6)
    assert two.elector.is_leader()
    assert two.acted[0] - stopped < 5
    assert server.spec["leaseTransitions"] == 1
    await two.stop()


async def test_a_leader_cut_off_stops_before_the_next_begins(server: LeaseServer, scripted: Scripted) -> None:
    one = Candidate("one", server, scripted)
    await asyncio.sleep(1)
    two = Candidate("two", server, scripted)
    await asyncio.sleep(30)

    async def cut_off(identity: str, _method: str) -> None:
        if identity == "one":
            raise Unreachable("no route")

    server.trouble = cut_off
    with pytest.raises(LeadershipLost, match="no route"):
        await one.task
    await asyncio.sleep(30)
    assert two.elector.is_leader()
    assert max(one.acted) < min(two.acted)
    await two.stop()


async def test_a_server_that_does_not_answer_is_the_same_as_none(server: LeaseServer, scripted: Scripted) -> None:
    one = Candidate("one", server, scripted)
    await asyncio.sleep(5)

    async def hang(_identity: str, _method: str) -> None:
        await asyncio.sleep(3600)

    server.trouble = hang
    cut = one.clock()
    with pytest.raises(LeadershipLost):
        await one.task
    assert max(one.acted) - cut <= 10
    assert one.clock() - cut <= 10.1


async def test_a_renewal_that_hangs_is_sent_again_while_there_is_time(server: LeaseServer, scripted: Scripted) -> None:
    one = Candidate("one", server, scripted)
    await asyncio.sleep(5)
    hung = 0

    async def hang_once(_identity: str, _method: str) -> None:
        nonlocal hung
        hung += 1
        if hung == 1:
            await asyncio.sleep(3600)

    server.trouble = hang_once
    await asyncio.sleep(60)
    assert hung > 1
    assert one.elector.is_leader()
    await one.stop()


async def test_the_count_of_leaders_begins_again_after_the_last_that_fits(
    server: LeaseServer, scripted: Scripted
) -> None:
    server.lease = {"metadata": {"resourceVersion": "0"}, "spec": {"holderIdentity": "", "leaseTransitions": 2**31 - 1}}
    one = Candidate("one", server, scripted)
    await asyncio.sleep(1)
    assert one.elector.is_leader()
    assert server.spec["leaseTransitions"] == 0
    await one.stop()


async def test_a_renewal_answered_late_counts_from_when_it_was_sent(server: LeaseServer, scripted: Scripted) -> None:
    sent: list[float] = []

    async def slow(_identity: str, method: str) -> None:
        if method == "PUT":
            sent.append(one.clock())
            await asyncio.sleep(4 if len(sent) == 1 else 3600)

    one = Candidate("one", server, scripted)
    await asyncio.sleep(1)
    server.trouble = slow
    with pytest.raises(LeadershipLost):
        await one.task
    assert len(sent) == 2
    assert max(one.acted) < sent[0] + 10


async def test_one_who_was_frozen_past_the_lease_knows_before_acting(server: LeaseServer, scripted: Scripted) -> None:
    """A stopped process sees its clock jump: nothing of it runs in between."""
    jump = 0.0
    loop = asyncio.get_running_loop()
    acted_after_thaw: list[float] = []
    thawed = False

    def clock() -> float:
        return loop.time() + jump

    elector = LeaderElector(server.client_for("one", scripted), ElectionSettings(identity="one"), clock=clock)

    async def work() -> None:
        while True:
            if elector.is_leader() and thawed:
                acted_after_thaw.append(clock())
            await asyncio.sleep(0.1)

    task = asyncio.create_task(elector.run(work))
    await asyncio.sleep(5)
    assert elector.is_leader()
    version = server.version
    jump, thawed = 20.0, True
    assert not elector.is_leader()
    with pytest.raises(LeadershipLost, match="did not run for too long"):
        await task
    assert acted_after_thaw == []
    assert server.version == version  # it neither renewed nor released what may be another's by now


async def test_the_lease_is_kept_while_work_winds_up(server: LeaseServer, scripted: Scripted) -> None:
    wound_up_as_leader: list[bool] = []
    elector = LeaderElector(
        server.client_for("one", scripted),
        ElectionSettings(identity="one"),
        clock=asyncio.get_running_loop().time,
    )

    async def work() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(25)
            wound_up_as_leader.append(elector.is_leader())

    task = asyncio.create_task(elector.run(work))
    await asyncio.sleep(5)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert wound_up_as_leader == [True]
    assert server.spec["holderIdentity"] == ""
    assert not elector.is_leader()


async def test_work_that_fails_releases_the_lease_and_is_heard(server: LeaseServer, scripted: Scripted) -> None:
    elector = LeaderElector(server.client_for("one", scripted), ElectionSettings(identity="one"))

    async def work() -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        await elector.run(work)
    assert server.spec["holderIdentity"] == ""


async def test_two_who_begin_together_do_not_both_lead(server: LeaseServer, scripted: Scripted) -> None:
    both = [Candidate(name, server, scripted) for name in ("one", "two")]
    await asyncio.sleep(60)
    assert sorted(bool(candidate.acted) for candidate in both) == [False, True]
    assert {candidate.elector.holder for candidate in both} == {server.spec["holderIdentity"]}
    for candidate in both:
        await candidate.stop()


async def test_lost_answers_do_not_lose_the_lease(server: LeaseServer, scripted: Scripted) -> None:
    server.lose_answers = True
    one = Candidate("one", server, scripted)
    await asyncio.sleep(10)
    assert one.acted == []
    server.lose_answers = False
    await asyncio.sleep(10)
    assert one.elector.is_leader()
    server.lose_answers = True
    await asyncio.sleep(5)
    server.lose_answers = False
    await asyncio.sleep(20)
    assert one.elector.is_leader()
    assert server.spec["leaseTransitions"] == 0
    await one.stop()


async def test_somebody_who_touches_the_lease_does_not_end_leadership(server: LeaseServer, scripted: Scripted) -> None:
    one = Candidate("one", server, scripted)
    await asyncio.sleep(5)
    assert server.lease is not None
    server._store({**server.lease, "metadata": {**server.lease["metadata"], "labels": {"kept": "yes"}}})
    await asyncio.sleep(15)
    assert one.elector.is_leader()
    assert server.lease["metadata"]["labels"] == {"kept": "yes"}
    server.lease = None
    await asyncio.sleep(15)
    assert one.elector.is_leader()
    assert server.spec["holderIdentity"] == "one"
    await one.stop()


async def test_a_usurper_ends_leadership_at_the_next_renewal(server: LeaseServer, scripted: Scripted) -> None:
    one = Candidate("one", server, scripted)
    await asyncio.sleep(5)
    assert server.lease is not None
    server._store({**server.lease, "spec": {**server.spec, "holderIdentity": "usurper"}})
    with pytest.raises(LeadershipLost, match="held by usurper"):
        await one.task
    assert not one.elector.is_leader()
    assert server.spec["holderIdentity"] == "usurper"


async def test_the_duration_written_by_the_holder_counts(server: LeaseServer, scripted: Scripted) -> None:
    spec = {"holderIdentity": "gone", "leaseDurationSeconds": 100, "leaseTransitions": 4, "strategy": "kept"}
    server._store({"metadata": {"name": "kube-scheduler"}, "spec": spec})
    start = asyncio.get_running_loop().time()
    one = Candidate("one", server, scripted)
    await asyncio.sleep(120)
    assert 100 <= one.acted[0] - start < 106
    assert server.spec["leaseTransitions"] == 5
    assert server.spec["strategy"] == "kept"
    await one.stop()


async def test_new_leaders_are_announced(server: LeaseServer, scripted: Scripted) -> None:
    seen: list[str] = []
    one = Candidate("one", server, scripted)
    await asyncio.sleep(1)
    watcher = LeaderElector(
        server.client_for("two", scripted), ElectionSettings(identity="two"), on_new_leader=seen.append
    )
    task = asyncio.create_task(watcher.run(lambda: asyncio.sleep(0)))
    await asyncio.sleep(10)
    assert seen == ["one"]
    await one.stop()
    await task
    assert seen == ["one", "two"]


@pytest.mark.parametrize(
    ("durations", "field"),
    [
        ({"lease_duration": 10.0}, "leaderElection.leaseDuration"),
        ({"renew_deadline": 2.0}, "leaderElection.renewDeadline"),
        ({"retry_period": 0.0}, "leaderElection"),
    ],
)
def test_durations_that_cannot_work_are_refused(durations: dict[str, float], field: str) -> None:
    with pytest.raises(InputError) as caught:
        ElectionSettings(**durations)  # type: ignore[arg-type]
    assert caught.value.where == field
