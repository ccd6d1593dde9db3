"""Create, get, update, delete: names, versions, conflicts, dry runs, preconditions, finalizers."""

from collections.abc import Callable
from typing import Any

import pytest

Json = dict[str, Any]
Api = Any
MakePod = Callable[..., Json]

PODS = "/api/v1/namespaces/default/pods"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def configmap(name: str = "a", **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_create_sets_what_only_the_server_may_set(api: Api) -> None:
    body = configmap(x="1")
    body["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7}
    made = api.post(CONFIGMAPS, body)["metadata"]
    assert made["namespace"] == "default"
    assert made["uid"] != "mine"
    assert made["creationTimestamp"] == "2027-01-15T08:00:00Z"
    assert "generation" not in made
    assert api.get(f"{CONFIGMAPS}/a")["metadata"] == made


def test_create_twice_conflicts(api: Api) -> None:
    api.post(CONFIGMAPS, configmap())
    answer = api("POST", CONFIGMAPS, configmap())
    assert (answer.code, answer.body["reason"]) == (409, "AlreadyExists")
    assert answer.body["message"] == 'configmaps "a" already exists'


def test_generate_name(api: Api) -> None:
    body = {"metadata": {"generateName": "job-"}}
    names = {api.post(CONFIGMAPS, body)["metadata"]["name"] for _ in range(20)}
    assert len(names) == 20
    assert all(len(name) == 9 and name.startswith("job-") for name in names)


def test_a_resource_version_cannot_be_chosen(api: Api) -> None:
    body = configmap()
    body["metadata"]["resourceVersion"] = "5"
    assert api("POST", CONFIGMAPS, body).code == 400


def test_the_namespace_must_be_there_and_agree(api: Api) -> None:
    missing = api("POST", "/api/v1/namespaces/nowhere/configmaps", configmap())
    assert (missing.code, missing.body["message"]) == (404, 'namespaces "nowhere" not found')
    body = configmap()
    body["metadata"]["namespace"] = "kube-system"
    assert api("POST", CONFIGMAPS, body).code == 400


def test_a_terminating_namespace_takes_nothing(api: Api) -> None:
    api.post("/api/v1/namespaces", {"metadata": {"name": "going"}})
    assert api.delete("/api/v1/namespaces/going")["status"]["phase"] == "Terminating"
    answer = api("POST", "/api/v1/namespaces/going/configmaps", configmap())
    assert answer.code == 403
    assert answer.causes == [("NamespaceTerminating", "metadata.namespace")]


def test_some_namespaces_never_go(api: Api) -> None:
    assert api("DELETE", "/api/v1/namespaces/default").code == 403


def test_get_of_nothing(api: Api) -> None:
    answer = api("GET", "/apis/apps/v1/namespaces/default/deployments/x")
    assert answer.code == 404
    assert answer.body["message"] == 'deployments.apps "x" not found'
    assert answer.body["details"] == {"name": "x", "group": "apps", "kind": "deployments"}
    assert api("GET", "/api/v1/namespaces/default/nosuch").code == 404
    assert api("GET", "/apis/nosuch/v1/things").code == 404


def test_update_needs_the_version_it_was_made_from(api: Api) -> None:
    old = api.post(CONFIGMAPS, configmap(x="1"))
    new = api.put(f"{CONFIGMAPS}/a", {**old, "data": {"x": "2"}})
    assert int(new["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"])
    answer = api("PUT", f"{CONFIGMAPS}/a", {**old, "data": {"x": "3"}})
    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert "the object has been modified" in answer.body["message"]
    unconditional = {**old, "metadata": {"name": "a"}, "data": {"x": "4"}}
    assert api.put(f"{CONFIGMAPS}/a", unconditional)["data"] == {"x": "4"}


def test_update_of_another_object_of_the_same_name_conflicts(api: Api) -> None:
    old = api.post(CONFIGMAPS, configmap())
    api.delete(f"{CONFIGMAPS}/a")
    api.post(CONFIGMAPS, configmap())
    del old["metadata"]["resourceVersion"]
    answer = api("PUT", f"{CONFIGMAPS}/a", old)
    assert answer.code == 409
    assert "UID in precondition" in answer.body["message"]


def test_an_update_that_changes_nothing_writes_nothing(api: Api) -> None:
    old = api.post(CONFIGMAPS, configmap(x="1"))
    assert api.put(f"{CONFIGMAPS}/a", old)["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]


def test_update_must_be_about_the_object_on_the_path(api: Api) -> None:
    api.post(CONFIGMAPS, configmap())
    assert api("PUT", f"{CONFIGMAPS}/a", configmap("b")).code == 400
    assert api("PUT", f"{CONFIGMAPS}/b", configmap("b")).code == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "json parse error"),
        (b"[]", "not an object"),
        (b"\xff\xfe", "json parse error"),
        (b'{"kind": "Secret"}', "cannot be handled as a ConfigMap"),
        (b'{"apiVersion": "apps/v1"}', 'no kind "ConfigMap" is registered for version "apps/v1"'),
        (b'{"metadata": 5}', "cannot unmarshal number into Go struct field ConfigMap.metadata"),
        (b'{"data": {"a": 5}}', "cannot unmarshal number into Go struct field ConfigMap.data of type string"),
    ],
)
def test_bodies_that_make_no_sense(api: Api, body: bytes, message: str) -> None:
    answer = api("POST", CONFIGMAPS, body)
    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    assert message in answer.body["message"]


