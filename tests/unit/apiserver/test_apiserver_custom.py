"""Custom kinds: definitions, schemas, pruning, defaulting, validation, columns, versions."""

import asyncio
from typing import Any

import pytest

from moorage.apiserver.cleaning import DefinitionCleaner
from moorage.apiserver.crd import jsonpath, schema
from moorage.apiserver.history import Follower
from moorage.apiserver.validation.faults import Faults

Json = dict[str, Any]
Api = Any

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOATS = "/apis/sea.example.com/v1/namespaces/default/boats"
MERGE = "application/merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

SPEC: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 8, "pattern": "^[a-z]+$"},
        "masts": {"type": "integer", "minimum": 1, "maximum": 5, "default": 2},
        "color": {"type": "string", "enum": ["red", "blue"]},
        "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "crew": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}},
        },
        "flags": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "cargo": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "note": {"type": "string", "nullable": True},
    },
}


SCALE = {"specReplicasPath": ".spec.masts", "statusReplicasPath": ".status.up"}


def definition(**changes: Any) -> Json:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {
                    "spec": SPEC,
                    "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                },
            }
        },
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.masts", "statusReplicasPath": ".status.up"},
        },
        "additionalPrinterColumns": [
            {"name": "Masts", "type": "integer", "jsonPath": ".spec.masts"},
            {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        **changes,
    }
    names = {"plural": "boats", "kind": "Boat", "shortNames": ["bt"]}
    spec = {"group": "sea.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": "boats.sea.example.com"}, "spec": spec}


def boat(name: str = "anna", **spec: Any) -> Json:
    body = {"name": name, **spec}
    return {"apiVersion": "sea.example.com/v1", "kind": "Boat", "metadata": {"name": name}, "spec": body}


@pytest.fixture
def boats(api: Api) -> Api:
    api.post(DEFINITIONS, definition())
    return api


def test_a_definition_is_established_at_once(boats: Api) -> None:
    found = boats.get(f"{DEFINITIONS}/boats.sea.example.com")
    assert {c["type"]: c["status"] for c in found["status"]["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert found["status"]["storedVersions"] == ["v1"]
    assert found["spec"]["names"]["listKind"] == "BoatList"
    assert boats.get("/apis/sea.example.com/v1")["resources"][0]["shortNames"] == ["bt"]
    assert boats.get(BOATS)["kind"] == "BoatList"


def test_objects_are_pruned_and_defaulted(boats: Api) -> None:
    body = boat(extra=1, crew=[{"name": "a", "nosuch": 1}], cargo={"any": {"thing": 1}}, flags={"a": True}, note=None)
    answer = boats("POST", BOATS, body)
    assert answer.warnings == ['unknown field "spec.extra"', 'unknown field "spec.crew[0].nosuch"']
    assert answer.body["spec"] == {
        "name": "anna",
        "masts": 2,
        "crew": [{"name": "a"}],
        "cargo": {"any": {"thing": 1}},
        "flags": {"a": True},
        "note": None,
    }
    assert answer.body["metadata"]["generation"] == 1
    assert boats("POST", BOATS, boat("b2", extra=1), fieldValidation="Strict").code == 400


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ({"masts": 0}, ("FieldValueInvalid", "spec.masts")),
        ({"masts": "two"}, ("FieldValueTypeInvalid", "spec.masts")),
        ({"masts": 1.5}, ("FieldValueTypeInvalid", "spec.masts")),
        ({"name": None}, ("FieldValueRequired", "spec.name")),
        ({"name": "x"}, ("FieldValueInvalid", "spec.name")),
        ({"name": "abcdefghi"}, ("FieldValueTooLong", "spec.name")),
        ({"name": "A b"}, ("FieldValueInvalid", "spec.name")),
        ({"color": "green"}, ("FieldValueNotSupported", "spec.color")),
        ({"port": 1.5}, ("FieldValueTypeInvalid", "spec.port")),
        ({"crew": [{"name": "a"}, {"name": "a"}]}, ("FieldValueDuplicate", "spec.crew[1]")),
        ({"crew": {}}, ("FieldValueTypeInvalid", "spec.crew")),
        ({"flags": {"a": 1}}, ("FieldValueTypeInvalid", "spec.flags.a")),
    ],
)
def test_faults_of_objects(boats: Api, spec: Json, cause: tuple[str, str]) -> None:
    body = boat()
    body["spec"] |= spec
    answer = boats("POST", BOATS, body)
    assert answer.code == 422
    assert cause in answer.causes


