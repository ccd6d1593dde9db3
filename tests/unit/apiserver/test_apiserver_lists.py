"""Lists: order, selectors, pages at one revision, resource versions, tables, metadata alone."""

from collections.abc import Callable
from typing import Any

import pytest

Json = dict[str, Any]
Api = Any
MakePod = Callable[..., Json]

PODS = "/api/v1/namespaces/default/pods"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def names(listed: Json) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


@pytest.fixture
def pods(api: Api, pod: MakePod) -> list[str]:
    made = [f"p{number}" for number in (3, 1, 4, 0, 2)]
    for position, name in enumerate(made):
        labels = {"odd": "yes"} if position % 2 else {"even": "yes", "n": str(position)}
        api.post(PODS, pod(name, labels=labels))
    return sorted(made)


def test_lists_are_in_order_of_names(api: Api, pods: list[str]) -> None:
    listed = api.get(PODS)
    assert names(listed) == pods
    assert (listed["kind"], listed["apiVersion"]) == ("PodList", "v1")
    api.post("/api/v1/namespaces/kube-system/configmaps", {"metadata": {"name": "x"}})
    assert listed["metadata"]["resourceVersion"] != api.get(PODS)["metadata"]["resourceVersion"]


def test_lists_of_all_namespaces(api: Api, pods: list[str], pod: MakePod) -> None:
    api.post("/api/v1/namespaces/kube-system/pods", pod("p9"))
    assert names(api.get("/api/v1/pods")) == [*pods, "p9"]
    assert names(api.get("/api/v1/namespaces/kube-system/pods")) == ["p9"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("odd=yes", ["p0", "p1"]),
        ("odd", ["p0", "p1"]),
        ("!odd", ["p2", "p3", "p4"]),
        ("odd!=yes", ["p2", "p3", "p4"]),
        ("n in (0, 4)", ["p2", "p3"]),
        ("n notin (0,4),even", ["p4"]),
        ("n>1", ["p2", "p4"]),
        ("n<2", ["p3"]),
        ("", ["p0", "p1", "p2", "p3", "p4"]),
    ],
)
@pytest.mark.usefixtures("pods")
def test_label_selectors(api: Api, selector: str, expected: list[str]) -> None:
    assert names(api.get(PODS, labelSelector=selector)) == expected


@pytest.mark.parametrize("selector", ["a in", "a in (b", "=b", "a=b,", "a b", "a=(b)", "a>b", "-a=b", "a in b"])
def test_bad_label_selectors(api: Api, selector: str) -> None:
    assert api("GET", PODS, labelSelector=selector).code == 400


@pytest.mark.usefixtures("pods")
def test_field_selectors(api: Api) -> None:
    assert names(api.get(PODS, fieldSelector="metadata.name=p3")) == ["p3"]
    assert names(api.get("/api/v1/pods", fieldSelector="metadata.name=p3,metadata.namespace=default")) == ["p3"]
    assert names(api.get(PODS, fieldSelector="spec.nodeName=,metadata.name!=p3")) == ["p0", "p1", "p2", "p4"]
    assert names(api.get(PODS, fieldSelector="status.phase!=Pending")) == []
    answer = api("GET", PODS, fieldSelector="spec.nosuch=1")
    assert (answer.code, answer.body["message"]) == (400, "field label not supported: spec.nosuch")
    assert api("GET", PODS, fieldSelector="nonsense").code == 400


