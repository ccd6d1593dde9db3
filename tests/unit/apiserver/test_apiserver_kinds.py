"""Kinds other than pods: their defaults, rules and allocations."""

from typing import Any

import pytest

Json = dict[str, Any]
Api = Any

MERGE = "application/merge-patch+json"
SERVICES = "/api/v1/namespaces/default/services"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def workload(kind: str, **spec: Any) -> tuple[str, Json]:
    path = f"/apis/apps/v1/namespaces/default/{kind}"
    return path, {
        "metadata": {"name": "w"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, **spec},
    }


def test_deployments(api: Api) -> None:
    path, body = workload("deployments")
    spec = api.post(path, body)["spec"]
    assert (spec["replicas"], spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (1, 10, 600)
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": "25%"}
    assert spec["template"]["spec"]["schedulerName"] == "default-scheduler"
    moved = api("PATCH", f"{path}/w", {"spec": {"selector": {"matchLabels": {"c": "d"}}}}, content_type=MERGE)
    assert ("FieldValueInvalid", "spec.selector") in moved.causes


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"selector": None}, ("FieldValueRequired", "spec.selector")),
        ({"selector": {"matchLabels": {"x": "y"}}}, ("FieldValueInvalid", "spec.template.metadata.labels")),
        ({"selector": {}}, ("FieldValueInvalid", "spec.selector")),
        ({"replicas": -1}, ("FieldValueInvalid", "spec.replicas")),
        ({"template": None}, ("FieldValueRequired", "spec.template.spec.containers")),
        ({"strategy": {"type": "Slowly"}}, ("FieldValueNotSupported", "spec.strategy.type")),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": "lots"}}},
            ("FieldValueInvalid", "spec.strategy.rollingUpdate.maxSurge"),
        ),
        (
            {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
            ("FieldValueInvalid", "spec.strategy.rollingUpdate.maxUnavailable"),
        ),
    ],
)
def test_faults_of_deployments(api: Api, change: Json, cause: tuple[str, str]) -> None:
    path, body = workload("deployments", **change)
    answer = api("POST", path, body)
    assert answer.code == 422
    assert cause in answer.causes


def test_jobs_find_their_pods(api: Api) -> None:
    path = "/apis/batch/v1/namespaces/default/jobs"
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    made = api.post(path, {"metadata": {"name": "j"}, "spec": {"template": template}})
    uid = made["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert made["spec"]["template"]["metadata"]["labels"]["job-name"] == "j"
    assert (made["spec"]["completions"], made["spec"]["parallelism"], made["spec"]["backoffLimit"]) == (1, 1, 6)
    template["spec"]["restartPolicy"] = "Always"
    always = api("POST", path, {"metadata": {"name": "k"}, "spec": {"template": template}})
    assert always.causes == [("FieldValueRequired", "spec.template.spec.restartPolicy")]


def test_other_workloads_have_their_defaults(api: Api) -> None:
    path, body = workload("daemonsets")
    assert api.post(path, body)["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    path, body = workload("statefulsets", serviceName="s")
    assert api.post(path, body)["spec"]["podManagementPolicy"] == "OrderedReady"
    refused = api("PATCH", f"{path}/w", {"spec": {"serviceName": "t"}}, content_type=MERGE)
    assert refused.causes == [("FieldValueForbidden", "spec")]
    job = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}}
    body = {"metadata": {"name": "c"}, "spec": {"schedule": "*/5 * * * *", "jobTemplate": job}}
    assert api.post("/apis/batch/v1/namespaces/default/cronjobs", body)["spec"]["concurrencyPolicy"] == "Allow"
    path, _ = workload("replicationcontrollers")
    body = {"metadata": {"name": "r"}, "spec": {"template": TEMPLATE}}
    made = api.post("/api/v1/namespaces/default/replicationcontrollers", body)
    assert made["spec"]["selector"] == made["metadata"]["labels"] == {"a": "b"}


def test_services_get_addresses_and_ports(api: Api) -> None:
    first = api.post(SERVICES, {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}})["spec"]
    node = {"type": "NodePort", "ports": [{"port": 80, "name": "x"}, {"port": 81, "name": "y"}]}
    second = api.post(SERVICES, {"metadata": {"name": "b"}, "spec": node})["spec"]
    assert first["clusterIP"] != second["clusterIP"]
    assert first["clusterIPs"] == [first["clusterIP"]]
    assert first["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert len({port["nodePort"] for port in second["ports"]}) == 2
    moved = api("PATCH", f"{SERVICES}/a", {"spec": {"clusterIP": "10.0.99.99"}}, content_type=MERGE)
    assert moved.code == 422
    headless = {"metadata": {"name": "c"}, "spec": {"clusterIP": "None"}}
    assert api.post(SERVICES, headless)["spec"]["clusterIP"] == "None"
    assert api("POST", SERVICES, {"metadata": {"name": "d"}, "spec": {}}).causes == [
        ("FieldValueRequired", "spec.ports")
    ]


def test_secrets_keep_text_as_base64(api: Api) -> None:
    path = "/api/v1/namespaces/default/secrets"
    made = api.post(path, {"metadata": {"name": "s"}, "stringData": {"a": "hello"}, "data": {"b": "aGk="}})
    assert made["data"] == {"a": "aGVsbG8=", "b": "aGk="}
    assert (made["type"], "stringData" in made) == ("Opaque", False)
    assert api("POST", path, {"metadata": {"name": "t"}, "data": {"a": "not base64!"}}).code == 400


def test_immutable_objects_stay(api: Api) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    api.post(path, {"metadata": {"name": "a"}, "data": {"x": "1"}, "immutable": True})
    assert api("PATCH", f"{path}/a", {"data": {"x": "2"}}, content_type=MERGE).code == 422
    assert api.patch(f"{path}/a", {"metadata": {"labels": {"x": "y"}}})


def claim(name: str, **spec: Any) -> Json:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"metadata": {"name": name}, "spec": wanted}