def test_updates_need_a_version(boats: Api) -> None:
    made = boats.post(BOATS, boat())
    del made["metadata"]["resourceVersion"]
    answer = boats("PUT", f"{BOATS}/anna", made)
    assert answer.causes == [("FieldValueInvalid", "metadata.resourceVersion")]


def test_status_is_written_apart(boats: Api) -> None:
    boats.post(BOATS, {**boat(), "status": {"up": 1}})
    assert "status" not in boats.get(f"{BOATS}/anna")
    patch = {"spec": {"masts": 5}, "status": {"up": 2}, "metadata": {"labels": {"x": "y"}}}
    found = boats.patch(f"{BOATS}/anna/status", patch)
    assert (found["spec"]["masts"], found["status"], found["metadata"].get("labels")) == (2, {"up": 2}, None)
    assert found["metadata"]["generation"] == 1
    assert boats.patch(f"{BOATS}/anna", {"spec": {"masts": 3}})["metadata"]["generation"] == 2


def test_custom_kinds_scale(boats: Api) -> None:
    boats.post(BOATS, boat())
    assert boats.get(f"{BOATS}/anna/scale")["spec"] == {"replicas": 2}
    boats.patch(f"{BOATS}/anna/scale", {"spec": {"replicas": 4}})
    assert boats.get(f"{BOATS}/anna")["spec"]["masts"] == 4


def test_columns(boats: Api) -> None:
    boats.post(BOATS, boat())
    boats.patch(f"{BOATS}/anna/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    table = boats("GET", BOATS, accept=TABLE).body
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Masts", "Ready", "Age"]
    assert table["rows"][0]["cells"] == ["anna", 2, "True", "0s"]


def test_strategic_patches_are_for_built_in_kinds(boats: Api) -> None:
    boats.post(BOATS, boat())
    answer = boats("PATCH", f"{BOATS}/anna", {}, content_type="application/strategic-merge-patch+json")
    assert answer.code == 415


def test_apply_merges_by_the_schema(boats: Api) -> None:
    def applied(manager: str, *crew: str) -> Any:
        body = {**boat(), "spec": {"name": "anna", "crew": [{"name": name} for name in crew]}}
        kind = "application/apply-patch+yaml"
        return boats("PATCH", f"{BOATS}/anna", body, content_type=kind, fieldManager=manager).body

    applied("m", "ann", "bob")
    both = applied("other", "cat")
    assert [member["name"] for member in both["spec"]["crew"]] == ["ann", "bob", "cat"]
    fewer = applied("m", "ann")
    assert [member["name"] for member in fewer["spec"]["crew"]] == ["ann", "cat"]


def test_versions_show_the_same_objects(api: Api) -> None:
    body = definition()
    old = {**body["spec"]["versions"][0], "name": "v1beta1", "storage": False}
    body["spec"]["versions"].append(old)
    api.post(DEFINITIONS, body)
    api.post(BOATS, boat())
    older = BOATS.replace("/v1/", "/v1beta1/")
    assert api.get(f"{older}/anna")["apiVersion"] == "sea.example.com/v1beta1"
    api.patch(f"{older}/anna", {"spec": {"masts": 3}})
    found = api.get(f"{BOATS}/anna")
    assert (found["apiVersion"], found["spec"]["masts"]) == ("sea.example.com/v1", 3)


def test_a_definition_can_change(boats: Api) -> None:
    body = boats.get(f"{DEFINITIONS}/boats.sea.example.com")
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["hull"] = {
        "type": "string"
    }
    boats.put(f"{DEFINITIONS}/boats.sea.example.com", body)
    assert boats.post(BOATS, boat(hull="oak"))["spec"]["hull"] == "oak"
    body = boats.get(f"{DEFINITIONS}/boats.sea.example.com")
    body["spec"]["scope"] = "Cluster"
    assert boats("PUT", f"{DEFINITIONS}/boats.sea.example.com", body).code == 422


async def test_objects_go_before_their_definition(boats: Api, server: Any) -> None:
    boats.post(BOATS, boat())
    cleaning = asyncio.create_task(DefinitionCleaner(server.registry).run())
    marked = boats.delete(f"{DEFINITIONS}/boats.sea.example.com")
    assert "deletionTimestamp" in marked["metadata"]
    gone = asyncio.Event()
    follower = Follower(lambda: gone.set() if follower.is_closed else None, limit=10)
    server.store.collection("boats.sea.example.com").history.follow(follower)
    async with asyncio.timeout(10):
        await gone.wait()
    cleaning.cancel()
    await asyncio.gather(cleaning, return_exceptions=True)
    assert boats("GET", BOATS).code == 404


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        ({"type": "string"}, ("FieldValueInvalid", "type")),
        ({"type": "object", "properties": {"a": {}}}, ("FieldValueRequired", "properties[a].type")),
        ({"type": "object", "properties": {"a": {"type": "thing"}}}, ("FieldValueNotSupported", "properties[a].type")),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, ("FieldValueRequired", "properties[a].items")),
        (
            {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}},
            ("FieldValueInvalid", "properties[a].pattern"),
        ),
        (
            {"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}},
            ("FieldValueTypeInvalid", "properties[a].default"),
        ),
        (
            {"type": "object", "properties": {"a": {"type": "array", "items": {"type": 5}}}},
            ("FieldValueInvalid", "properties[a].items"),
        ),
        ({"type": "object", "anyOf": [{"type": "object"}]}, ("FieldValueForbidden", "anyOf[0].type")),
    ],
)
def test_schemas_must_be_structural(api: Api, found: Json, cause: tuple[str, str]) -> None:
    answer = api("POST", DEFINITIONS, definition(schema={"openAPIV3Schema": found}))
    assert answer.code == 422
    prefix = "spec.versions[0].schema.openAPIV3Schema."
    assert (cause[0], prefix + cause[1]) in answer.causes


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"group": "nodots"}, "spec.group"),
        ({"scope": "Galaxy"}, "spec.scope"),
        ({"versions": []}, "spec.versions"),
        ({"names": {"plural": "ships", "kind": "Ship"}}, "metadata.name"),
    ],
)
def test_faults_of_definitions(api: Api, change: Json, field: str) -> None:
    body = definition()
    body["spec"] |= change
    answer = api("POST", DEFINITIONS, body)
    assert answer.code == 422
    assert field in [where for _, where in answer.causes]


