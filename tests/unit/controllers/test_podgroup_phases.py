"""How far a group is, by its pods."""

import pytest

from moorage.controllers.objects.podgroups import PodGroup
from moorage.controllers.objects.pods import Pod
from moorage.controllers.podgroups.controller import LABEL, group_of
from moorage.controllers.podgroups.phases import status_of
from moorage.objects import convert

NOW = "2030-01-01T00:00:00Z"


def group(phase: str = "", *, members: int = 3, **status: str) -> PodGroup:
    return convert({"spec": {"minMember": members}, "status": {"phase": phase, **status}}, PodGroup)


def pods(letters: str) -> list[Pod]:
    """Pods by letters: p(ending), r(unning), s(ucceeded), f(ailed)."""
    phases = {"p": "Pending", "r": "Running", "s": "Succeeded", "f": "Failed"}
    owners = [{"kind": "Job", "name": "train"}, {"kind": "App", "name": "a"}]
    return [
        convert(
            {
                "metadata": {"name": f"m-{number}", "namespace": "ml", "ownerReferences": owners},
                "status": {"phase": phases[letter]},
            },
            Pod,
        )
        for number, letter in enumerate(letters)
    ]


@pytest.mark.parametrize(
    ("members", "phase"),
    [
        ("", "Pending"),
        ("pp", "Pending"),
        ("rr", "Pending"),
        ("ppp", "Scheduling"),
        ("rrp", "Scheduling"),
        ("rrr", "Running"),
        ("rrs", "Running"),
        ("rrrp", "Running"),
        ("ssr", "Running"),
        ("rrf", "Failed"),
        ("fpp", "Scheduling"),
        ("sss", "Finished"),
        ("sssf", "Finished"),
        ("ssf", "Failed"),
    ],
)
@pytest.mark.parametrize("before", ["", "Pending", "Scheduling", "Running", "Failed"])
def test_phases_follow_from_the_pods(members: str, phase: str, before: str) -> None:
    status = status_of(group(before), pods(members), NOW)
    assert status.phase == phase
    assert (status.running, status.succeeded, status.failed) == tuple(members.count(letter) for letter in "rsf")


def test_a_group_that_has_finished_stays_so() -> None:
    done = group("Finished")
    assert status_of(done, [], NOW) == done.status


def test_a_group_without_a_number_is_pending_until_there_are_pods() -> None:
    assert status_of(group(members=0), [], NOW).phase == "Pending"
    assert status_of(group(members=0), pods("p"), NOW).phase == "Scheduling"
    assert status_of(group(members=0), pods("r"), NOW).phase == "Running"


def test_whose_it_is_and_since_when_it_is_scheduled() -> None:
    status = status_of(group("Pending"), pods("ppp"), NOW)
    assert (status.occupied_by, status.schedule_start_time) == ("ml/a,ml/train", NOW)
    later = status_of(group("Scheduling", scheduleStartTime=NOW), pods("ppp"), "2031-01-01T00:00:00Z")
    assert later.schedule_start_time == NOW


def test_a_pod_belongs_to_the_group_of_its_namespace() -> None:
    pod = convert({"metadata": {"name": "m", "namespace": "ml", "labels": {LABEL: "train"}}}, Pod)
    assert group_of(pod) == ("ml/train",)
    assert group_of(pods("p")[0]) == ()
