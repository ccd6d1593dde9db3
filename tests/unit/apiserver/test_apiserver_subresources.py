"""Binding, eviction, scale, tokens, reviews, finalize."""

from collections.abc import Callable
from typing import Any

import pytest

Json = dict[str, Any]
Api = Any
MakePod = Callable[..., Json]

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def bind(api: Api, name: str, node: str = "n1", **metadata: str) -> Any:
    body = {"metadata": {"name": name, **metadata}, "target": {"kind": "Node", "name": node}}
    return api("POST", f"{PODS}/{name}/binding", body)


def test_binding_sets_the_node_and_the_condition(api: Api, pod: MakePod) -> None:
    api.post("/api/v1/nodes", {"metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "z"}}})
    old = api.post(PODS, pod("a"))
    api.patch(f"{PODS}/a/status", {"status": {"nominatedNodeName": "n2"}})
    assert bind(api, "a", uid=old["metadata"]["uid"]).code == 201
    found = api.get(f"{PODS}/a")
    assert found["spec"]["nodeName"] == "n1"
    assert found["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z"}
    assert "nominatedNodeName" not in found["status"]
    [condition] = found["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


def test_a_pod_is_bound_once(api: Api, pod: MakePod) -> None:
    api.post(PODS, pod("a"))
    bind(api, "a", "n1")
    again = bind(api, "a", "n2")
    assert (again.code, again.body["reason"]) == (409, "Conflict")
    assert 'already assigned to node "n1"' in again.body["message"]
    assert api.get(f"{PODS}/a")["spec"]["nodeName"] == "n1"


def test_bindings_that_are_refused(api: Api, pod: MakePod) -> None:
    assert bind(api, "nobody").code == 404
    api.post(PODS, pod("a"))
    assert bind(api, "a", uid="other").code == 409
    assert bind(api, "a", resourceVersion="1").code == 409
    assert api("POST", f"{PODS}/a/binding", {"target": {}}).causes == [("FieldValueRequired", "target.name")]
    assert api("POST", f"{PODS}/a/binding", {"target": {"kind": "Moon", "name": "m"}}).code == 422
    assert api("POST", f"{PODS}/a/binding", {"metadata": {"name": "b"}, "target": {"name": "n"}}).code == 400
    api.post(PODS, pod("gated", schedulingGates=[{"name": "wait"}]))
    assert bind(api, "gated").code == 409
    leaving = pod("leaving")
    leaving["metadata"]["finalizers"] = ["example.com/hold"]
    api.post(PODS, leaving)
    api.delete(f"{PODS}/leaving")
    assert "being deleted" in bind(api, "leaving").body["message"]


def test_the_old_way_to_bind(api: Api, pod: MakePod) -> None:
    api.post(PODS, pod("a"))
    body = {"metadata": {"name": "a"}, "target": {"name": "n1"}}
    assert api("POST", "/api/v1/namespaces/default/bindings", body).code == 201
    assert api.get(f"{PODS}/a")["spec"]["nodeName"] == "n1"


def budget(allowed: int, **spec: Any) -> Json:
    selector = {"matchLabels": {"app": "web"}}
    status = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1, "observedGeneration": 1}
    return {"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": selector, **spec}, "status": status}


@pytest.fixture
def running(api: Api, pod: MakePod) -> str:
    api.post(PODS, pod("a", labels={"app": "web"}, nodeName="n", terminationGracePeriodSeconds=0))
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    api.patch(f"{PODS}/a/status", {"status": status})
    return f"{PODS}/a"


def set_budget(api: Api, made: Json) -> None:
    api.post(BUDGETS, made)
    api.patch(f"{BUDGETS}/b/status", {"status": made["status"]})


def test_eviction_respects_budgets(api: Api, running: str) -> None:
    set_budget(api, budget(0))
    refused = api("POST", f"{running}/eviction", {"metadata": {"name": "a"}})
    assert (refused.code, refused.body["reason"]) == (429, "TooManyRequests")
    assert refused.causes == [("DisruptionBudget", "")]
    api.patch(f"{BUDGETS}/b/status", {"status": {"disruptionsAllowed": 1}})
    assert api("POST", f"{running}/eviction", {"metadata": {"name": "a"}}).code == 201
    assert api("GET", running).code == 404
    status = api.get(f"{BUDGETS}/b")["status"]
    assert status["disruptionsAllowed"] == 0
    assert status["disruptedPods"].keys() == {"a"}


def test_eviction_waits_for_a_budget_to_be_counted(api: Api, running: str) -> None:
    api.post(BUDGETS, budget(5))
    answer = api("POST", f"{running}/eviction", {})
    assert answer.code == 429
    assert answer.body["details"]["retryAfterSeconds"] == 10


def test_eviction_without_a_budget(api: Api, running: str) -> None:
    assert api("POST", f"{running}/eviction", {"deleteOptions": {"dryRun": ["All"]}}).code == 201
    assert api("GET", running).code == 200
    assert api("POST", f"{running}/eviction", {}).code == 201
    assert api("GET", running).code == 404


def test_pods_that_do_not_run_need_no_budget(api: Api, pod: MakePod) -> None:
    set_budget(api, budget(0))
    api.post(PODS, pod("a", labels={"app": "web"}))
    assert api("POST", f"{PODS}/a/eviction", {}).code == 201


def test_scale(api: Api) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template, "replicas": 2}
    api.post(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})
    scale = api.get(f"{DEPLOYMENTS}/d/scale")
    assert (scale["kind"], scale["spec"], scale["status"]["selector"]) == ("Scale", {"replicas": 2}, "a=b")
    api.put(f"{DEPLOYMENTS}/d/scale", {**scale, "spec": {"replicas": 5}})
    found = api.get(f"{DEPLOYMENTS}/d")
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (5, 2)
    assert api("PUT", f"{DEPLOYMENTS}/d/scale", {**scale, "spec": {"replicas": 6}}).code == 409
    api.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 0}})
    assert api.get(f"{DEPLOYMENTS}/d")["spec"]["replicas"] == 0
    bad = api(
        "PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": -1}}, content_type="application/merge-patch+json"
    )
    assert bad.code == 422


