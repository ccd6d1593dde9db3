"""What becomes of pods on their way in: defaults, admission, validation, what may change."""

from collections.abc import Callable
from typing import Any

import pytest

Json = dict[str, Any]
Api = Any
MakePod = Callable[..., Json]

PODS = "/api/v1/namespaces/default/pods"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GPU = "example.com/gpu"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def test_defaults(api: Api, pod: MakePod) -> None:
    made = api.post(PODS, pod("a"))
    spec = made["spec"]
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["restartPolicy"] == "Always"
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["enableServiceLinks"] is True
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["metadata"]["generation"] == 1


def test_requests_follow_limits_in_pods_but_not_in_templates(api: Api, pod: MakePod) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
    made = api.post(PODS, body)
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert made["status"]["qosClass"] == "Burstable"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": body["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    made = api.post("/apis/apps/v1/namespaces/default/replicasets", {"metadata": {"name": "r"}, "spec": spec})
    assert made["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"limits": {"example.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m"}}, "Guaranteed"),
    ],
)
def test_quality_of_service(api: Api, pod: MakePod, resources: Json, expected: str) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = resources
    assert api.post(PODS, body)["status"]["qosClass"] == expected


def test_images_tagged_latest_are_always_pulled(api: Api, pod: MakePod) -> None:
    for name, image, policy in (
        ("a", "app", "Always"),
        ("b", "app:latest", "Always"),
        ("c", "host:5000/app:1", "IfNotPresent"),
        ("d", "host:5000/app", "Always"),
        ("e", "app@sha256:aa", "IfNotPresent"),
    ):
        body = pod(name)
        body["spec"]["containers"][0]["image"] = image
        assert api.post(PODS, body)["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_tolerations_of_trouble_are_added_once(api: Api, pod: MakePod) -> None:
    tolerations = api.post(PODS, pod("a"))["spec"]["tolerations"]
    assert [t["key"] for t in tolerations] == ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
    assert all(t["tolerationSeconds"] == 300 and t["effect"] == "NoExecute" for t in tolerations)
    own = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]
    assert len(api.post(PODS, pod("b", tolerations=own))["spec"]["tolerations"]) == 2
    assert len(api.post(PODS, pod("c", tolerations=[{"operator": "Exists"}]))["spec"]["tolerations"]) == 1