def test_unknown_fields_are_dropped_mentioned_or_refused(api: Api) -> None:
    body = {**configmap(), "nosuch": 1, "metadata": {"name": "a", "labls": {}}}
    strict = api("POST", CONFIGMAPS, body, fieldValidation="Strict")
    assert strict.code == 400
    assert 'unknown field "metadata.labls", unknown field "nosuch"' in strict.body["message"]
    warned = api("POST", CONFIGMAPS, body)
    assert warned.warnings == ['unknown field "metadata.labls"', 'unknown field "nosuch"']
    assert "nosuch" not in warned.body
    silent = api("POST", CONFIGMAPS, {**body, "metadata": {"name": "b"}}, fieldValidation="Ignore")
    assert silent.warnings == []


def test_yaml_in_and_out(api: Api) -> None:
    made = api("POST", CONFIGMAPS, b"metadata: {name: a}\ndata: {x: 'yes'}", content_type="application/yaml")
    assert made.body["data"] == {"x": "yes"}
    shown = api("GET", f"{CONFIGMAPS}/a", accept="application/yaml")
    assert b"kind: ConfigMap" in shown.body


def test_formats_we_do_not_speak(api: Api) -> None:
    assert api("POST", CONFIGMAPS, b"<a/>", content_type="text/xml").code == 415
    assert api("GET", CONFIGMAPS, accept="text/html").code == 406
    assert api("GET", CONFIGMAPS, accept="application/vnd.kubernetes.protobuf, */*").code == 200


def test_dry_runs_change_nothing(api: Api) -> None:
    assert api.post(CONFIGMAPS, configmap(), dryRun="All")["metadata"]["uid"]
    assert api("GET", f"{CONFIGMAPS}/a").code == 404
    api.post(CONFIGMAPS, configmap(x="1"))
    assert api.patch(f"{CONFIGMAPS}/a", {"data": {"x": "2"}}, dryRun="All")["data"] == {"x": "2"}
    api.delete(f"{CONFIGMAPS}/a", dryRun="All")
    assert api.get(f"{CONFIGMAPS}/a")["data"] == {"x": "1"}
    assert api("POST", CONFIGMAPS, configmap("b"), dryRun="Some").code == 400


def test_methods_that_are_not_there(api: Api) -> None:
    assert api("POST", f"{CONFIGMAPS}/a", configmap()).code == 405
    assert api("PUT", CONFIGMAPS, configmap()).code == 405
    assert api("DELETE", "/api/v1/namespaces").code == 405
    assert api("GET", "/apis/authentication.k8s.io/v1/tokenreviews").code == 405
    assert api("BREW", CONFIGMAPS).code == 405