def test_claims_get_the_default_class(api: Api) -> None:
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    marked = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    api.post(classes, {"metadata": {"name": "fast", **marked}, "provisioner": "p"})
    api.post(classes, {"metadata": {"name": "slow"}, "provisioner": "p"})
    assert api.post(CLAIMS, claim("a"))["spec"]["storageClassName"] == "fast"
    assert api.post(CLAIMS, claim("b", storageClassName=""))["spec"]["storageClassName"] == ""
    assert api.get(f"{CLAIMS}/a")["status"] == {"phase": "Pending"}


def test_claims_are_bound_once(api: Api) -> None:
    api.post(CLAIMS, claim("a"))
    api.patch(f"{CLAIMS}/a", {"spec": {"volumeName": "v"}})
    assert api("PATCH", f"{CLAIMS}/a", {"spec": {"volumeName": "w"}}, content_type=MERGE).code == 422
    assert api("POST", CLAIMS, claim("b", accessModes=[])).causes == [("FieldValueRequired", "spec.accessModes")]


def test_volumes(api: Api) -> None:
    path = "/api/v1/persistentvolumes"
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
    made = api.post(path, {"metadata": {"name": "v"}, "spec": spec})
    assert made["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert made["status"]["phase"] == "Pending"
    assert api("PATCH", f"{path}/v", {"spec": {"hostPath": {"path": "/y"}}}, content_type=MERGE).code == 422
    local = {**spec, "hostPath": None, "local": {"path": "/x"}}
    answer = api("POST", path, {"metadata": {"name": "w"}, "spec": local})
    assert answer.causes == [("FieldValueRequired", "spec.nodeAffinity")]


def test_nodes_keep_their_status_and_give_what_they_have(api: Api) -> None:
    made = api.post("/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}})
    assert made["status"]["allocatable"] == {"cpu": "4"}
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]
    answer = api("PATCH", "/api/v1/nodes/n", {"spec": {"taints": taints}}, content_type=MERGE)
    assert answer.causes == [("FieldValueDuplicate", "metadata.taints[1]")]


def test_resource_claims(api: Api) -> None:
    path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    made = api.post(path, {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}})
    assert made["spec"]["devices"]["requests"][0]["exactly"] == {
        "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1,
    }  # fmt: skip
    assert api("PATCH", f"{path}/c", {"spec": {"devices": {"requests": []}}}, content_type=MERGE).code == 422
    results = [{"request": "gpu", "driver": "d", "pool": "p", "device": "x"}]
    users = [{"resource": "pods", "name": "p", "uid": "u"}]
    status = {"allocation": {"devices": {"results": results}}, "reservedFor": users}
    allocated = api.patch(f"{path}/c/status", {"status": status})
    assert allocated["status"]["reservedFor"][0]["name"] == "p"


@pytest.mark.parametrize(
    ("metadata", "cause"),
    [
        ({}, ("FieldValueRequired", "metadata.name")),
        ({"name": "Bad_Name"}, ("FieldValueInvalid", "metadata.name")),
        ({"name": "a" * 254}, ("FieldValueInvalid", "metadata.name")),
        ({"name": "a", "labels": {"x/y/z": "1"}}, ("FieldValueInvalid", "metadata.labels")),
        ({"name": "a", "labels": {"x": "a b"}}, ("FieldValueInvalid", "metadata.labels")),
        ({"name": "a", "annotations": {"": "1"}}, ("FieldValueInvalid", "metadata.annotations")),
        ({"name": "a", "annotations": {"x": "1" * 300_000}}, ("FieldValueTooLong", "metadata.annotations")),
        ({"name": "a", "ownerReferences": [{"kind": "X"}]}, ("FieldValueInvalid", "metadata.ownerReferences[0].name")),
        ({"name": "a", "finalizers": ["a b"]}, ("FieldValueInvalid", "metadata.finalizers")),
    ],
)
def test_rules_for_metadata(api: Api, metadata: Json, cause: tuple[str, str]) -> None:
    answer = api("POST", "/api/v1/namespaces/default/configmaps", {"metadata": metadata})
    assert answer.code == 422
    assert cause in answer.causes


def test_what_is_there_from_the_start(api: Api) -> None:
    names = [item["metadata"]["name"] for item in api.get("/api/v1/namespaces")["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    classes = api.get("/apis/scheduling.k8s.io/v1/priorityclasses")["items"]
    assert {item["metadata"]["name"]: item["value"] for item in classes} == {
        "system-cluster-critical": 2_000_000_000,
        "system-node-critical": 2_000_001_000,
    }
