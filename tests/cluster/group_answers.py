"""Requests about groups of pods whose answers are compared: the embedded API server's with kube-apiserver's."""

from collections.abc import Iterator
from typing import Any

from tests.cluster.answers import APPLY, MERGE, PODS, STRATEGIC, Call, Json, named, pod

GATES = {
    "1.36": ("GenericWorkload", "GangScheduling", "WorkloadAwarePreemption", "TopologyAwareWorkloadScheduling"),
    "1.37": (
        "GenericWorkload",
        "TopologyAwareWorkloadScheduling",
        "CompositePodGroup",
        "PodGroupPreemptionPolicy",
        "DRAWorkloadResourceClaims",
    ),
}
"""What has to be on, by version, for groups to have all that these requests ask of them."""

APIS = {
    "1.36": ("scheduling.k8s.io/v1alpha2",),
    "1.37": ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"),
}
_CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
_GANG: Json = {"gang": {"minCount": 3}}
_BASIC: Json = {"basic": {}}


def groups(version: str) -> Iterator[Call]:
    """Everything about the groups of a version."""
    for api in APIS[version]:
        yield from _groups(f"/apis/{api}/namespaces/{{ns}}", is_old=version == "1.36")
    yield from _members()
    if version == "1.37":
        yield from _composites("/apis/scheduling.k8s.io/v1alpha3/namespaces/{ns}")


def _groups(base: str, *, is_old: bool) -> Iterator[Call]:
    path = f"{base}/podgroups"
    yield Call("POST", _CLASSES, {**named("{ns}-high"), "value": 7})
    yield Call("POST", path, _group("a"))
    yield Call("POST", path, _group("a"))
    yield Call("POST", path, _group("b", _BASIC, priorityClassName="{ns}-high"))
    yield Call("POST", path, _group("A_b"))
    yield Call("POST", path, named("bad"))
    for spec in _bad_specs(is_old=is_old):
        yield Call("POST", path, named("bad", {"schedulingPolicy": _GANG, **spec}))
    yield from _changes(path, is_old=is_old)
    yield from _statuses(path)
    yield Call("GET", f"{path}/a")
    yield from _workloads(f"{base}/workloads", path, is_old=is_old)
    yield Call("DELETE", f"{path}/b")
    for name in ("a", "b"):
        # Nobody is there to take the finalizer off.
        yield Call("PATCH", f"{path}/{name}", {"metadata": {"finalizers": None}}, MERGE)
    yield Call("DELETE", f"{path}/a")
    yield Call("DELETE", f"{_CLASSES}/{{ns}}-high")


