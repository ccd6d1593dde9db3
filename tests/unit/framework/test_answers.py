"""What a plugin may answer at each point, and what a wrong answer becomes."""

import json
from pathlib import Path
from typing import Any

import pytest

from moorage.columns import Snapshot
from moorage.errors import ApiError, PluginError
from moorage.framework import PermitAnswer, PostFilterAnswer, Status, error, unresolvable, unschedulable, wait
from moorage.framework.answers import (
    CONTRACTS,
    blame,
    broken,
    permit_verdict,
    post_filter_verdict,
    verdict,
)
from moorage.framework.points import POINTS, Nomination
from moorage.framework.status import SKIP, Code
from moorage.testing import a_pod

POD = Snapshot().info(a_pod().build())


def _named(point: str, plugin: str) -> str:
    """As kube-scheduler names the plugin that broke."""
    return f'"{plugin}" filter plugin' if point == "Filter" else f'{point} plugin "{plugin}"'


class Plugin:
    """Serves every point; nobody calls it here."""

    def pre_bind(self) -> None: ...

    def permit(self) -> None: ...


def methods() -> set[str]:
    """Every method that a contract in `points` names, but for those that rank nodes or order pods."""
    contracts = {contract for contracts in POINTS.values() for contract in contracts}
    return {name for one in contracts for name in vars(one) if not name.startswith("_")}


def test_every_point_that_answers_in_statuses_has_its_contract() -> None:
    named = {contract.method for contract in CONTRACTS.values()}
    in_columns = {"sort_key", "less", "filter_nodes", "score", "score_nodes"}
    undoing = {"unreserve"}
    of_groups = {"generate_placements", "score_placement", "pod_group_post_filter"}
    assert named - {"pre_bind_pre_flight"} == methods() - in_columns - undoing - of_groups


@pytest.mark.parametrize("point", CONTRACTS)
def test_yes_may_be_said_in_two_ways(point: str) -> None:
    assert verdict("Some", Plugin(), point, None) is None
    assert verdict("Some", Plugin(), point, Status(Code.SUCCESS)) is None


@pytest.mark.parametrize("code", Code)
@pytest.mark.parametrize("point", CONTRACTS)
def test_a_status_is_allowed_or_breaks_the_attempt(point: str, code: Code) -> None:
    status = Status(code, ("because",))
    if code is Code.SUCCESS or code in CONTRACTS[point].codes:
        answer = verdict("Some", Plugin(), point, status)
        assert answer is None or (answer.code, answer.plugin) == (code, "" if code is Code.SKIP else "Some")
    else:
        with pytest.raises(PluginError, match=f"^running {_named(point, 'Some')}: because") as raised:
            verdict("Some", Plugin(), point, status)
        # An error said on purpose is no mistake that has a line.
        assert (raised.value.where == "") == (code is Code.ERROR or not hasattr(Plugin, CONTRACTS[point].method))


@pytest.mark.parametrize("answer", [True, False, "no", 1, (), ["x"], Code.SKIP, unschedulable])
def test_anything_but_a_status_is_wrong_and_the_method_is_named_by_its_line(answer: Any) -> None:
    with pytest.raises(PluginError) as raised:
        verdict("Some", Plugin(), "PreBind", answer)
    line = Plugin.pre_bind.__code__.co_firstlineno
    assert raised.value.where == f"framework/test_answers.py:{line}"
    assert str(raised.value).startswith(f'running PreBind plugin "Some": answered {answer!r}; expected Status or None')


def test_the_line_is_the_last_of_the_plugins_own_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import json\n\ndef read():\n    return inner()\n\ndef inner():\n    return json.loads('{')\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(PluginError) as raised, blame("Mine", "Filter"):
        names["read"]()
    assert isinstance(raised.value.__cause__, json.JSONDecodeError)
    assert raised.value.where == f"{tmp_path.name}/mine.py:7"


def test_what_the_api_server_refuses_is_told_in_its_words() -> None:
    with pytest.raises(PluginError) as raised, blame("Mine", "PreBind"):
        raise ApiError("somebody was faster", code=409)
    assert str(raised.value) == 'running PreBind plugin "Mine": somebody was faster'


def test_what_is_no_exception_passes() -> None:
    with pytest.raises(KeyboardInterrupt), blame("Mine", "Filter"):
        raise KeyboardInterrupt


def test_who_was_blamed_first_stays_blamed() -> None:
    first = PluginError("Inner", "Filter", "boom")
    assert broken("Outer", "PostFilter", first) is first


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, (None, 0.0)),
        (PermitAnswer(wait("for others"), 30), (wait("for others").by("Some"), 30.0)),
        (PermitAnswer(unschedulable("no")), (unschedulable("no").by("Some"), 0.0)),
        (wait(), (wait().by("Some"), 0.0)),
    ],
)
def test_permit(answer: Any, expected: tuple[Status | None, float]) -> None:
    assert permit_verdict("Some", Plugin(), answer) == expected


@pytest.mark.parametrize("seconds", ["30", None, float("nan"), True])
def test_a_timeout_is_a_number(seconds: Any) -> None:
    with pytest.raises(PluginError, match="expected seconds"):
        permit_verdict("Some", Plugin(), PermitAnswer(wait(), seconds))


@pytest.mark.parametrize(
    "answer",
    [
        PostFilterAnswer(None, Nomination("a", (POD,))),
        PostFilterAnswer(unschedulable("no"), Nomination("")),
        PostFilterAnswer(unresolvable("no")),
        PostFilterAnswer(error("out of order")),
    ],
)
def test_post_filter(answer: PostFilterAnswer) -> None:
    assert post_filter_verdict("Some", Plugin(), answer) is answer


@pytest.mark.parametrize(
    "answer",
    [
        None,
        SKIP,
        PostFilterAnswer("no"),  # type: ignore[arg-type]
        PostFilterAnswer(None, "a"),  # type: ignore[arg-type]
        PostFilterAnswer(None, Nomination("a", ("default/web",))),  # type: ignore[arg-type]
        PostFilterAnswer(None, Nomination(None)),  # type: ignore[arg-type]
    ],
)
def test_a_post_filter_that_answers_half_is_wrong(answer: Any) -> None:
    with pytest.raises(PluginError, match=r'^running PostFilter plugin "Some": answered '):
        post_filter_verdict("Some", Plugin(), answer)
