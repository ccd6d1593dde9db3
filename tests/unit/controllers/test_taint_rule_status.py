"""What a DeviceTaintRule's status says."""

import pytest

from moorage.controllers.claims.rulestatus import Effects, eviction_condition
from moorage.controllers.objects.claims import DeviceTaintRule
from moorage.objects import convert


def a_rule(effect: str) -> DeviceTaintRule:
    spec = {"taint": {"key": "sick", "effect": effect}}
    return convert({"metadata": {"name": "r", "generation": 3}, "spec": spec}, DeviceTaintRule)


@pytest.mark.parametrize(
    ("effects", "status", "reason", "message"),
    [
        (Effects(), "False", "NotStarted", ""),
        (Effects(1, 1), "True", "PodsPendingEviction", "1 pod needs to be evicted in 1 namespace."),
        (
            Effects(3, 2, evicted=1),
            "True",
            "PodsPendingEviction",
            "3 pods need to be evicted in 2 different namespaces. 1 pod evicted since starting the controller.",
        ),
        (Effects(evicted=2), "False", "Completed", "2 pods evicted since starting the controller."),
    ],
)
def test_pods_that_are_driven_out(effects: Effects, status: str, reason: str, message: str) -> None:
    told = eviction_condition(a_rule("NoExecute"), effects)
    assert (told.type, told.status, told.reason, told.message) == ("EvictionInProgress", status, reason, message)
    assert told.observed_generation == 3


def test_an_effect_that_is_only_tried_out() -> None:
    told = eviction_condition(a_rule("None"), Effects(0, 0, published=1, allocated=2))
    assert (told.status, told.reason) == ("False", "NoEffect")
    assert told.message == (
        "1 published device selected. 2 allocated devices selected. 0 pods would be evicted in 0 different namespaces "
        "if the effect was NoExecute. This information will not be updated again. "
        "Recreate the DeviceTaintRule to trigger an update."
    )


def test_an_effect_that_drives_nobody_out() -> None:
    told = eviction_condition(a_rule("NoSchedule"), Effects(evicted=1))
    assert (told.status, told.reason) == ("False", "OtherEffect")
    assert told.message == (
        "Eviction only happens for the NoExecute effect. 1 pod evicted since starting the controller."
    )
