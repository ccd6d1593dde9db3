"""Groups of pods in the API server: what is served when, filled in, refused, and shown."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.apiserver.conftest import PODS, Caller, Time

from moorage.apiserver.bootstrap import bootstrap
from moorage.apiserver.registry import Clock
from moorage.apiserver.server import ApiServer, Options
from moorage.config.gates import features_of

Json = dict[str, Any]

GROUP = "/apis/scheduling.k8s.io"
BETA = f"{GROUP}/v1beta1/namespaces/default"
ALPHA = f"{GROUP}/v1alpha3/namespaces/default"
OLD = f"{GROUP}/v1alpha2/namespaces/default"
ALL_OF_137 = {
    "GenericWorkload": True,
    "TopologyAwareWorkloadScheduling": True,
    "CompositePodGroup": True,
    "PodGroupPreemptionPolicy": True,
    "DRAWorkloadResourceClaims": True,
}
GANG = {"gang": {"minCount": 3}}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.fixture
def serve(now: Time) -> Callable[..., Caller]:
    """An API server of a version, with gates turned."""

    def make(version: str = "1.37", **gates: bool) -> Caller:
        server = ApiServer(Options(clock=Clock(now), features=features_of(version, gates)))
        bootstrap(server.registry)
        return Caller(server)

    return make


@pytest.fixture
def api(serve: Callable[..., Caller]) -> Caller:
    return serve(**ALL_OF_137)


def group(name: str = "train", policy: Json | None = None, **spec: Any) -> Json:
    return {"metadata": {"name": name}, "spec": {"schedulingPolicy": policy or GANG, **spec}}


def workload(*templates: Json, **spec: Any) -> Json:
    return {"metadata": {"name": "w"}, "spec": {"podGroupTemplates": list(templates), **spec}}


def template(name: str = "t", **spec: Any) -> Json:
    return {"name": name, "schedulingPolicy": GANG, **spec}


def versions(api: Caller) -> list[str]:
    return [each["version"] for each in api.get("/apis/scheduling.k8s.io")["versions"]]


def test_groups_are_served_where_their_gates_are_on(serve: Callable[..., Caller]) -> None:
    assert versions(serve()) == ["v1"]
    assert versions(serve(GenericWorkload=True)) == ["v1", "v1beta1", "v1alpha3"]
    assert versions(serve("1.36", GenericWorkload=True)) == ["v1", "v1alpha2"]
    plain, whole = serve(GenericWorkload=True), serve(**ALL_OF_137)
    assert plain("GET", f"{ALPHA}/compositepodgroups").code == 404
    assert whole.get(f"{ALPHA}/compositepodgroups")["items"] == []


def test_a_group_is_filled_in(api: Caller) -> None:
    made = api.post(f"{BETA}/podgroups", group())
    assert made["spec"]["disruptionMode"] == {"single": {}}
    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert made["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]
    assert "status" not in made or not made["status"]


def test_a_group_has_the_priority_of_its_class(api: Caller) -> None:
    api.post(f"{GROUP}/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"})
    made = api.post(f"{BETA}/podgroups", group(priorityClassName="high"))
    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (7, "Never")
    assert api("POST", f"{BETA}/podgroups", group("b", priorityClassName="high", priority=8)).code == 403
    assert api("POST", f"{BETA}/podgroups", group("c", priorityClassName="nosuch")).code == 403


def test_both_versions_show_the_same_group(api: Caller) -> None:
    api.post(f"{ALPHA}/podgroups", group())
    beta, alpha = api.get(f"{BETA}/podgroups/train"), api.get(f"{ALPHA}/podgroups/train")
    assert (beta["apiVersion"], alpha["apiVersion"]) == ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")
    assert beta["spec"] == alpha["spec"]
    assert beta["metadata"]["uid"] == alpha["metadata"]["uid"]


def test_what_136_calls_it(serve: Callable[..., Caller]) -> None:
    api = serve("1.36", GenericWorkload=True, GangScheduling=True, WorkloadAwarePreemption=True)
    made = api.post(f"{OLD}/podgroups", group())
    assert (made["spec"]["disruptionMode"], made["spec"]["priority"]) == ("Pod", 0)
    reference = {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}
    assert api("POST", f"{OLD}/podgroups", group("a", podGroupTemplateRef=reference)).code == 403
    api.post(f"{OLD}/workloads", workload(template()))
    api.post(f"{OLD}/podgroups", group("a", podGroupTemplateRef=reference))
    reference["workload"]["podGroupTemplateName"] = "other"
    assert api("POST", f"{OLD}/podgroups", group("b", podGroupTemplateRef=reference)).code == 403
    changed = {"spec": {"schedulingPolicy": {"gang": {"minCount": 9}}}}
    assert api("PATCH", f"{OLD}/podgroups/a", changed, content_type="application/merge-patch+json").code == 422


def test_fields_behind_gates_that_are_off_are_dropped(serve: Callable[..., Caller]) -> None:
    api = serve(GenericWorkload=True)
    spec: Json = {"schedulingConstraints": {"topology": [{"key": "rack"}]}, "preemptionPolicy": "Never"}
    made = api.post(f"{BETA}/podgroups", group(**spec))
    assert made["spec"].keys() == {"schedulingPolicy", "disruptionMode", "priority"}
    old = serve("1.36", GenericWorkload=True).post(f"{OLD}/podgroups", group())
    assert "disruptionMode" not in old["spec"]
    assert "priority" not in old["spec"]


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ({"schedulingPolicy": {}}, ("FieldValueInvalid", "spec.schedulingPolicy")),
        ({"schedulingPolicy": {**GANG, "basic": {}}}, ("FieldValueInvalid", "spec.schedulingPolicy")),
        ({"schedulingPolicy": {"gang": {}}}, ("FieldValueRequired", "spec.schedulingPolicy.gang.minCount")),
        (
            {"schedulingPolicy": {"gang": {"minCount": -1}}},
            ("FieldValueInvalid", "spec.schedulingPolicy.gang.minCount"),
        ),
        ({"disruptionMode": {}}, ("FieldValueInvalid", "spec.disruptionMode")),
        ({"priority": 2_000_000_000}, ("", "")),
        ({"preemptionPolicy": "Some"}, ("", "")),
        ({"priorityClassName": "A b"}, ("", "")),
        (
            {"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}},
            ("FieldValueTooMany", "spec.schedulingConstraints.topology"),
        ),
        (
            {"schedulingConstraints": {"topology": [{"key": "a b"}]}},
            ("FieldValueInvalid", "spec.schedulingConstraints.topology[0].key"),
        ),
        ({"resourceClaims": [{"name": "a"}]}, ("FieldValueInvalid", "spec.resourceClaims[0]")),
        ({"parentCompositePodGroupName": "p"}, ("FieldValueRequired", "spec.workloadRef")),
        ({"workloadRef": {"workloadName": "w"}}, ("FieldValueRequired", "spec.workloadRef.templateName")),
    ],
)
def test_a_group_is_refused(api: Caller, spec: Json, cause: tuple[str, str]) -> None:
    answer = api(
        "POST", f"{BETA}/podgroups", group(**spec) if "schedulingPolicy" not in spec else {**group(), "spec": spec}
    )
    if not cause[0]:  # it is the admission of priorities that refuses
        assert answer.code == 403
        return
    assert answer.code == 422
    assert cause in answer.causes


def test_the_size_of_a_gang_may_change_and_nothing_else(api: Caller) -> None:
    api.post(f"{BETA}/podgroups", group())
    changed = api.patch(f"{BETA}/podgroups/train", {"spec": {"schedulingPolicy": {"gang": {"minCount": 5}}}})
    assert changed["spec"]["schedulingPolicy"]["gang"]["minCount"] == 5
    for spec, path in (
        ({"schedulingPolicy": {"gang": None, "basic": {}}}, "spec.schedulingPolicy.gang"),
        ({"disruptionMode": {"single": None, "all": {}}}, "spec.disruptionMode"),
        ({"priority": 3}, "spec.priority"),
        ({"schedulingConstraints": {"topology": [{"key": "rack"}]}}, "spec.schedulingConstraints"),
    ):
        answer = api("PATCH", f"{BETA}/podgroups/train", {"spec": spec}, content_type="application/merge-patch+json")
        assert ("FieldValueInvalid", path) in answer.causes


def test_conditions_are_whole(api: Caller) -> None:
    api.post(f"{BETA}/podgroups", group())
    condition = {
        "type": "PodGroupInitiallyScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "",
        "lastTransitionTime": "2030-01-01T00:00:00Z",
    }
    where, content_type = f"{BETA}/podgroups/train/status", "application/merge-patch+json"
    bad = api("PATCH", where, {"status": {"conditions": [{"type": "x", "status": "Maybe"}]}}, content_type=content_type)
    assert {path for _, path in bad.causes} == {
        f"status.conditions[0].{name}" for name in ("status", "lastTransitionTime", "reason")
    }
    assert shown(api) == ["train", "Gang", "<none>", "Pending"]
    api.patch(where, {"status": {"conditions": [condition]}})
    assert shown(api) == ["train", "Gang", "<none>", "Unschedulable"]
    api.patch(where, {"status": {"conditions": [{**condition, "status": "True"}]}})
    assert shown(api) == ["train", "Gang", "<none>", "Scheduled"]


def shown(api: Caller) -> list[str]:
    table = api("GET", f"{BETA}/podgroups", accept=TABLE).body
    cells: list[str] = table["rows"][0]["cells"]
    return cells[:-1]


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        (workload(), ("FieldValueInvalid", "spec")),
        (workload(template(), template()), ("FieldValueDuplicate", "spec.podGroupTemplates[1]")),
        (workload(template("A")), ("FieldValueInvalid", "spec.podGroupTemplates[0].name")),
        (workload(*(template(f"t{n}") for n in range(9))), ("FieldValueTooMany", "spec.podGroupTemplates")),
        (workload(template(priority=1), template("b")), ("FieldValueInvalid", "spec")),
        (workload(template(), controllerRef={"kind": "Job"}), ("FieldValueRequired", "spec.controllerRef.name")),
        (
            workload(compositePodGroupTemplates=[template("c")]),
            ("FieldValueInvalid", "spec.compositePodGroupTemplates[0]"),
        ),
        (
            workload(
                compositePodGroupTemplates=[
                    {**template("c"), "podGroupTemplates": [template("a")]},
                    {**template("d"), "podGroupTemplates": [template("a")]},
                ]
            ),
            ("FieldValueDuplicate", "spec.compositePodGroupTemplates[1].podGroupTemplates[0].name"),
        ),
    ],
)
def test_a_workload_is_refused(api: Caller, body: Json, cause: tuple[str, str]) -> None:
    for each in body["spec"].get("compositePodGroupTemplates", ()):
        each["schedulingPolicy"] = {"gang": {"minGroupCount": 1}}
    answer = api("POST", f"{BETA}/workloads", body)
    assert answer.code == 422
    assert cause in answer.causes


def test_templates_neither_come_nor_go(api: Caller) -> None:
    api.post(f"{BETA}/workloads", workload(template("a"), template("b")))
    for templates, path in (
        ([template("a")], "spec.podGroupTemplates"),
        ([template("a"), template("b"), template("c")], "spec.podGroupTemplates[2]"),
    ):
        answer = api(
            "PATCH",
            f"{BETA}/workloads/w",
            {"spec": {"podGroupTemplates": templates}},
            content_type="application/merge-patch+json",
        )
        assert answer.causes == [("FieldValueForbidden", path)]
    grown = [template("a"), {**template("b"), "schedulingPolicy": {"gang": {"minCount": 8}}}]
    api.patch(f"{BETA}/workloads/w", {"spec": {"podGroupTemplates": grown}})


def test_a_pod_says_which_group_it_is_in(serve: Callable[..., Caller], api: Caller, pod: Callable[..., Json]) -> None:
    member = pod("m", schedulingGroup={"podGroupName": "train"})
    assert api.post(PODS, member)["spec"]["schedulingGroup"] == {"podGroupName": "train"}
    assert "schedulingGroup" not in serve().post(PODS, member)["spec"]
    assert ("FieldValueInvalid", "spec.schedulingGroup.podGroupName") in api(
        "POST", PODS, pod("n", schedulingGroup={"podGroupName": "A b"})
    ).causes
    moved = {"spec": {"schedulingGroup": {"podGroupName": "other"}}}
    assert api("PATCH", f"{PODS}/m", moved, content_type="application/merge-patch+json").code == 422
