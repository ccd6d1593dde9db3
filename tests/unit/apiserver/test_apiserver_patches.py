"""Patches of every kind, on their own and through the API."""

from collections.abc import Callable
from typing import Any

import pytest

from moorage.apiserver.patch import json as json_patch
from moorage.apiserver.patch import strategic
from moorage.apiserver.status import Refusal
from moorage.values.merging import merge_patch

Json = dict[str, Any]
Api = Any
MakePod = Callable[..., Json]

PODS = "/api/v1/namespaces/default/pods"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"


@pytest.mark.parametrize(
    ("original", "patch", "expected"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": None}}, {"a": {}}),
        ({"a": {"b": 1}}, {"a": 2}, {"a": 2}),
    ],
)
def test_merge_patch(original: Json, patch: Json, expected: Json) -> None:
    assert merge_patch(original, patch) == expected


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/b", "value": 2}], {"a": [1, 2], "m/n~": 0, "b": 2}),
        ([{"op": "add", "path": "/a/1", "value": 9}], {"a": [1, 9, 2], "m/n~": 0}),
        ([{"op": "add", "path": "/a/-", "value": 9}], {"a": [1, 2, 9], "m/n~": 0}),
        ([{"op": "remove", "path": "/m~1n~0"}], {"a": [1, 2]}),
        ([{"op": "replace", "path": "/a/0", "value": 5}], {"a": [5, 2], "m/n~": 0}),
        ([{"op": "move", "from": "/a/0", "path": "/x"}], {"a": [2], "m/n~": 0, "x": 1}),
        ([{"op": "copy", "from": "/a", "path": "/x"}], {"a": [1, 2], "m/n~": 0, "x": [1, 2]}),
        ([{"op": "test", "path": "/a/0", "value": 1}], {"a": [1, 2], "m/n~": 0}),
    ],
)
def test_json_patch(operations: list[Json], expected: Json) -> None:
    assert json_patch.apply({"a": [1, 2], "m/n~": 0}, operations) == expected


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ([{"op": "remove", "path": "/x"}], 422),
        ([{"op": "replace", "path": "/x", "value": 1}], 422),
        ([{"op": "test", "path": "/a", "value": 2}], 422),
        ([{"op": "add", "path": "/l/5", "value": 2}], 422),
        ([{"op": "add", "path": "/a/b/c", "value": 2}], 422),
        ([{"op": "add", "path": "a", "value": 2}], 422),
        ([{"op": "add", "path": "/a"}], 422),
        ([{"op": "frob", "path": "/a"}], 422),
        ({"op": "add"}, 400),
        ([5], 400),
    ],
)
def test_json_patches_that_fail(operations: Any, code: int) -> None:
    with pytest.raises(Refusal) as refused:
        json_patch.apply({"a": 1, "l": []}, operations)
    assert refused.value.code == code


def containers(*named: tuple[str, str]) -> Json:
    return {"spec": {"containers": [{"name": name, "image": image} for name, image in named]}}


def merged(original: Json, patch: Json) -> Json:
    return strategic.merge(original, patch, "core/v1.Pod")


def test_lists_merge_by_key() -> None:
    result = merged(containers(("a", "1"), ("b", "1")), containers(("b", "2"), ("c", "3")))
    assert result == containers(("a", "1"), ("b", "2"), ("c", "3"))


def test_elements_can_be_deleted() -> None:
    patch = {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}
    assert merged(containers(("a", "1"), ("b", "1")), patch) == containers(("b", "1"))


def test_lists_can_be_replaced() -> None:
    patch = {"spec": {"containers": [{"$patch": "replace"}, {"name": "z", "image": "9"}]}}
    assert merged(containers(("a", "1"), ("b", "1")), patch) == containers(("z", "9"))


