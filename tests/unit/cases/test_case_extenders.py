"""Cases whose configuration names extenders: not asked, and said so, unless told to."""

from typing import Any

from tests.cluster.plain_extender import Tree, names_of, passing, plain_extender

from moorage.cases import outcome


def a_case(url: str, **more: Any) -> Tree:
    extender = {"urlPrefix": url, "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1, **more}
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    room = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "extra": 1}, "status": room} for name in "abc"
    ]
    pod = {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": "main", "image": "x"}]}}
    return {
        "name": "with an extender",
        "config": {**header, "extenders": [extender]},
        "objects": [*nodes, {"apiVersion": "v1", "kind": "Pod", **pod}],
        "schedule": ["ns/p"],
    }


def answer(verb: str, body: Tree) -> Any:
    if verb == "filter":
        return passing(body, ["b", "c"], FailedNodes={"a": "no luck"})
    return [{"Host": name, "Score": 5 if name == "c" else 1} for name in names_of(body)]


def test_not_asked_unless_told_to() -> None:
    with plain_extender(answer) as extender:
        (decision,) = outcome(a_case(extender.url))["decisions"]
        assert decision["extendersNotAsked"] == [extender.url]
        assert decision["feasible"] == ["a", "b", "c"]
        assert extender.calls == []


def test_told_to_they_have_their_say() -> None:
    with plain_extender(answer) as extender:
        (decision,) = outcome(a_case(extender.url), ask_extenders=True)["decisions"]
    assert decision["chosen"] == "c"
    assert decision["rejected"]["a"]["reasons"] == ["no luck"]
    assert "extendersNotAsked" not in decision
    filtered = extender.calls[0][1]
    assert filtered["Nodes"]["items"][0]["metadata"] == {"name": "a", "extra": 1}
    assert filtered["Pod"]["spec"]["containers"] == [{"name": "main", "image": "x"}]


def test_one_that_breaks_fails_the_decision() -> None:
    with plain_extender(lambda _verb, _body: (500, b"out of order")) as extender:
        (decision,) = outcome(a_case(extender.url, nodeCacheCapable=True), ask_extenders=True)["decisions"]
    assert "out of order" in decision["error"]
