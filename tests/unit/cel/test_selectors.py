"""Device selectors against the answers of Kubernetes' own evaluator, recorded with `python -m tools.cel_answers`."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from moorage.cel import CompileError, CostExceeded, DeviceView, EvaluationError, Selector, selector
from moorage.objects import Device, convert

HERE = Path(__file__).parent
#: Costs are not compared here: a part broke and was made up for, or a map was walked, in an order of its own.
NO_COST = (
    "attributes.exists(d, ",
    "attributes.all(d, ",
    "nosuch ==",
    "1 / x ==",
    ".exists(k, ",
    ".exists(c, ",
    "attributes[d].exists",
    ".allowed() || true",
)
#: Where the text of a compile error is not compared: another of several is named first, or Go's own words are in it.
NO_TEXT = ("Syntax error", "expected type 'list(int)' but found 'list(dyn)'", "strconv")


@cache
def recorded() -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress((HERE / "answers.jsonl.gz").read_bytes()).splitlines()]


@cache
def devices() -> list[DeviceView]:
    return [
        DeviceView(one["driver"], convert(one, Device))
        for one in json.loads((HERE / "inputs.json").read_bytes())["devices"]
    ]


def answer(compiled: Selector, device: DeviceView) -> tuple[bool | None, int]:
    try:
        return compiled.evaluate(device)
    except (EvaluationError, CostExceeded):
        return None, 0


def test_every_expression_was_recorded() -> None:
    inputs = json.loads((HERE / "inputs.json").read_bytes())
    assert [one["expression"] for one in recorded()] == inputs["expressions"]
    assert all(len(one["devices"]) == len(inputs["devices"]) for one in recorded() if "compile" not in one)


def test_the_same_expressions_compile() -> None:
    ours = [not isinstance(selector(one["expression"]), CompileError) for one in recorded()]
    theirs = ["compile" not in one for one in recorded()]
    wrong = [one["expression"] for one, mine, other in zip(recorded(), ours, theirs, strict=True) if mine != other]
    assert not wrong


def test_errors_of_compilation_stand_at_the_same_place() -> None:
    for one in recorded():
        if ":1:" in (text := one.get("compile", "")):
            said = selector(one["expression"])
            assert isinstance(said, CompileError)
            assert f"<input>:{said.line}:{said.column}:" in text, one["expression"]


def test_errors_of_compilation_read_alike() -> None:
    checked = 0
    for one in recorded():
        first, *_ = one.get("compile", "").splitlines() or ("",)
        if first and not any(part in first for part in NO_TEXT):
            assert str(selector(one["expression"])).splitlines()[0] == first, one["expression"]
            checked += 1
    assert checked > 100


def test_devices_match_alike() -> None:
    wrong: list[tuple[str, object, object]] = []
    for one in recorded():
        compiled = selector(one["expression"])
        if isinstance(compiled, CompileError):
            continue
        for device, want in zip(devices(), one["devices"], strict=True):
            got, cost = answer(compiled, device)
            if got != (None if "error" in want else want["matches"]):
                wrong.append((one["expression"], got, want))
            same_cost = got is None or cost == want.get("cost", 0)
            if not same_cost and not any(part in one["expression"] for part in NO_COST):
                wrong.append((one["expression"], cost, want))
    assert not wrong


def test_a_missing_key_is_named_as_upstream_names_it() -> None:
    checked = 0
    for one in recorded():
        compiled = selector(one["expression"])
        for device, want in zip(devices(), one.get("devices", ()), strict=False):
            if want.get("error", "").startswith("no such key"):
                assert isinstance(compiled, Selector)
                with pytest.raises(EvaluationError) as caught:
                    compiled.matches(device)
                assert str(caught.value) == want["error"], one["expression"]
                checked += 1
    assert checked > 100


def test_a_device_that_cannot_be_read_breaks_every_selector() -> None:
    bad = convert({"name": "d", "attributes": {"v": {"version": "1.2"}}}, Device)
    with pytest.raises(EvaluationError, match="attribute v"):
        DeviceView("d.example.com", bad)
    many = convert({"name": "d", "attributes": {"v": {"ints": [1]}}}, Device)
    with pytest.raises(EvaluationError, match="unsupported attribute value"):
        DeviceView("d.example.com", many, lists=False)


def test_a_compile_error_shows_the_line() -> None:
    with pytest.raises(CompileError) as caught:
        Selector('device.driver ==\n  nothing("a")')
    assert (caught.value.line, caught.value.column) == (2, 10)
    assert str(caught.value).splitlines()[1:] == [' |   nothing("a")', " | .........^"]


def test_deep_nesting_is_refused_not_crashed_on() -> None:
    assert isinstance(selector("(" * 3000 + "true" + ")" * 3000), CompileError)
    assert isinstance(selector("!" * 9000 + "true"), Selector)