def test_order_can_be_set() -> None:
    patch = containers(("c", "3"))
    patch["spec"]["$setElementOrder/containers"] = [{"name": "c"}, {"name": "b"}, {"name": "a"}]
    assert merged(containers(("a", "1"), ("b", "1")), patch) == containers(("c", "3"), ("b", "1"), ("a", "1"))


def test_new_elements_go_before_old_ones_without_an_order() -> None:
    assert merged(containers(("a", "1"), ("b", "1")), containers(("c", "3"))) == containers(
        ("c", "3"), ("a", "1"), ("b", "1")
    )


def test_lists_without_keys_are_replaced_and_sets_are_joined() -> None:
    original = {"metadata": {"finalizers": ["a", "b"]}, "spec": {"tolerations": [{"key": "x"}]}}
    patch = {"metadata": {"finalizers": ["b", "c"]}, "spec": {"tolerations": [{"key": "y"}]}}
    result = merged(original, patch)
    assert result == {"metadata": {"finalizers": ["a", "b", "c"]}, "spec": {"tolerations": [{"key": "y"}]}}
    gone = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}
    assert merged(result, gone)["metadata"]["finalizers"] == ["b", "c"]


def test_retain_keys_drops_the_others() -> None:
    original = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
    patch = {"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}}
    assert merged(original, patch)["spec"]["volumes"] == [{"name": "v", "hostPath": {"path": "/"}}]


def test_maps_can_be_replaced_and_deleted() -> None:
    original = {"spec": {"nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": {}}}}
    patch = {"spec": {"nodeSelector": {"$patch": "replace", "c": "d"}, "affinity": {"$patch": "delete"}}}
    assert merged(original, patch) == {"spec": {"nodeSelector": {"c": "d"}}}


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": {"containers": [{"image": "no key"}]}},
        {"spec": {"containers": ["text"]}},
        {"spec": {"$patch": "frobnicate"}},
        {"spec": {"$retainKeys": "name"}},
        {"spec": {"$setElementOrder/containers": 5}},
    ],
)
def test_strategic_patches_that_make_no_sense(patch: Json) -> None:
    with pytest.raises(Refusal) as refused:
        merged(containers(("a", "1")), patch)
    assert refused.value.code == 400


def test_patches_through_the_api(api: Api, pod: MakePod) -> None:
    api.post(PODS, pod("a", labels={"x": "y"}))
    api.patch(f"{PODS}/a", {"spec": {"containers": [{"name": "main", "image": "new"}]}}, STRATEGIC)
    api.patch(f"{PODS}/a", [{"op": "add", "path": "/metadata/labels/p", "value": "q"}], JSON_PATCH)
    found = api.patch(f"{PODS}/a", {"metadata": {"labels": {"x": None}}})
    assert found["spec"]["containers"][0]["image"] == "new"
    assert found["metadata"]["labels"] == {"p": "q"}


