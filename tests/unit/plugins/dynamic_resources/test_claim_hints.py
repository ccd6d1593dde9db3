"""Whom it helps that a claim is gone."""

import pytest
from msgspec.structs import replace
from tests.unit.plugins.dynamic_resources.builders import a_claim, allocated

from moorage.columns import Snapshot
from moorage.config import features_of
from moorage.config.gates import parse_version
from moorage.framework.events import Hint
from moorage.objects import OwnerReference, ResourceClaim
from moorage.plugins.dynamic_resources.extended import ANNOTATION
from moorage.plugins.dynamic_resources.hints import Hints
from moorage.plugins.dynamic_resources.rules import rules_of
from moorage.testing import a_node, a_pod


def owned_by(claim: ResourceClaim, uid: str, name: str = "p") -> ResourceClaim:
    """The claim as a scheduler makes it for a pod's extended resources."""
    owner = OwnerReference("v1", "Pod", name, uid, controller=True)
    return replace(claim, metadata=replace(claim.metadata, annotations={ANNOTATION: "true"}, owner_references=(owner,)))


@pytest.mark.parametrize(("version", "of_allocated"), [("1.36", Hint.SKIP), ("1.37", Hint.QUEUE)])
def test_a_claim_that_is_gone(version: str, of_allocated: Hint) -> None:
    snapshot = Snapshot.of([a_node("n").build()])
    hints = Hints(snapshot, rules_of(features_of(parse_version(version))))
    pod = snapshot.info(a_pod("p").build())
    assert hints.after_claim(pod, a_claim("c"), None) is Hint.SKIP
    assert hints.after_claim(pod, a_claim("c", status=allocated("d", pool="x")), None) is of_allocated
    # One that a scheduler made for the very pod, and nobody took up: PostFilter had it deleted.
    assert hints.after_claim(pod, owned_by(a_claim("s"), pod.uid), None) is Hint.QUEUE
    assert hints.after_claim(pod, owned_by(a_claim("s"), "another"), None) is Hint.SKIP
