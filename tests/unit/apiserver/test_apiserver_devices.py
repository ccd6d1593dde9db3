"""Claims, classes, slices and taint rules: what is filled in and what is refused."""

from typing import Any

import pytest
from tests.unit.apiserver.conftest import Caller as Api

GROUP = "/apis/resource.k8s.io/v1"
CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"

Json = dict[str, Any]


def claim(exactly: Json | None = None, **devices: Any) -> Json:
    request = {"name": "one", "exactly": {"deviceClassName": "gpu", **(exactly or {})}}
    return {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request], **devices}}}


def a_slice(**spec: Any) -> Json:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    return {"metadata": {"name": "s"}, "spec": {"driver": "gpu.example.com", "pool": pool, "nodeName": "n", **spec}}


def test_one_device_unless_said_otherwise(api: Api) -> None:
    made = api("POST", CLAIMS, claim()).body["spec"]["devices"]["requests"][0]["exactly"]
    assert (made["allocationMode"], made["count"]) == ("ExactCount", 1)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (claim({"allocationMode": "All", "count": 2}), "exactly.count"),
        (claim({"allocationMode": "ExactCount", "count": -1}), "exactly.count"),
        (claim({"allocationMode": "Some"}), "exactly.allocationMode"),
        (claim({"selectors": [{"cel": {"expression": "device.nothing"}}]}), "exactly.selectors[0].cel.expression"),
        (claim({"selectors": [{"cel": {"expression": "1 + 1"}}]}), "exactly.selectors[0].cel.expression"),
        (claim({"selectors": [{}]}), "exactly.selectors[0].cel"),
        (claim(constraints=[{"matchAttribute": "plain"}]), "constraints[0].matchAttribute"),
        (claim(constraints=[{"requests": ["one"]}]), "constraints[0]"),
        (claim(constraints=[{"matchAttribute": "a.b/c", "requests": ["two"]}]), "constraints[0].requests[0]"),
        (claim(constraints=[{"matchAttribute": "a.b/c"}] * 33), "devices.constraints"),
        (claim(config=[{"requests": ["one/sub"]}]), "config[0].requests[0]"),
        (claim(config=[{"requests": ["one"]}] * 33), "devices.config"),
        (claim(requests=[{"name": "one"}]), "requests[0]"),
        (claim(requests=[{"name": "a", "firstAvailable": [{"deviceClassName": "gpu"}]}]), "firstAvailable[0].name"),
    ],
)
def test_a_claim_is_refused(api: Api, body: Json, field: str) -> None:
    answer = api("POST", CLAIMS, body)
    assert answer.code == 422
    assert any(where.endswith(field) for _, where in answer.causes), answer.causes


def test_a_compile_error_says_where(api: Api) -> None:
    answer = api("POST", CLAIMS, claim({"selectors": [{"cel": {"expression": "device.driver == 1"}}]}))
    assert "ERROR: <input>:1:15: found no matching overload" in answer.body["message"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (a_slice(allNodes=True), "spec"),
        (a_slice(nodeName=""), "spec"),
        (a_slice(devices=[{"name": "d"}, {"name": "d"}]), "spec.devices[1].name"),
        (a_slice(devices=[{"name": "d", "attributes": {"v": {"version": "1.2"}}}]), "attributes[v].version"),
        (a_slice(devices=[{"name": "d", "attributes": {"v": {}}}]), "attributes[v]"),
        (a_slice(devices=[{"name": "d", "taints": [{"key": "k", "effect": "Maybe"}]}]), "taints[0].effect"),
        (a_slice(pool={"name": "p", "generation": 0, "resourceSliceCount": 0}), "spec.pool.resourceSliceCount"),
    ],
)
def test_a_slice_is_refused(api: Api, body: Json, field: str) -> None:
    answer = api("POST", f"{GROUP}/resourceslices", body)
    assert answer.code == 422
    assert any(where.endswith(field) for _, where in answer.causes), answer.causes


def test_a_slice_stays_where_it_is(api: Api) -> None:
    assert api("POST", f"{GROUP}/resourceslices", a_slice()).code == 201
    answer = api("PUT", f"{GROUP}/resourceslices/s", a_slice(nodeName="elsewhere"))
    assert [where for _, where in answer.causes] == ["spec.nodeName"]


def test_an_allocation_comes_and_goes_but_never_changes(api: Api) -> None:
    assert api("POST", CLAIMS, claim()).code == 201
    path = f"{CLAIMS}/c/status"

    def patch(**status: Any) -> int:
        return api("PATCH", path, {"status": status}, content_type="application/merge-patch+json").code

    user = {"resource": "pods", "name": "p", "uid": "u"}
    assert patch(reservedFor=[user]) == 422
    results = [{"request": "one", "driver": "d", "pool": "p", "device": "x"}]
    assert patch(allocation={"devices": {"results": results}}, reservedFor=[user]) == 200
    assert patch(reservedFor=[user, user]) == 422
    assert patch(allocation={"devices": {"results": [{**results[0], "device": "y"}]}}) == 422
    assert patch(allocation=None) == 422  # somebody uses it
    assert patch(allocation=None, reservedFor=None) == 200


def test_classes_and_rules(api: Api) -> None:
    broken = {"metadata": {"name": "x"}, "spec": {"selectors": [{"cel": {"expression": "nope"}}]}}
    assert api("POST", f"{GROUP}/deviceclasses", broken).code == 422
    rule: Json = {"metadata": {"name": "r"}, "spec": {"deviceSelector": {"driver": "d"}, "taint": {"key": "k"}}}
    assert [where for _, where in api("POST", f"{GROUP}/devicetaintrules", rule).causes] == ["spec.taint.effect"]
    rule["spec"]["taint"]["effect"] = "NoSchedule"
    assert api("POST", f"{GROUP}/devicetaintrules", rule).code == 201


def test_taints_are_dated(api: Api) -> None:
    taint = {"key": "sick", "effect": "NoExecute"}
    old = {**taint, "key": "old", "timeAdded": "2026-01-01T00:00:00Z"}
    made = api("POST", f"{GROUP}/resourceslices", a_slice(devices=[{"name": "d", "taints": [taint, old]}])).body
    dates = [one["timeAdded"] for one in made["spec"]["devices"][0]["taints"]]
    assert dates[0] > dates[1] == "2026-01-01T00:00:00Z"
    made = api("POST", CLAIMS, claim({"tolerations": [{"key": "sick", "value": "x"}]})).body
    assert made["spec"]["devices"]["requests"][0]["exactly"]["tolerations"][0]["operator"] == "Equal"


def test_a_rule_with_another_effect_is_dated_anew(api: Api) -> None:
    taint = {"key": "sick", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}
    rule = {"metadata": {"name": "r"}, "spec": {"deviceSelector": {"driver": "gpu.example.com"}, "taint": taint}}
    made = api("POST", f"{GROUP}/devicetaintrules", rule).body
    assert made["spec"]["taint"]["timeAdded"] == "2026-01-01T00:00:00Z"
    made["spec"]["taint"]["value"] = "x"
    made = api("PUT", f"{GROUP}/devicetaintrules/r", made).body
    assert made["spec"]["taint"]["timeAdded"] == "2026-01-01T00:00:00Z"
    made["spec"]["taint"]["effect"] = "NoExecute"
    made = api("PUT", f"{GROUP}/devicetaintrules/r", made).body
    assert made["spec"]["taint"]["timeAdded"] > "2026-01-01T00:00:00Z"
