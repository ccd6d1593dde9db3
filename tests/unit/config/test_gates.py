"""Versions and their feature gates: what is on, what may be turned, and what is refused in which words."""

import pytest

from moorage.config import DEFAULT_FEATURES, features_of
from moorage.config import gates as gate
from moorage.config.gates import VERSIONS, parse_gates, parse_version, with_gates
from moorage.config.gatetable import NEEDS, OWN
from moorage.errors import InputError

OWN_NAMES = [line.split("|")[0].strip() for line in OWN.strip().splitlines()[1:]]


def refusal(version: str, **gates: bool) -> str:
    with pytest.raises(InputError) as refused:
        features_of(version, gates)
    return str(refused.value)


def test_defaults_follow_the_version() -> None:
    older, newer = features_of("1.36"), features_of("1.37")
    assert "StorageCapacityScoring" not in older
    assert "StorageCapacityScoring" in newer
    assert "SchedulerPopFromBackoffQ" in older
    assert "SidecarContainers" in older
    assert "SidecarContainers" not in newer
    assert features_of() == DEFAULT_FEATURES


@pytest.mark.parametrize("version", VERSIONS)
def test_every_gate_of_the_code_and_of_the_needs_is_in_some_version(version: str) -> None:
    known = {spec.name for other in VERSIONS for spec, _ in features_of(other).gates()}
    constants = {name: value for name, value in vars(gate).items() if isinstance(value, str) and value.isalnum()}
    asked = {value for name, value in constants.items() if name == name.upper() and not name.startswith("_")}
    assert asked
    assert asked <= known | set(OWN_NAMES)
    for line in NEEDS.strip().splitlines():
        name, _, needed = line.partition(":")
        assert {name, *needed.split()} <= known
    assert features_of(version).changed() == {}


def test_gates_are_turned() -> None:
    features = features_of("1.36", {"StorageCapacityScoring": True, "SchedulerPopFromBackoffQ": False})
    assert "StorageCapacityScoring" in features
    assert features.changed() == {"StorageCapacityScoring": True, "SchedulerPopFromBackoffQ": False}
    further = with_gates(features, {"SchedulerPopFromBackoffQ": True})
    assert further.changed() == {"StorageCapacityScoring": True}


def test_a_stage_is_turned_but_for_the_gates_that_are_named() -> None:
    features = features_of("1.37", {"AllAlpha": True, "GenericWorkload": True, "CompositePodGroup": False})
    assert "TopologyAwareWorkloadScheduling" in features
    assert "CompositePodGroup" not in features
    assert "SchedulerAsyncAPICalls" not in features


def test_unknown_gates_are_refused_with_the_nearest() -> None:
    expected = 'feature gate "StorageCapacityScore" is not known in 1.37; did you mean "StorageCapacityScoring"?'
    assert refusal("1.37", StorageCapacityScore=True) == expected
    assert refusal("1.37", GangScheduling=True) == 'feature gate "GangScheduling" is not known in 1.37; 1.36 has it'
    assert refusal("1.36", Qwertz=True) == 'feature gate "Qwertz" is not known in 1.36'


@pytest.mark.parametrize("name", OWN_NAMES)
@pytest.mark.parametrize("version", VERSIONS)
def test_our_own_names_are_nothing_for_users(version: str, name: str) -> None:
    assert refusal(version, **{name: True}).startswith(f'feature gate "{name}" is not known in {version}')
    assert name not in {spec.name for spec, _ in features_of(version).gates()}


def test_locked_gates_are_refused() -> None:
    assert refusal("1.37", DRAExtendedResource=False) == (
        "feature gate DRAExtendedResource cannot be false: 1.37 has it locked to true"
    )
    assert features_of("1.37", {"DRAExtendedResource": True}) == features_of("1.37")
    assert "DRAExtendedResource" not in features_of("1.36", {"DRAExtendedResource": False})


def test_what_a_gate_needs_has_to_be_on() -> None:
    assert refusal("1.37", TopologyAwareWorkloadScheduling=True) == (
        "feature gate TopologyAwareWorkloadScheduling is on, but needs GenericWorkload, which is off"
    )
    assert "CompositePodGroup" in features_of(
        "1.37", dict.fromkeys(("CompositePodGroup", "TopologyAwareWorkloadScheduling", "GenericWorkload"), True)
    )


@pytest.mark.parametrize("text", ["1.36", "v1.36", "kube=1.36", "kube=v1.36"])
def test_versions_are_read(text: str) -> None:
    assert parse_version(text) == "1.36"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1.35", 'version "1.35" is not known; there are 1.36, 1.37'),
        ("1.36.4", 'write "1.36", without a patch version'),
        ("", 'version "" is not known; there are 1.36, 1.37'),
        ("wardle=1.36", 'component "wardle" is not known; write "1.36" or "kube=1.36"'),
    ],
)
def test_versions_are_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_version(text)
    assert str(refused.value) == said


def test_gates_are_read() -> None:
    assert parse_gates(["A=true,B=false", " kube:C=1 "]) == {"A": True, "B": False, "C": True}
    for text, said in (
        ("A", '"A" has no value: write A=true or A=false'),
        ("A=yes", '"yes" of A is neither true nor false'),
        ("x:A=true", 'component "x" of "x:A=true" is not known'),
    ):
        with pytest.raises(InputError) as refused:
            parse_gates([text])
        assert str(refused.value) == said
