"""Scripts with groups of pods as kube-scheduler itself played them: placed together, or not at all, and why not."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from moorage.cases import outcome
from moorage.config.gates import features_of

VERSIONS = {"1.36": 60, "1.37": 60}


@cache
def recorded(version: str) -> list[dict[str, Any]]:
    """Every script of a version, with what came of it."""
    with gzip.open(Path(__file__).parent / f"podgroup-{version}.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def difference(got: list[dict[str, Any]], want: list[dict[str, Any]]) -> str:
    """The first step, and the field in it, that differs; "" where none does."""
    for index, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        for field in ours.keys() | theirs.keys():
            if ours.get(field) != theirs.get(field):
                return f"step {index}, {field}: got {ours.get(field)}, want {theirs.get(field)}"
    return ""


@pytest.mark.parametrize("version", VERSIONS)
def test_scripts(version: str) -> None:
    cases = recorded(version)
    assert len(cases) == VERSIONS[version]
    found = [f"{case['case']['name']}: {text}" for case in cases if (text := _play(case, version))]
    assert not found, "\n".join([f"{len(found)} differences:", *found[:5]])


def _play(record: dict[str, Any], version: str) -> str:
    return difference(outcome(record["case"], features=features_of(version))["steps"], record["expect"])


def test_a_difference_is_seen() -> None:
    """The comparison itself can fail, and says where."""
    want = recorded("1.37")[0]["expect"]
    index = next(number for number, step in enumerate(want) if any("groups" in cycle for cycle in step["cycles"]))
    got = json.loads(json.dumps(want))
    assert not difference(got, want)
    group = next(cycle["groups"] for cycle in got[index]["cycles"] if "groups" in cycle)
    next(iter(group.values()))["status"] = "Unknown"
    assert difference(got, want).startswith(f"step {index}, cycles")
