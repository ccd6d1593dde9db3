"""Failures that many collections share are told once, and now and then while they last."""

import pytest

from moorage.errors import ApiError
from moorage.kube.errors import AnswerLost, Forbidden, Unauthorized, Unreachable
from moorage.kube.troubles import AGAIN, Troubles

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def troubles(clock: Clock) -> Troubles:
    return Troubles(clock)


def forbidden(what: str) -> Forbidden:
    return Forbidden(f'{what} is forbidden: User "jane" cannot list resource "{what}"', code=403)


@pytest.mark.parametrize(
    ("error", "cure"),
    [
        (Unreachable("cannot connect to 127.0.0.1:1"), "kubeconfig"),
        (Unauthorized("Unauthorized", code=401), "credentials"),
        (forbidden("nodes"), "`moorage manifests`"),
    ],
)
def test_what_fails_is_told_with_its_cure(troubles: Troubles, error: ApiError, cure: str) -> None:
    told = troubles.failed(NODES, error)
    assert told.startswith(f"{NODES}: {error}; ")
    assert cure in told


def test_what_others_failed_with_is_not_told_again_for_a_while(troubles: Troubles, clock: Clock) -> None:
    assert troubles.failed(NODES, Unauthorized("Unauthorized", code=401))
    assert troubles.failed(PODS, Unauthorized("Unauthorized", code=401)) == ""
    clock.now += AGAIN - 1
    assert troubles.failed(NODES, Unauthorized("Unauthorized", code=401)) == ""
    clock.now += 1
    told = troubles.failed(PODS, Unauthorized("Unauthorized", code=401))
    assert told.startswith(f"{PODS} and 1 more: Unauthorized (for 30 s); ")


def test_what_is_forbidden_is_one_trouble_however_it_is_worded(troubles: Troubles) -> None:
    assert troubles.failed(NODES, forbidden("nodes"))
    assert troubles.failed(PODS, forbidden("pods")) == ""


def test_a_trouble_that_is_over_is_told_when_it_comes_back(troubles: Troubles) -> None:
    assert troubles.failed(NODES, AnswerLost("cut"))
    troubles.passed(NODES)
    assert troubles.failed(NODES, AnswerLost("cut")) == f"{NODES}: cut"


def test_what_fails_otherwise_now_is_another_trouble(troubles: Troubles, clock: Clock) -> None:
    assert troubles.failed(NODES, Unreachable("refused"))
    assert troubles.failed(NODES, Unauthorized("Unauthorized", code=401))
    clock.now += 1
    assert troubles.failed(NODES, Unreachable("refused")), "it was not lasting"
