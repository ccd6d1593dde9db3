"""Scripts as kube-scheduler itself played them: which pod was tried when, which event brought it back; groups placed
together, or not at all, and why not."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from moorage.cases import outcome
from moorage.config.gates import features_of

#: family and version -> how many there are: pods in the queue; groups through the whole scheduler.
FAMILIES = {("queue", "1.36"): 100, ("queue", "1.37"): 100, ("podgroup", "1.36"): 60, ("podgroup", "1.37"): 60}


@cache
def recorded(family: str, version: str) -> list[dict[str, Any]]:
    """Every script of a family in a version, with what came of it."""
    with gzip.open(Path(__file__).parent / f"{family}-{version}.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def difference(got: list[dict[str, Any]], want: list[dict[str, Any]]) -> str:
    """The first step, and the field in it, that differs; "" where none does, and where the order is the same, too."""
    for index, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        for field in theirs:
            if json.dumps(ours.get(field)) != json.dumps(theirs[field]):
                return f"step {index}, {field}: got {ours.get(field)}, want {theirs[field]}"
    return "" if json.dumps(got) == json.dumps(want) else "fields that nobody recorded"


@pytest.mark.parametrize(("family", "version"), FAMILIES)
def test_scripts(family: str, version: str) -> None:
    cases = recorded(family, version)
    assert len(cases) == FAMILIES[family, version]
    found = [f"{case['case']['name']}: {text}" for case in cases if (text := _play(case, version))]
    assert not found, "\n".join([f"{len(found)} differences:", *found[:5]])


def _play(record: dict[str, Any], version: str) -> str:
    return difference(outcome(record["case"], features=features_of(version))["steps"], record["expect"])


def test_a_difference_is_seen() -> None:
    """The comparison itself can fail, and says where."""
    want = recorded("queue", "1.36")[0]["expect"]
    index = next(number for number, step in enumerate(want) if step["cycles"])
    got = json.loads(json.dumps(want))
    assert not difference(got, want)
    got[index]["cycles"][0]["at"] += 1
    assert difference(got, want).startswith(f"step {index}, cycles")
    got = json.loads(json.dumps(want))
    got[index]["queues"]["gated"] = {"default/a": "SchedulingGates"}
    assert difference(got, want).startswith(f"step {index}, queues")


def test_a_difference_of_groups_is_seen() -> None:
    """Whatever is said of a group counts."""
    want = recorded("podgroup", "1.37")[0]["expect"]
    index = next(number for number, step in enumerate(want) if any("groups" in cycle for cycle in step["cycles"]))
    got = json.loads(json.dumps(want))
    group = next(cycle["groups"] for cycle in got[index]["cycles"] if "groups" in cycle)
    next(iter(group.values()))["status"] = "Unknown"
    assert difference(got, want).startswith(f"step {index}, cycles")