def test_reviews(api: Api) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "create", "resource": "pods"}}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert api.post(path, review)["status"]["allowed"] is True
    who = api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})["status"]["userInfo"]
    assert who["username"] == "tester"


def test_tokens_of_service_accounts(api: Api, now: Any) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    api.post(accounts, {"metadata": {"name": "robot"}})
    answer = api.post(f"{accounts}/robot/token", {"spec": {"expirationSeconds": 600}})
    review = {"spec": {"token": answer["status"]["token"]}}
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    status = api.post(path, review)["status"]
    assert status["user"]["username"] == "system:serviceaccount:default:robot"
    now.seconds += 601
    assert api.post(path, review)["status"]["authenticated"] is False
    assert api("POST", f"{accounts}/robot/token", {"spec": {"expirationSeconds": 5}}).code == 422


def test_finalizing_a_namespace(api: Api) -> None:
    api.post("/api/v1/namespaces", {"metadata": {"name": "x"}})
    api.delete("/api/v1/namespaces/x")
    found = api.get("/api/v1/namespaces/x")
    assert found["spec"]["finalizers"] == ["kubernetes"]
    api.put("/api/v1/namespaces/x/finalize", {**found, "spec": {"finalizers": []}})
    assert api("GET", "/api/v1/namespaces/x").code == 404


def test_logs_of_pods_without_a_node(api: Api, pod: MakePod) -> None:
    api.post(PODS, pod("a"))
    assert api("GET", f"{PODS}/a/log").code == 400


def test_subresources_that_are_not_there(api: Api, pod: MakePod) -> None:
    api.post(PODS, pod("a"))
    assert api("GET", f"{PODS}/a/scale").code == 404
    assert api("GET", f"{PODS}/a/binding").code == 405
    assert api("DELETE", f"{PODS}/a/status").code == 405