def test_priority_comes_from_the_class(api: Api, pod: MakePod) -> None:
    api.post(CLASSES, {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"})
    spec = api.post(PODS, pod("a", priorityClassName="high"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    assert api.post(PODS, pod("b", priorityClassName="system-node-critical"))["spec"]["priority"] == 2000001000
    unknown = api("POST", PODS, pod("c", priorityClassName="nosuch"))
    assert (unknown.code, "no PriorityClass with name nosuch" in unknown.body["message"]) == (403, True)
    assert api("POST", PODS, pod("d", priority=5)).code == 403
    assert api("POST", PODS, pod("e", priorityClassName="high", preemptionPolicy="PreemptLowerPriority")).code == 403


def test_the_default_class(api: Api, pod: MakePod) -> None:
    api.post(CLASSES, {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True})
    spec = api.post(PODS, pod("a"))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 7)
    second = api("POST", CLASSES, {"metadata": {"name": "other"}, "value": 8, "globalDefault": True})
    assert second.code == 403


def test_rules_for_priority_classes(api: Api) -> None:
    assert api("POST", CLASSES, {"metadata": {"name": "system-x"}, "value": 1}).code == 422
    assert api("POST", CLASSES, {"metadata": {"name": "x"}, "value": 1_000_000_001}).code == 422
    api.post(CLASSES, {"metadata": {"name": "x"}, "value": 1})
    changed = api("PATCH", f"{CLASSES}/x", {"value": 2}, content_type="application/merge-patch+json")
    assert (changed.code, changed.causes) == (422, [("FieldValueForbidden", "value")])


def test_label_keys_are_merged_into_selectors(api: Api, pod: MakePod) -> None:
    selector: Json = {"matchLabels": {"app": "x"}}
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        "matchLabelKeys": ["hash", "absent"],
    }
    term = {
        "topologyKey": "zone",
        "labelSelector": selector,
        "matchLabelKeys": ["hash"],
        "mismatchLabelKeys": ["tenant"],
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    labels = {"app": "x", "hash": "1", "tenant": "t"}
    spec = api.post(PODS, pod("a", labels=labels, topologySpreadConstraints=[constraint], affinity=affinity))["spec"]
    same = {"key": "hash", "operator": "In", "values": ["1"]}
    spread = spec["topologySpreadConstraints"][0]["labelSelector"]
    assert spread == {"matchLabels": {"app": "x"}, "matchExpressions": [same]}
    [term] = spec["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    other = {"key": "tenant", "operator": "NotIn", "values": ["t"]}
    assert term["labelSelector"]["matchExpressions"] == [same, other]


def test_gates_hold_a_pod_back_and_say_so(api: Api, pod: MakePod) -> None:
    made = api.post(PODS, pod("a", schedulingGates=[{"name": "wait"}, {"name": "more"}]))
    [condition] = made["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "SchedulingGated")
    made["spec"]["schedulingGates"] = [{"name": "more"}]
    made["spec"]["nodeSelector"] = {"a": "b"}
    made = api.put(f"{PODS}/a", made)
    assert made["metadata"]["generation"] == 2
    added = api("PUT", f"{PODS}/a", {**made, "spec": {**made["spec"], "schedulingGates": [{"name": "new"}]}})
    assert added.causes == [("FieldValueForbidden", "spec.schedulingGates[0].name")]
    other = api("PUT", f"{PODS}/a", {**made, "spec": {**made["spec"], "nodeSelector": {"a": "c"}}})
    assert other.causes == [("FieldValueInvalid", "spec.nodeSelector")]
    made["spec"]["schedulingGates"] = []
    free = api.put(f"{PODS}/a", made)
    late = api("PUT", f"{PODS}/a", {**free, "spec": {**free["spec"], "nodeSelector": {"a": "b", "c": "d"}}})
    assert late.causes == [("FieldValueForbidden", "spec")]


def test_gated_pods_cannot_have_a_node(api: Api, pod: MakePod) -> None:
    answer = api("POST", PODS, pod("a", schedulingGates=[{"name": "wait"}], nodeName="n"))
    assert answer.causes == [("FieldValueForbidden", "spec.nodeName")]


def test_what_may_change_in_a_pod(api: Api, pod: MakePod) -> None:
    made = api.post(PODS, pod("a"))

    def changed(**spec: Any) -> Any:
        current = api.get(f"{PODS}/a")
        return api("PUT", f"{PODS}/a", {**current, "spec": {**current["spec"], **spec}})

    image = {**made["spec"]["containers"][0], "image": "example/app:2"}
    assert changed(containers=[image]).body["metadata"]["generation"] == 2
    more = [*made["spec"]["tolerations"], {"key": "x", "operator": "Exists"}]
    assert changed(tolerations=more).code == 200
    assert changed(activeDeadlineSeconds=50).code == 200
    assert changed(activeDeadlineSeconds=60).causes == [("FieldValueInvalid", "spec.activeDeadlineSeconds")]
    fewer = changed(tolerations=made["spec"]["tolerations"])
    assert fewer.causes == [("FieldValueForbidden", "spec.tolerations")]
    assert changed(nodeName="n1").causes == [("FieldValueForbidden", "spec")]
    assert changed(containers=[image, {**image, "name": "more"}]).causes == [("FieldValueForbidden", "spec.containers")]
    assert changed(priority=9).causes == [("FieldValueForbidden", "spec")]


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        ({"containers": []}, [("FieldValueRequired", "spec.containers")]),
        (
            {"containers": [{"name": "A_b"}]},
            [("FieldValueInvalid", "spec.containers[0].name"), ("FieldValueRequired", "spec.containers[0].image")],
        ),
        ({"restartPolicy": "Maybe"}, [("FieldValueNotSupported", "spec.restartPolicy")]),
        ({"nodeName": "Bad Name"}, [("FieldValueInvalid", "spec.nodeName")]),
        ({"nodeSelector": {"-a": "b"}}, [("FieldValueInvalid", "spec.nodeSelector")]),
        ({"tolerations": [{"operator": "Equal"}]}, [("FieldValueInvalid", "spec.tolerations[0].operator")]),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "effect": "Never"}]},
            [("FieldValueNotSupported", "spec.tolerations[0].effect")],
        ),
        ({"activeDeadlineSeconds": 0}, [("FieldValueInvalid", "spec.activeDeadlineSeconds")]),
        ({"volumes": [{"name": "v"}, {"name": "v"}]}, [("FieldValueDuplicate", "spec.volumes[1].name")]),
        ({"schedulingGates": [{"name": "a"}, {"name": "a"}]}, [("FieldValueDuplicate", "spec.schedulingGates[1]")]),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]},
            [("FieldValueInvalid", "spec.topologySpreadConstraints[0].maxSkew")],
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "x"}]},
            [("FieldValueNotSupported", "spec.topologySpreadConstraints[0].whenUnsatisfiable")],
        ),
        (
            {
                "affinity": {
                    "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
                }
            },
            [("FieldValueRequired", f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms")],
        ),
        (
            {
                "affinity": {
                    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a b"}]}
                }
            },
            [("FieldValueInvalid", f"spec.affinity.podAntiAffinity.{REQUIRED}[0].topologyKey")],
        ),
        ({"resourceClaims": [{"name": "c"}]}, [("FieldValueInvalid", "spec.resourceClaims[0]")]),
    ],
)
def test_faults_are_found_at_their_fields(api: Api, pod: MakePod, spec: Json, causes: list[tuple[str, str]]) -> None:
    answer = api("POST", PODS, pod("a", **spec))
    assert answer.code == 422
    assert answer.causes == causes
    assert answer.body["details"]["kind"] == "Pod"