def _bad_specs(*, is_old: bool) -> Iterator[Json]:
    yield {"schedulingPolicy": {}}
    yield {"schedulingPolicy": {**_GANG, **_BASIC}}
    yield {"schedulingPolicy": {"gang": {}}}
    yield {"schedulingPolicy": {"gang": {"minCount": -1}}}
    yield {"schedulingPolicy": {"gang": {"minCount": "x"}}}
    yield {"priorityClassName": "nosuch"}
    yield {"priorityClassName": "{ns}-high", "priority": 8}
    yield {"priority": 5}
    yield {"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}}
    yield {"schedulingConstraints": {"topology": [{"key": "a b"}]}}
    yield {"schedulingConstraints": {"topology": [{}]}}
    if is_old:
        yield {"disruptionMode": "Some"}
        yield {"podGroupTemplateRef": {}}
        yield {"podGroupTemplateRef": {"workload": {"workloadName": "nosuch", "podGroupTemplateName": "t"}}}
        return
    yield {"disruptionMode": {}}
    yield {"disruptionMode": {"single": {}, "all": {}}}
    yield {"workloadRef": {}}
    yield {"workloadRef": {"workloadName": "A", "templateName": "a.b"}}
    yield {"parentCompositePodGroupName": "p"}
    yield {"preemptionPolicy": "Never"}
    yield {"resourceClaims": [{"name": "a"}, {"name": "A", "resourceClaimName": "c"}]}
    yield {"resourceClaims": [{"name": "a", "resourceClaimName": "c", "resourceClaimTemplateName": "t"}] * 2}
    yield {"resourceClaims": [{"name": f"c{number}", "resourceClaimName": "c"} for number in range(5)]}


def _changes(path: str, *, is_old: bool) -> Iterator[Call]:
    specs: list[Json] = [
        {"schedulingPolicy": {"gang": {"minCount": 5}}},
        {"schedulingPolicy": {"gang": {"minCount": 0}}},
        {"schedulingPolicy": {"gang": None, "basic": {}}},
        {"disruptionMode": "PodGroup" if is_old else {"single": None, "all": {}}},
        {"priority": 3},
        {"priorityClassName": "{ns}-high"},
        {"schedulingConstraints": {"topology": [{"key": "rack"}]}},
    ]
    for spec in specs:
        yield Call("PATCH", f"{path}/a", {"spec": spec}, MERGE)
    yield Call("PUT", f"{path}/a", _group("a"))
    labelled = {**_group("a", {"gang": {"minCount": 6}}), "apiVersion": path[6:].partition("/namespaces")[0]}
    yield Call("PATCH", f"{path}/a", {**labelled, "kind": "PodGroup"}, APPLY, "fieldManager=m&force=true")


def _statuses(path: str) -> Iterator[Call]:
    whole = {"type": "Known", "status": "True", "reason": "Because", "message": ""}
    stamped = {**whole, "lastTransitionTime": "2030-01-01T00:00:00Z"}
    for condition in (
        {"type": "Known", "status": "Maybe"},
        whole,
        {**stamped, "reason": "a b"},
        {**stamped, "observedGeneration": -1},
        stamped,
        {**stamped, "type": "Other", "status": "False"},
    ):
        yield Call("PATCH", f"{path}/a/status", {"status": {"conditions": [condition]}}, STRATEGIC)
    claims = {"resourceClaimStatuses": [{"name": "nosuch"}]}
    yield Call("PATCH", f"{path}/a/status", {"status": claims}, MERGE)


def _workloads(path: str, groups_path: str, *, is_old: bool) -> Iterator[Call]:
    for spec in _bad_workloads(is_old=is_old):
        yield Call("POST", path, named("bad", spec))
    controller = {"apiGroup": "batch", "kind": "Job", "name": "j"}
    yield Call(
        "POST", path, named("w", {"controllerRef": controller, "podGroupTemplates": [_template(), _template("u")]})
    )
    grown = {**_template("u"), "schedulingPolicy": {"gang": {"minCount": 9}}}
    for templates in ([_template()], [_template(), grown], [_template(), grown, _template("v")]):
        yield Call("PATCH", f"{path}/w", {"spec": {"podGroupTemplates": templates}}, MERGE)
    yield Call("PATCH", f"{path}/w", {"spec": {"controllerRef": {**controller, "name": "k"}}}, MERGE)
    old = {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}
    origin: Json = (
        {"podGroupTemplateRef": old} if is_old else {"workloadRef": {"workloadName": "w", "templateName": "t"}}
    )
    yield Call("POST", groups_path, _group("of-w", **origin))
    yield Call("PATCH", f"{groups_path}/of-w", {"metadata": {"finalizers": None}}, MERGE)
    yield Call("DELETE", f"{groups_path}/of-w")
    yield Call("DELETE", f"{path}/w")


def _bad_workloads(*, is_old: bool) -> Iterator[Json]:
    yield {}
    yield {"podGroupTemplates": []}
    yield {"podGroupTemplates": [_template(), _template()]}
    yield {"podGroupTemplates": [_template("A")]}
    yield {"podGroupTemplates": [_template(""), _template("b", schedulingPolicy={})]}
    yield {"podGroupTemplates": [_template(f"t{number}") for number in range(9)]}
    yield {"podGroupTemplates": [_template()], "controllerRef": {"kind": "a/b"}}
    yield {"podGroupTemplates": [_template(priority=2_000_000_000)]}
    if is_old:
        return
    yield {"podGroupTemplates": [_template(priority=1), _template("b", priority=2)]}
    yield {"podGroupTemplates": [_template()], "compositePodGroupTemplates": [_branch("c", _template("d"))]}
    yield {"compositePodGroupTemplates": [_branch("c")]}
    yield {"compositePodGroupTemplates": [_branch("c", _template("a")), _branch("d", _template("a"))]}
    deep = _branch("d4", _template("leaf"))
    for name in ("d3", "d2", "d1"):
        deep = {**_branch(name), "compositePodGroupTemplates": [deep]}
    yield {"compositePodGroupTemplates": [deep]}


def _members() -> Iterator[Call]:
    yield Call("POST", PODS, pod("member", schedulingGroup={"podGroupName": "a"}))
    yield Call("POST", PODS, pod("bad", schedulingGroup={}))
    yield Call("POST", PODS, pod("bad", schedulingGroup={"podGroupName": "A b"}))
    yield Call("PATCH", f"{PODS}/member", {"spec": {"schedulingGroup": {"podGroupName": "b"}}}, MERGE)
    yield Call("PATCH", f"{PODS}/member", {"spec": {"schedulingGroup": None}}, MERGE)
    yield Call("DELETE", f"{PODS}/member")


def _composites(base: str) -> Iterator[Call]:
    path = f"{base}/compositepodgroups"
    origin = {"workloadRef": {"workloadName": "w", "templateName": "t"}}
    count: Json = {"gang": {"minGroupCount": 2}}
    yield Call("POST", path, named("c", {"schedulingPolicy": count, **origin}))
    yield Call("POST", path, named("bad", {"schedulingPolicy": count}))
    yield Call("POST", path, named("bad", {"schedulingPolicy": {"gang": {"minGroupCount": 0}}, **origin}))
    yield Call("POST", path, named("bad", {"schedulingPolicy": {}, "parentCompositePodGroupName": "A", **origin}))
    yield Call("PATCH", f"{path}/c", {"spec": {"schedulingPolicy": {"gang": {"minGroupCount": 3}}}}, MERGE)
    yield Call("POST", f"{base}/podgroups", _group("leaf", parentCompositePodGroupName="c", **origin))
    yield Call("PATCH", f"{base}/podgroups/leaf", {"spec": {"parentCompositePodGroupName": "d"}}, MERGE)
    yield Call("PATCH", f"{base}/podgroups/leaf", {"metadata": {"finalizers": None}}, MERGE)
    yield Call("DELETE", f"{base}/podgroups/leaf")
    yield Call("DELETE", f"{path}/c")


def _group(name: str, policy: Json | None = None, **spec: Any) -> Json:
    return named(name, {"schedulingPolicy": policy or _GANG, **spec})


def _template(name: str = "t", **spec: Any) -> Json:
    return {"name": name, "schedulingPolicy": _GANG, **spec}


def _branch(name: str, *leaves: Json) -> Json:
    return {"name": name, "schedulingPolicy": {"gang": {"minGroupCount": 1}}, "podGroupTemplates": list(leaves)}