def test_what_is_not_acted_upon_is_said(api: Api) -> None:
    found = {"type": "object", "x-kubernetes-validations": [{"rule": "self.a > 1"}]}
    answer = api("POST", DEFINITIONS, definition(schema={"openAPIV3Schema": found}, subresources=None))
    assert answer.code == 201
    assert answer.warnings == ["x-kubernetes-validations are not evaluated"]


@pytest.mark.parametrize(
    ("found", "good", "bad"),
    [
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1}, {"a": 1, "b": 1}),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": 1}, {"c": 1}),
        ({"not": {"required": ["a"]}}, {"b": 1}, {"a": 1}),
        ({"allOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"a": 1, "b": 1}, {"a": 1}),
        ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 1}),
        ({"type": "array", "maxItems": 1}, [1], [1, 2]),
        ({"type": "array", "x-kubernetes-list-type": "set"}, [1, 2], [1, 1]),
        ({"type": "number", "multipleOf": 2}, 4, 5),
        ({"type": "number", "maximum": 2, "exclusiveMaximum": True}, 1.5, 2),
        ({"type": "integer", "format": "int32"}, 5, 2**31),
        ({"type": "string", "format": "date-time"}, "2026-01-01T00:00:00Z", "yesterday"),
        ({"type": "string", "format": "ipv4"}, "10.0.0.1", "10.0.0"),
        ({"type": "string", "format": "uuid"}, "123e4567-e89b-12d3-a456-426614174000", "123"),
        ({"type": "string", "format": "whatever"}, "x", None),
    ],
)
def test_keywords(found: Json, good: Any, bad: Any) -> None:
    faults = Faults()
    schema.validate(good, found, "x", faults)
    assert faults == []
    schema.validate(bad, found, "x", faults)
    assert faults != []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".a.b", [1]),
        (".list[0]", [{"t": "x", "v": 1}]),
        (".list[-1].v", [2]),
        (".list[*].v", [1, 2]),
        ('.list[?(@.t=="y")].v', [2]),
        (".list[?(@.t != 'y')].v", [1]),
        (".a['b']", [1]),
        (r".dotted\.name", [5]),
        (".nosuch.deeper", []),
        (".a.b.c", []),
    ],
)
def test_json_paths(path: str, expected: list[Any]) -> None:
    obj = {"a": {"b": 1}, "list": [{"t": "x", "v": 1}, {"t": "y", "v": 2}], "dotted.name": 5}
    assert jsonpath.find(obj, path) == expected


def test_bad_json_paths() -> None:
    with pytest.raises(jsonpath.BadPath):
        jsonpath.parse(".a[")
