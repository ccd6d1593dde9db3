"""Scripts as kube-scheduler itself played them: which pod was tried when, and which event brought it back."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from moorage.cases import outcome
from moorage.config.gates import features_of

VERSIONS = {"1.36": 100, "1.37": 100}


@cache
def recorded(version: str) -> list[dict[str, Any]]:
    """Every script of a version, with what came of it."""
    with gzip.open(Path(__file__).parent / f"queue-{version}.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def difference(got: list[dict[str, Any]], want: list[dict[str, Any]]) -> str:
    """The first step, and the field in it, that differs; "" where none does, and where the order is the same, too."""
    for index, (ours, theirs) in enumerate(zip(got, want, strict=True)):
        for field in theirs:
            if json.dumps(ours.get(field)) != json.dumps(theirs[field]):
                return f"step {index}, {field}: got {ours.get(field)}, want {theirs[field]}"
    return "" if json.dumps(got) == json.dumps(want) else "fields that nobody recorded"


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
    want = recorded("1.36")[0]["expect"]
    index = next(number for number, step in enumerate(want) if step["cycles"])
    got = json.loads(json.dumps(want))
    assert not difference(got, want)
    got[index]["cycles"][0]["at"] += 1
    assert difference(got, want).startswith(f"step {index}, cycles")
    got = json.loads(json.dumps(want))
    got[index]["queues"]["gated"] = {"default/a": "SchedulingGates"}
    assert difference(got, want).startswith(f"step {index}, queues")