def test_delete_preconditions(api: Api) -> None:
    made = api.post(CONFIGMAPS, configmap())["metadata"]
    wrong = api("DELETE", f"{CONFIGMAPS}/a", {"preconditions": {"uid": "other"}})
    assert (wrong.code, wrong.body["reason"]) == (409, "Conflict")
    stale = api("DELETE", f"{CONFIGMAPS}/a", {"preconditions": {"resourceVersion": "1"}})
    assert stale.code == 409
    done = api.delete(f"{CONFIGMAPS}/a", {"preconditions": {"uid": made["uid"]}})
    assert done["status"] == "Success"
    assert done["details"] == {"name": "a", "kind": "configmaps", "uid": made["uid"]}


def test_bad_delete_options(api: Api) -> None:
    api.post(CONFIGMAPS, configmap())
    assert api("DELETE", f"{CONFIGMAPS}/a", {"propagationPolicy": "Sideways"}).code == 422
    both = {"propagationPolicy": "Orphan", "orphanDependents": True}
    assert api("DELETE", f"{CONFIGMAPS}/a", both).code == 422
    assert api("DELETE", f"{CONFIGMAPS}/a", {"gracePeriodSeconds": "soon"}).code == 400


def test_finalizers_hold_an_object(api: Api) -> None:
    body = configmap()
    body["metadata"]["finalizers"] = ["example.com/hold"]
    api.post(CONFIGMAPS, body)
    marked = api.delete(f"{CONFIGMAPS}/a")
    assert "deletionTimestamp" in marked["metadata"]
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    refused = api("PATCH", f"{CONFIGMAPS}/a", more, content_type="application/merge-patch+json")
    assert (refused.code, refused.causes) == (422, [("FieldValueForbidden", "metadata.finalizers")])
    api.patch(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}})
    assert api("GET", f"{CONFIGMAPS}/a").code == 404


def test_propagation_becomes_finalizers(api: Api) -> None:
    for policy, finalizer in (("Foreground", "foregroundDeletion"), ("Orphan", "orphan")):
        api.post(CONFIGMAPS, configmap(policy.lower()))
        marked = api.delete(f"{CONFIGMAPS}/{policy.lower()}", {"propagationPolicy": policy})
        assert marked["metadata"]["finalizers"] == [finalizer]


def test_pods_that_run_end_gracefully(api: Api, pod: MakePod, now: Any) -> None:
    api.post(PODS, pod("a", nodeName="n"))
    marked = api.delete(f"{PODS}/a")
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
    assert marked["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:30Z"
    sooner = api.delete(f"{PODS}/a", {"gracePeriodSeconds": 5})
    assert sooner["metadata"]["deletionTimestamp"] == "2027-01-15T08:00:05Z"
    later = api.delete(f"{PODS}/a", {"gracePeriodSeconds": 60})
    assert later["metadata"]["deletionGracePeriodSeconds"] == 5
    api.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
    assert api("GET", f"{PODS}/a").code == 404


def test_pods_that_do_not_run_end_at_once(api: Api, pod: MakePod) -> None:
    api.post(PODS, pod("waiting"))
    api.delete(f"{PODS}/waiting")
    api.post(PODS, pod("done", nodeName="n"))
    api.patch(f"{PODS}/done/status", {"status": {"phase": "Succeeded"}})
    api.delete(f"{PODS}/done")
    assert api.get(PODS)["items"] == []


def test_deletecollection_takes_what_is_selected(api: Api, pod: MakePod) -> None:
    api.post(PODS, pod("a", labels={"app": "x"}))
    api.post(PODS, pod("b", labels={"app": "y"}))
    gone = api.delete(PODS, labelSelector="app=x")
    assert [item["metadata"]["name"] for item in gone["items"]] == ["a"]
    assert [item["metadata"]["name"] for item in api.get(PODS)["items"]] == ["b"]


def test_generations_count_changes_of_the_spec(api: Api) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    assert api.post(path, {"metadata": {"name": "d"}, "spec": spec})["metadata"]["generation"] == 1
    assert api.patch(f"{path}/d", {"metadata": {"labels": {"x": "y"}}})["metadata"]["generation"] == 1
    assert api.patch(f"{path}/d", {"spec": {"replicas": 3}})["metadata"]["generation"] == 2
    assert api.patch(f"{path}/d/status", {"status": {"replicas": 3}})["metadata"]["generation"] == 2


def test_status_and_spec_are_written_apart(api: Api, pod: MakePod) -> None:
    made = api.post(PODS, {**pod("a"), "status": {"phase": "Running"}})
    assert made["status"]["phase"] == "Pending"
    both = {"spec": {"activeDeadlineSeconds": 5}, "status": {"phase": "Running"}}
    changed = api.patch(f"{PODS}/a/status", both)
    assert (changed["status"]["phase"], changed["spec"].get("activeDeadlineSeconds")) == ("Running", None)
    changed = api.patch(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 5}, "status": {"phase": "Failed"}})
    assert (changed["status"]["phase"], changed["spec"]["activeDeadlineSeconds"]) == ("Running", 5)


