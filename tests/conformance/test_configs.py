"""Configurations as kube-scheduler v1.36.4 itself read them: accepted or refused, and with what result."""

import json
from pathlib import Path
from typing import Any

import pytest

from moorage.config import ConfigErrors, features_of, load_config
from moorage.config.view import as_data

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "configs.json").read_text())
FEATURES = features_of("1.36")
REFUSED = [case for case in CASES if "stage" in case["expect"]]
ACCEPTED = [case for case in CASES if "stage" not in case["expect"]]


def name_of(case: dict[str, Any]) -> str:
    return str(case["name"])


def test_the_data_is_whole() -> None:
    assert (len(REFUSED), len(ACCEPTED)) == (133, 70)


@pytest.mark.parametrize("case", ACCEPTED, ids=name_of)
def test_accepted(case: dict[str, Any]) -> None:
    data = as_data(load_config(case["yaml"], features=FEATURES))
    assert {name: data[name] for name in ("profiles", "top")} == case["expect"]


@pytest.mark.parametrize("case", REFUSED, ids=name_of)
def test_refused(case: dict[str, Any]) -> None:
    with pytest.raises(ConfigErrors) as refusal:
        load_config(case["yaml"], features=FEATURES)
    errors = refusal.value
    assert errors.stage == case["expect"]["stage"]
    if errors.stage == "validate":
        paths = {error.partition(":")[0] for error in case["expect"]["errors"]}
        assert {fault.path for fault in errors.faults} == paths