def test_pages_show_one_revision(api: Api, pods: list[str], pod: MakePod) -> None:
    first = api.get(PODS, limit="2")
    assert names(first) == ["p0", "p1"]
    assert first["metadata"]["remainingItemCount"] == 3
    api.post(PODS, pod("p2a"))
    api.delete(f"{PODS}/p4")
    api.patch(f"{PODS}/p3", {"metadata": {"labels": {"late": "yes"}}})
    second = api.get(PODS, limit="2", **{"continue": first["metadata"]["continue"]})
    third = api.get(PODS, limit="2", **{"continue": second["metadata"]["continue"]})
    assert names(second) + names(third) == ["p2", "p3", "p4"]
    assert "late" not in second["items"][1]["metadata"]["labels"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in third["metadata"]


@pytest.mark.usefixtures("pods")
def test_pages_of_a_selection_do_not_count_the_rest(api: Api) -> None:
    page = api.get(PODS, limit="1", labelSelector="even")
    assert "remainingItemCount" not in page["metadata"]
    rest = api.get(PODS, labelSelector="even", **{"continue": page["metadata"]["continue"]})
    assert names(page) + names(rest) == ["p2", "p3", "p4"]


def test_a_token_of_another_making_is_refused(api: Api) -> None:
    assert api("GET", PODS, **{"continue": "nonsense"}).code == 400


def test_exact_versions_show_the_past(api: Api, pods: list[str]) -> None:
    version = api.get(PODS)["metadata"]["resourceVersion"]
    api.delete(f"{PODS}/p0")
    past = api.get(PODS, resourceVersion=version, resourceVersionMatch="Exact")
    assert names(past) == pods
    assert past["metadata"]["resourceVersion"] == version
    assert names(api.get(PODS, resourceVersion=version, resourceVersionMatch="NotOlderThan")) == pods[1:]
    assert names(api.get(PODS, resourceVersion="0")) == pods[1:]


def test_versions_of_the_future(api: Api) -> None:
    answer = api("GET", PODS, resourceVersion="999999")
    assert (answer.code, answer.body["reason"]) == (504, "Timeout")
    assert answer.causes == [("ResourceVersionTooLarge", "")]
    assert api("GET", PODS, resourceVersion="abc").code == 400


def test_forgotten_versions(server: Any, api: Api, pod: MakePod) -> None:
    version = api.get(PODS)["metadata"]["resourceVersion"]
    collection = server.store.collection("pods")
    collection.history.limit = 3
    for number in range(6):
        api.post(PODS, pod(f"p{number}"))
    answer = api("GET", PODS, resourceVersion=version, resourceVersionMatch="Exact")
    assert (answer.code, answer.body["reason"]) == (410, "Expired")


@pytest.mark.parametrize(
    "query",
    [
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "Sometimes", "resourceVersion": "1"},
        {"resourceVersionMatch": "Exact", "resourceVersion": "1", "continue": "x"},
    ],
)
def test_options_that_do_not_go_together(api: Api, query: Json) -> None:
    assert api("GET", PODS, **query).code == 422


@pytest.mark.usefixtures("pods")
def test_tables(api: Api) -> None:
    table = api("GET", PODS, accept=TABLE).body
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [column["name"] for column in table["columnDefinitions"]][:5] == [
        "Name", "Ready", "Status", "Restarts", "Age",
    ]  # fmt: skip
    row = table["rows"][0]
    assert row["cells"][:5] == ["p0", "0/1", "Pending", "0", "0s"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "p0"
    assert "object" not in api("GET", PODS, accept=TABLE, includeObject="None").body["rows"][0]
    assert api("GET", PODS, accept=TABLE, includeObject="Object").body["rows"][0]["object"]["spec"]


def test_every_kind_has_a_table(server: Any, api: Api) -> None:
    for resource in server.registry.resources():
        if "list" in resource.kind.verbs:
            kind = resource.kind
            root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
            answer = api("GET", f"{root}/{kind.plural}", accept=TABLE)
            assert answer.code == 200
            for row in answer.body["rows"]:
                assert len(row["cells"]) == len(answer.body["columnDefinitions"])


@pytest.mark.usefixtures("pods")
def test_metadata_alone(api: Api) -> None:
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    listed = api("GET", PODS, accept=accept).body
    assert listed["kind"] == "PartialObjectMetadataList"
    assert listed["items"][0].keys() == {"kind", "apiVersion", "metadata"}
    one = api("GET", f"{PODS}/p0", accept="application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").body
    assert one["kind"] == "PartialObjectMetadata"
