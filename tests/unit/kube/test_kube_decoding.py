import json
from typing import Any

import pytest

from moorage.kube.decoding import ADDED, DELETED, Bookmark, Decoder, Unreadable, WatchEvent
from moorage.kube.errors import BadAnswer, Gone
from moorage.objects import Pod

DECODER = Decoder(Pod)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "resourceVersion": "7"}, "spec": spec}


def line(kind: str, item: Any) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode()


def page(*items: Any, **metadata: Any) -> bytes:
    return json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}).encode()


def test_a_page_of_a_list() -> None:
    got = DECODER.page(page(pod("a", nodeName="n1"), pod("b"), resourceVersion="9", **{"continue": "more"}))
    assert [item.metadata.name for item in got.items if isinstance(item, Pod)] == ["a", "b"]
    assert (got.resource_version, got.continue_token) == ("9", "more")


def test_an_empty_list_may_have_null_items() -> None:
    assert DECODER.page(b'{"metadata": {"resourceVersion": "1"}, "items": null}').items == []


def test_one_bad_object_in_a_list_is_named_and_the_rest_is_read() -> None:
    got = DECODER.page(page(pod("a"), pod("bad", priority="high"), pod("c"), resourceVersion="9"))
    first, bad, last = got.items
    assert isinstance(first, Pod)
    assert isinstance(last, Pod)
    assert isinstance(bad, Unreadable)
    assert (bad.type, bad.namespace, bad.name) == (ADDED, "default", "bad")
    assert bad.error.where == "Pod default/bad: spec.priority"
    assert "Expected `int" in bad.error.problem


@pytest.mark.parametrize("item", [7, "text", None, [], {"metadata": 3}])
def test_even_what_is_no_object_is_only_left_out(item: Any) -> None:
    got = DECODER.page(page(item, pod("b"), resourceVersion="9"))
    assert isinstance(got.items[0], Unreadable)
    assert isinstance(got.items[1], Pod)


def test_null_means_absent_as_in_go() -> None:
    got = DECODER.page(page(pod("a", nodeSelector=None, tolerations=None), resourceVersion="9"))
    assert isinstance(got.items[0], Pod)
    event = DECODER.event(line(ADDED, pod("a", nodeSelector=None)))
    assert isinstance(event, WatchEvent)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"items": []}', b'{"metadata": {}, "items": {}}'])
def test_what_is_no_list_is_a_bad_answer(body: bytes) -> None:
    with pytest.raises(BadAnswer):
        DECODER.page(body)


def test_watch_events() -> None:
    event = DECODER.event(line(DELETED, pod("a", nodeName="n1")))
    assert isinstance(event, WatchEvent)
    assert (event.type, event.object.spec.node_name) == (DELETED, "n1")


def test_bookmarks_and_the_end_of_initial_events() -> None:
    plain = {"kind": "Pod", "metadata": {"resourceVersion": "12"}}
    assert DECODER.event(line("BOOKMARK", plain)) == Bookmark("12", ends_initial_events=False)
    ending = {"metadata": {"resourceVersion": "12", "annotations": {"k8s.io/initial-events-end": "true"}}}
    assert DECODER.event(line("BOOKMARK", ending)) == Bookmark("12", ends_initial_events=True)
    odd = {"metadata": {"resourceVersion": "12", "creationTimestamp": None}, "spec": {"containers": None}}
    assert DECODER.event(line("BOOKMARK", odd)) == Bookmark("12", ends_initial_events=False)


def test_an_error_event_is_raised_as_its_type() -> None:
    status = {"kind": "Status", "metadata": {}, "status": "Failure", "code": 410, "reason": "Expired", "message": "old"}
    with pytest.raises(Gone, match="old"):
        DECODER.event(line("ERROR", status))


def test_a_malformed_object_in_a_watch_keeps_its_name_and_version() -> None:
    got = DECODER.event(line(DELETED, pod("bad", priority=[])))
    assert isinstance(got, Unreadable)
    assert (got.type, got.name, got.resource_version) == (DELETED, "bad", "7")


@pytest.mark.parametrize("raw", [b'{"type":"ADD', b"hello", b'{"type": "ADDED"}', b"3"])
def test_what_is_no_event_is_a_bad_answer(raw: bytes) -> None:
    with pytest.raises(BadAnswer):
        DECODER.event(raw)