@pytest.mark.parametrize(
    ("resources", "causes"),
    [
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, [("FieldValueInvalid", "requests")]),
        ({"requests": {"cpu": "-1"}}, [("FieldValueInvalid", "requests[cpu]")]),
        ({"requests": {"gpu": "1"}}, [("FieldValueInvalid", "requests[gpu]")]),
        ({"requests": {"example.com/gpu": "1"}}, [("FieldValueRequired", "limits")]),
        (
            {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}},
            [("FieldValueInvalid", "requests")],
        ),
        ({"limits": {"example.com/gpu": "500m"}}, [("FieldValueInvalid", "limits[example.com/gpu]")] * 1),
    ],
)
def test_faults_of_resources(api: Api, pod: MakePod, resources: Json, causes: list[tuple[str, str]]) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = resources
    answer = api("POST", PODS, body)
    assert answer.code == 422
    prefix = "spec.containers[0].resources."
    assert answer.causes[: len(causes)] == [(reason, prefix + field) for reason, field in causes]


def test_garbage_in_quantities_is_a_bad_request(api: Api, pod: MakePod) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "lots"}}
    answer = api("POST", PODS, body)
    assert answer.code == 400
    assert "quantities must match the regular expression" in answer.body["message"]


def test_limit_ranges(api: Api, pod: MakePod) -> None:
    rule = {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "250m"}, "max": {"cpu": "2"}}
    api.post("/api/v1/namespaces/default/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [rule]}})
    made = api.post(PODS, pod("a"))["spec"]["containers"][0]["resources"]
    assert made == {"limits": {"cpu": "1"}, "requests": {"cpu": "250m"}}
    body = pod("b")
    body["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "3"}}
    answer = api("POST", PODS, body)
    assert answer.code == 403
    assert "maximum cpu usage per Container is 2, but limit is 3" in answer.body["message"]


def test_runtime_classes_add_their_overhead(api: Api, pod: MakePod) -> None:
    runtime = {"metadata": {"name": "vm"}, "handler": "vm", "overhead": {"podFixed": {"memory": "64Mi"}}}
    api.post("/apis/node.k8s.io/v1/runtimeclasses", {**runtime, "scheduling": {"nodeSelector": {"vm": "yes"}}})
    spec = api.post(PODS, pod("a", runtimeClassName="vm"))["spec"]
    assert (spec["overhead"], spec["nodeSelector"]) == ({"memory": "64Mi"}, {"vm": "yes"})
    assert api("POST", PODS, pod("b", runtimeClassName="nosuch")).code == 403


def test_status_keeps_what_must_not_change(api: Api, pod: MakePod) -> None:
    api.post(PODS, pod("a", nodeName="n"))
    found = api.patch(f"{PODS}/a/status", {"status": {"phase": "Running", "qosClass": None}})
    assert found["status"]["qosClass"] == "BestEffort"
    merge = "application/merge-patch+json"
    assert api("PATCH", f"{PODS}/a/status", {"status": {"qosClass": "Burstable"}}, content_type=merge).code == 422
    nominated = api("PATCH", f"{PODS}/a/status", {"status": {"nominatedNodeName": "x"}}, content_type=merge)
    assert nominated.causes == [("FieldValueForbidden", "status.nominatedNodeName")]
