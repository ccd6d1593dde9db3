"""Requests whose answers are compared: the embedded API server's with kube-apiserver's.

Each is a method, a path below the test's namespace or from the root, and a body. They run in order, on both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True)
class Call:
    """One request. `{ns}` in a path stands for the namespace of the test."""

    method: str
    path: str
    body: Any = None
    content_type: str = "application/json"
    query: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.path} {str(self.body)[:80]}"


PODS = "/api/v1/namespaces/{ns}/pods"
CONFIGMAPS = "/api/v1/namespaces/{ns}/configmaps"
SERVICES = "/api/v1/namespaces/{ns}/services"
CLAIMS = "/api/v1/namespaces/{ns}/persistentvolumeclaims"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
BUDGETS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
JOBS = "/apis/batch/v1/namespaces/{ns}/jobs"
EVENTS = "/api/v1/namespaces/{ns}/events"
CONTAINER: Json = {"name": "c", "image": "i:1"}
TEMPLATE: Json = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
WORKLOAD: Json = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}


def named(name: str, spec: Json | None = None, **more: Any) -> Json:
    return {"metadata": {"name": name}, **({} if spec is None else {"spec": spec}), **more}


def pod(name: str, **spec: Any) -> Json:
    # Named, since kube-apiserver runs here without the admission that would name it.
    return named(name, {"containers": [CONTAINER], "serviceAccountName": "somebody", **spec})


def resources(name: str, **amounts: Any) -> Json:
    return pod(name, containers=[{**CONTAINER, "resources": amounts}])


def pods() -> Iterator[Call]:
    yield Call("POST", PODS, pod("a"))
    yield Call("POST", PODS, pod("a"))
    yield Call("GET", f"{PODS}/missing")
    for spec in bad_specs():
        yield Call("POST", PODS, pod("bad", **spec))
    for number, text in enumerate(("0.5", "1000m", "1024Mi", "1.5Gi", "1e3", "2000", "12e6", "5E", "1000Mi", "2048")):
        yield Call("POST", PODS, resources(f"q{number}", requests={"cpu": text}))
    yield Call("POST", PODS, resources("bad", requests={"cpu": "2"}, limits={"cpu": "1"}))
    yield Call("POST", PODS, resources("bad", requests={"cpu": "-1"}))
    yield Call("POST", PODS, resources("bad", requests={"gpu": "1"}))
    yield Call("POST", PODS, resources("bad", requests={"example.com/gpu": "1"}))
    yield Call("POST", PODS, resources("bad", limits={"example.com/gpu": "500m"}))
    yield Call("POST", PODS, resources("fine", limits={"cpu": "1", "memory": "1Gi"}, requests={"cpu": "100u"}))
    yield Call(
        "POST", PODS, pod("host", hostNetwork=True, containers=[{**CONTAINER, "ports": [{"containerPort": 80}]}])
    )
    yield Call("POST", PODS, pod("critical", priorityClassName="system-node-critical"))
    yield from pod_changes()


def bad_specs() -> Iterator[Json]:
    yield {"containers": []}
    yield {"containers": [{"name": "A_b"}]}
    yield {"restartPolicy": "X", "dnsPolicy": "Y"}
    yield {"priority": "x"}
    yield {"activeDeadlineSeconds": 0}
    yield {"nodeName": "A B"}
    yield {"priorityClassName": "nosuch"}
    yield {"priority": 5}
    yield {"preemptionPolicy": "Never"}
    yield {
        "tolerations": [
            {"key": "a", "operator": "Exists", "value": "x"},
            {"operator": "Equal"},
            {"key": "a", "effect": "X"},
        ]
    }
    yield {"nodeSelector": {"c": "d e"}}
    yield {"schedulingGates": [{"name": "a"}, {"name": "a"}]}
    yield {"schedulingGates": [{"name": "a"}], "nodeName": "n"}
    yield {"volumes": [{"name": "v"}, {"name": "v"}, {"name": ""}, {"name": "y", "persistentVolumeClaim": {}}]}
    yield {"resourceClaims": [{"name": "c"}]}
    spread = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}
    yield {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "x", "minDomains": 0}]}
    yield {"topologySpreadConstraints": [{**spread, "minDomains": 2, "nodeTaintsPolicy": "q", "matchLabelKeys": ["a"]}]}
    yield {"topologySpreadConstraints": [spread, spread]}
    expressions = [{"key": "a", "operator": "In"}, {"key": "b", "operator": "Gt", "values": ["x", "y"]}]
    preference = {"matchExpressions": expressions, "matchFields": [{"key": "x", "operator": "In", "values": ["a"]}]}
    node_affinity = {REQUIRED: {"nodeSelectorTerms": []}, PREFERRED: [{"weight": 0, "preference": preference}]}
    yield {"affinity": {"nodeAffinity": node_affinity}}
    term = {
        "topologyKey": "a b",
        "namespaces": ["X"],
        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]},
    }
    weighted = {"topologyKey": "z", "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"], "labelSelector": {}}
    yield {"affinity": {"podAffinity": {REQUIRED: [term], PREFERRED: [{"weight": 101, "podAffinityTerm": weighted}]}}}


def pod_changes() -> Iterator[Call]:
    yield Call("POST", PODS, pod("gated", schedulingGates=[{"name": "g"}]))
    yield Call("POST", f"{PODS}/gated/binding", {"metadata": {"name": "gated"}, "target": {"name": "n"}})
    for spec in (
        {"schedulingGates": [{"name": "g"}, {"name": "h"}]},
        {"nodeSelector": {"a": "b"}},
        {"nodeSelector": {"a": "c"}},
    ):
        yield Call("PATCH", f"{PODS}/gated", {"spec": spec}, MERGE)
    yield Call("PATCH", f"{PODS}/gated", {"spec": {"schedulingGates": []}}, MERGE)
    yield Call("PATCH", f"{PODS}/gated", {"spec": {"nodeSelector": {"a": "c"}}}, MERGE)
    yield Call("POST", f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}})
    yield Call("POST", f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n2"}})
    yield Call("POST", f"{PODS}/missing/binding", {"metadata": {"name": "missing"}, "target": {"name": "n2"}})
    changes: list[Json] = [
        {"nodeName": "n2"},
        {"activeDeadlineSeconds": 5},
        {"activeDeadlineSeconds": 6},
        {"tolerations": []},
    ]
    for spec in changes:
        yield Call("PATCH", f"{PODS}/a", {"spec": spec}, MERGE)
    yield Call("PATCH", f"{PODS}/a", {"spec": {"containers": [{"name": "c", "image": "j:2"}]}}, STRATEGIC)
    yield Call("PATCH", f"{PODS}/a", [{"op": "remove", "path": "/spec/nosuch"}], JSON_PATCH)
    yield Call("PATCH", f"{PODS}/a", {"metadata": {"name": "b"}}, MERGE)
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    yield Call("PATCH", f"{PODS}/a/status", {"status": ready}, STRATEGIC)
    yield Call("PATCH", f"{PODS}/a/status", {"status": {"qosClass": "Guaranteed"}}, MERGE)
    yield Call("DELETE", f"{PODS}/a", {"preconditions": {"uid": "x"}})
    yield Call("DELETE", f"{PODS}/a")
    yield Call("DELETE", f"{PODS}/a", query="gracePeriodSeconds=0")
    yield Call("DELETE", f"{PODS}/gated")


def workloads() -> Iterator[Call]:
    for kind in ("deployments", "replicasets", "daemonsets", "statefulsets"):
        path = f"/apis/apps/v1/namespaces/{{ns}}/{kind}"
        yield Call("POST", path, named("w", WORKLOAD))
        yield Call("POST", path, named("bad", {**WORKLOAD, "selector": {"matchLabels": {"x": "y"}}}))
        yield Call("POST", path, named("bad", {**WORKLOAD, "selector": {}}))
        never = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
        yield Call("POST", path, named("bad", {**WORKLOAD, "template": never}))
        image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}}
        yield Call("PATCH", f"{path}/w", image, STRATEGIC)
        yield Call("PATCH", f"{path}/w/status", {"status": {"observedGeneration": 1}}, MERGE)
        if kind != "daemonsets":
            yield Call("GET", f"{path}/w/scale")
            yield Call("PATCH", f"{path}/w/scale", {"spec": {"replicas": 4}}, MERGE)
        yield Call("DELETE", f"{path}/w")
    job = {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}
    yield Call("POST", JOBS, named("j", job))
    yield Call("POST", JOBS, named("bad", {"template": TEMPLATE}))
    yield Call("POST", JOBS, named("bad", {**job, "completions": -1, "parallelism": -1, "backoffLimit": -1}))
    yield Call("PATCH", f"{JOBS}/j", {"spec": {"completions": 5}}, MERGE)
    yield Call("PATCH", f"{JOBS}/j", {"spec": {"parallelism": 5, "suspend": True}}, MERGE)


def others() -> Iterator[Call]:
    yield Call("POST", CONFIGMAPS, named("c", data={"a": "b"}, binaryData={"x": "YQ=="}))
    yield Call("POST", CONFIGMAPS, named("bad", data={"a b": "c"}))
    yield Call("POST", CONFIGMAPS, named("fixed", data={"x": "y"}, immutable=True))
    yield Call("PATCH", f"{CONFIGMAPS}/fixed", {"data": {"x": "z"}}, MERGE)
    yield Call("DELETE", f"{CONFIGMAPS}/c")
    yield Call("POST", SERVICES, named("s", {"ports": [{"port": 80}]}))
    yield Call("POST", SERVICES, named("bad", {}))
    yield Call("POST", SERVICES, named("bad", {"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}))
    yield Call("POST", SERVICES, named("named", {"type": "ExternalName", "externalName": "x.y"}))
    yield Call("PATCH", f"{SERVICES}/s", {"spec": {"ports": [{"port": 81, "targetPort": 8080}]}}, STRATEGIC)
    yield Call("DELETE", f"{SERVICES}/s")
    yield Call("POST", CLAIMS, named("bad", {}))
    yield Call("POST", LEASES, named("l", {"holderIdentity": "x", "renewTime": "2026-01-01T00:00:00.123456Z"}))
    yield Call("POST", LEASES, named("bad", {"leaseDurationSeconds": 0, "leaseTransitions": -1}))
    yield Call("PUT", f"{LEASES}/new", named("new", {"holderIdentity": "x"}))
    yield Call("POST", BUDGETS, named("b", {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}))
    yield Call("POST", EVENTS, named("bad", reason="x"))
    yield Call("POST", "/api/v1/nodes", named("{ns}", status={"capacity": {"cpu": "4", "memory": "8Gi"}}))
    yield Call("PATCH", "/api/v1/nodes/{ns}", {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, MERGE)
    yield Call("DELETE", "/api/v1/nodes/{ns}")
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    yield Call("POST", classes, named("{ns}", value=5))
    yield Call("POST", classes, named("system-x", value=5))
    yield Call("PATCH", f"{classes}/{{ns}}", {"value": 6}, MERGE)
    yield Call("DELETE", f"{classes}/{{ns}}")
    yield Call("POST", "/api/v1/namespaces/nosuch/pods", pod("x"))
    yield Call("GET", PODS, query="fieldSelector=spec.nosuch%3D1")
    yield Call("GET", PODS, query="resourceVersionMatch=Exact")


def applies() -> Iterator[Call]:
    def apply(manager: str, data: Json, *, force: bool = False) -> Call:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data}
        query = f"fieldManager={manager}{'&force=true' if force else ''}"
        return Call("PATCH", f"{CONFIGMAPS}/applied", body, APPLY, query)

    yield apply("m", {"a": "1", "b": "2"})
    yield apply("m", {"a": "1"})
    yield apply("n", {"a": "2"})
    yield apply("n", {"a": "2"}, force=True)
    yield apply("n", {"a": "1", "c": "3"})
    yield apply("m", {})
    yield Call("GET", f"{CONFIGMAPS}/applied")
