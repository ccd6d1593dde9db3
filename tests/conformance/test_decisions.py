"""Decisions as kube-scheduler v1.36.4 and v1.37.1 took them: every refusal, every score, every choice.

The cases are the same for both versions: each line has the case, and what was decided by version. Those of family odd
are others with something changed in them, much of it what no API server accepts.

$MOORAGE_RECORDED names a folder of further recordings (`NAME-1.36.jsonl.gz`, `NAME-1.37.jsonl.gz`) to compare with.

Left out of the comparison: the order of reasons within one refusal (kube-scheduler walks a Go map there), and a score
of 0, which is as good as none. Of the outcomes of preemption that kube-scheduler came to, ours must be one. Where a
plugin broke, so must its error: which node is looked at first is open, and what follows `CEL runtime error:` is the
wording of another evaluator.
"""

import gzip
import json
import lzma
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from moorage.cases import ScheduleCase
from moorage.config import features_of
from moorage.config.gates import VERSIONS

DATA = tuple(Path(__file__).parent / name for name in ("claims.jsonl.xz", "decisions.jsonl.xz", "odd.jsonl.xz"))
FURTHER = os.environ.get("MOORAGE_RECORDED")
FAMILIES = (
    "claims",
    "config",
    "images",
    "large",
    "mixed",
    "newer",
    "nodeaffinity",
    "nominated",
    "odd",
    "podaffinity",
    "ports",
    "preemption",
    "resources",
    "spread",
    "taints",
    "volumes",
)
#: Reported of a family that has more.
MOST_DIFFERENCES = 10


@cache
def recorded() -> dict[str, list[bytes]]:
    """The lines of the data by family."""
    families: dict[str, list[bytes]] = {}
    for file in DATA:
        with lzma.open(file) as lines:
            for line in lines:
                name = line.partition(b'"name":"')[2].partition(b'"')[0].decode()
                families.setdefault(name.partition("-")[0], []).append(line)
    return families


def differences(got: dict[str, Any], want: dict[str, Any]) -> Iterator[str]:
    """Every field, and within it every node, in which two decisions differ."""
    if "error" in want or "error" in got:
        possible = {_without_wording(text) for text in (want.get("error", ""), *want.get("errors", {}).values())}
        if _without_wording(got.get("error", "")) not in possible:
            yield f"error: got {got.get('error')}, want one of {sorted(possible)}"
        return
    for field in sorted((got.keys() | want.keys()) - {"preemption"}):
        ours, theirs = comparable(field, got.get(field)), comparable(field, want.get(field))
        if isinstance(ours, dict) and isinstance(theirs, dict):
            for key in sorted(ours.keys() | theirs.keys()):
                if ours.get(key) != theirs.get(key):
                    yield f"{field}.{key}: got {ours.get(key)}, want {theirs.get(key)}"
        elif ours != theirs:
            yield f"{field}: got {ours}, want {theirs}"
    mine, seen = got.get("preemption"), want.get("preemption")
    if (mine is None) != (seen is None) or (mine and seen and mine[0] not in seen):
        yield f"preemption: got {mine}, want one of {seen}"


def comparable(field: str, value: Any) -> Any:
    """The value without what may differ."""
    if field == "rejected" and value:
        return {node: {**status, "reasons": sorted(status["reasons"])} for node, status in value.items()}
    if field == "scores" and value:
        return {node: {plugin: score for plugin, score in scores.items() if score} for node, scores in value.items()}
    return value


def _without_wording(text: str) -> str:
    return re.sub(r"(CEL (?:runtime|compile) error: ).*", r"\1", text, flags=re.DOTALL)


def compare(cases: Iterable[tuple[dict[str, Any], list[dict[str, Any]]]], version: str) -> list[str]:
    """Decide cases anew; every difference from what was recorded."""
    found = []
    features = features_of(version)
    for tree, expected in cases:
        case = ScheduleCase(tree, features=features)
        for got, want in zip(case.decisions(), expected, strict=True):
            data = json.loads(json.dumps(got.as_data()))
            found += [f"{case.name}, pod {want['pod']}: {text}" for text in differences(data, want)]
    return found


def report(found: list[str]) -> str:
    return "\n".join([f"{len(found)} differences:", *found[:MOST_DIFFERENCES]])


def test_the_data_is_whole() -> None:
    families = recorded()
    assert sorted(families) == list(FAMILIES)
    counts = {family: len(lines) for family, lines in families.items()}
    assert counts == {**dict.fromkeys(FAMILIES, 60), "claims": 120, "newer": 40, "large": 3, "odd": 120}
    decided = [json.loads(line)["expect"] for lines in families.values() for line in lines]
    assert [sum(len(expect[version]) for expect in decided) for version in VERSIONS] == [6516, 6516]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_decisions(family: str, version: str) -> None:
    records = map(json.loads, recorded()[family])
    found = compare(((record["case"], record["expect"][version]) for record in records), version)
    assert not found, report(found)


@pytest.mark.skipif(not FURTHER, reason="no folder of further recordings is named")
@pytest.mark.parametrize("version", VERSIONS)
def test_further_decisions(version: str) -> None:
    files = sorted(Path(FURTHER or "").glob(f"*-{version}.jsonl.gz"))
    assert files
    for file in files:
        with gzip.open(file) as lines:
            records = [record for record in map(json.loads, lines) if "schedule" in record["case"]]
        found = compare(((record["case"], record["expect"]) for record in records), version)
        assert not found, f"{file.name}: {report(found)}"


def test_a_difference_is_seen() -> None:
    """The comparison itself can fail, and says where."""
    record = json.loads(next(line for line in recorded()["resources"] if b'"scores"' in line))
    want = next(one for one in record["expect"]["1.37"] if len(one["feasible"]) > 1)
    node = want["feasible"][0]
    got = json.loads(json.dumps(want))
    assert not list(differences(got, want))
    got["scores"][node]["NodeResourcesFit"] += 1
    got["message"] = "0/1 nodes are available:"
    got["preemption"] = [{"node": "", "victims": []}]
    fields = [text.partition(":")[0] for text in differences(got, want)]
    assert fields == ["message", f"scores.{node}", "preemption"]