def test_a_patch_may_name_the_version_it_was_made_from(api: Api, pod: MakePod) -> None:
    version = api.post(PODS, pod("a"))["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version, "labels": {"x": "1"}}}
    api.patch(f"{PODS}/a", patch)
    assert api("PATCH", f"{PODS}/a", patch, content_type=MERGE).code == 409


@pytest.mark.parametrize(
    ("patch", "content_type", "code"),
    [
        ({"metadata": None}, MERGE, 422),
        ({"metadata": {"name": "b"}}, MERGE, 400),
        ({"spec": 5}, MERGE, 400),
        ([], MERGE, 400),
        ({}, JSON_PATCH, 400),
        ([{"op": "remove", "path": "/metadata"}], JSON_PATCH, 422),
        ({"spec": {"nosuch": 1}}, "application/json", 415),
        ({}, "application/apply-patch+yaml", 422),
    ],
)
def test_patches_that_are_refused(api: Api, pod: MakePod, patch: Any, content_type: str, code: int) -> None:
    api.post(PODS, pod("a"))
    assert api("PATCH", f"{PODS}/a", patch, content_type=content_type).code == code


def apply(api: Api, manager: str, data: Json, **query: Any) -> Any:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    return api("PATCH", f"{CONFIGMAPS}/a", body, content_type=APPLY, fieldManager=manager, **query)


def owners(obj: Json) -> dict[tuple[str, str], Json]:
    return {(e["manager"], e["operation"]): e["fieldsV1"] for e in obj["metadata"].get("managedFields", ())}


def test_apply_creates_and_owns(api: Api) -> None:
    made = apply(api, "m", {"x": "1"})
    assert made.code == 201
    assert owners(made.body) == {("m", "Apply"): {"f:data": {"f:x": {}}}}


def test_what_is_no_longer_applied_goes(api: Api) -> None:
    apply(api, "m", {"x": "1", "y": "1"})
    apply(api, "other", {"y": "1", "z": "1"})
    found = apply(api, "m", {"x": "2"})
    assert found.body["data"] == {"x": "2", "y": "1", "z": "1"}
    assert apply(api, "other", {}).body["data"] == {"x": "2"}


def test_conflicts_are_named_and_forced(api: Api) -> None:
    apply(api, "m", {"x": "1"})
    refused = apply(api, "other", {"x": "2"})
    assert (refused.code, refused.body["reason"]) == (409, "Conflict")
    assert refused.causes == [("FieldManagerConflict", ".data.x")]
    assert 'conflict with "m": .data.x' in refused.body["message"]
    assert apply(api, "other", {"x": "1"}).code == 200
    forced = apply(api, "other", {"x": "2"}, force="true")
    assert forced.body["data"] == {"x": "2"}
    assert ("m", "Apply") not in owners(forced.body)


def test_plain_writes_take_ownership_once_somebody_applied(api: Api) -> None:
    apply(api, "m", {"x": "1", "y": "1"})
    found = api.patch(f"{CONFIGMAPS}/a", {"data": {"x": "2"}}, fieldManager="editor")
    assert owners(found)["editor", "Update"] == {"f:data": {"f:x": {}}}
    assert apply(api, "m", {"x": "1", "y": "1"}).causes == [("FieldManagerConflict", ".data.x")]


def test_what_was_there_before_the_first_apply(api: Api) -> None:
    api.post(CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    assert apply(api, "m", {"x": "2"}).body["message"].startswith('Apply failed with 1 conflict: conflict with "before')
    found = apply(api, "m", {"y": "2"})
    assert found.body["data"] == {"x": "1", "y": "2"}


def test_elements_of_lists_are_owned_one_by_one(api: Api) -> None:
    def pod(*named: str) -> Json:
        items = [{"name": name, "image": name} for name in named]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": items}}

    def applied(manager: str, body: Json) -> Any:
        return api("PATCH", f"{PODS}/a", body, content_type=APPLY, fieldManager=manager, dryRun="All")

    api("PATCH", f"{PODS}/a", pod("one"), content_type=APPLY, fieldManager="m")
    fields = owners(api.get(f"{PODS}/a"))["m", "Apply"]
    element: Json = {".": {}, "f:name": {}, "f:image": {}}
    assert fields["f:spec"]["f:containers"] == {'k:{"name":"one"}': element}
    refused = applied("other", pod("two"))
    assert refused.causes == [("FieldValueForbidden", "spec.containers")]  # merged, not replaced


def test_apply_may_not_say_who_owns_what(api: Api) -> None:
    body = {"metadata": {"name": "a", "managedFields": [{"manager": "x"}]}}
    assert api("PATCH", f"{CONFIGMAPS}/a", body, content_type=APPLY, fieldManager="m").code == 400


def test_ownership_can_be_reset(api: Api) -> None:
    apply(api, "m", {"x": "1"})
    found = api.patch(f"{CONFIGMAPS}/a", {"metadata": {"managedFields": [{}]}})
    assert "managedFields" not in found["metadata"]