def test_quantities_and_times_become_canonical(api: Api, pod: MakePod) -> None:
    body = pod("a")
    requests = {"cpu": "0.5", "memory": "1024Mi", "ephemeral-storage": 2000}
    body["spec"]["containers"][0]["resources"] = {"requests": requests}
    made = api.post(PODS, body)["spec"]["containers"][0]["resources"]["requests"]
    assert made == {"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "2k"}
    lease = {"metadata": {"name": "l"}, "spec": {"renewTime": "2026-01-01T12:00:00.5+02:00"}}
    made = api.post("/apis/coordination.k8s.io/v1/namespaces/default/leases", lease)
    assert made["spec"]["renewTime"] == "2026-01-01T10:00:00.500000Z"


def test_events_are_one_thing_under_two_names(api: Api) -> None:
    body = {
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
        "note": "hello",
        "reportingController": "me",
        "reportingInstance": "me-1",
        "action": "Greeting",
        "reason": "Greeted",
        "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    }
    made = api.post("/apis/events.k8s.io/v1/namespaces/default/events", body)
    assert (made["apiVersion"], made["note"]) == ("events.k8s.io/v1", "hello")
    core = api.get("/api/v1/namespaces/default/events/e")
    assert (core["apiVersion"], core["message"], core["involvedObject"]["name"]) == ("v1", "hello", "p")
    assert core["reportingComponent"] == "me"
    found = api.get("/apis/events.k8s.io/v1/events", fieldSelector="regarding.name=p")
    assert [item["note"] for item in found["items"]] == ["hello"]
    assert api.get("/api/v1/events", fieldSelector="involvedObject.name=q")["items"] == []
    refused = api("POST", "/apis/events.k8s.io/v1/namespaces/kube-public/events", {"metadata": {"name": "e"}})
    assert ("FieldValueRequired", "eventTime") in refused.causes


def test_an_update_of_a_lease_that_is_not_there_creates_it(api: Api) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
    body = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    assert api("PUT", path, body).code == 201
    assert api("PUT", path, body).code == 200


def test_what_is_always_written_is_there_if_only_empty(api: Api) -> None:
    node = api.post("/api/v1/nodes", {"metadata": {"name": "n"}})
    assert node["spec"] == {}
    assert node["status"]["nodeInfo"]["kubeletVersion"] == ""
    patch = [{"op": "add", "path": "/spec/unschedulable", "value": True}]
    assert api.patch("/api/v1/nodes/n", patch, "application/json-patch+json")["spec"] == {"unschedulable": True}


def test_what_is_empty_and_need_not_be_written_is_not(api: Api, pod: MakePod) -> None:
    made = api.post(PODS, pod("a", hostNetwork=False, nodeSelector={}, schedulingGates=[], hostname=""))
    assert not made["spec"].keys() & {"hostNetwork", "nodeSelector", "schedulingGates", "hostname"}
