"""Whole objects as kube-scheduler sends them."""

import json
from typing import Any

import msgspec
import pytest

from moorage.columns import Snapshot
from moorage.errors import ApiError
from moorage.extender.keeping import KeptNodes, KeptObjects, KeptPods, sent_form
from moorage.kube.decoding import Decoder
from moorage.objects import Node, Pod


def tree(name: str, uid: str = "u", *, kind: str = "Pod", node: str = "", scheduler: str = "mine") -> dict[str, Any]:
    return {
        "kind": kind,
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "ns", "uid": uid, "managedFields": [{"manager": "x"}]},
        "spec": {"schedulerName": scheduler, "nodeName": node, "dnsPolicy": "ClusterFirst"},
        "status": {"qosClass": "BestEffort"},
    }


def line(kind: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode()


class Api:
    def __init__(self, item: dict[str, Any]) -> None:
        self.item = item

    async def get(self, path: str) -> bytes:
        assert path == "/api/v1/namespaces/ns/pods/p"
        return json.dumps(self.item).encode()


def test_the_form_that_is_sent() -> None:
    raw = msgspec.Raw(json.dumps(tree("p")).encode())
    node_form = json.loads(bytes(sent_form(raw, managed_fields=True)))
    assert "kind" not in node_form
    assert "apiVersion" not in node_form
    assert node_form["metadata"]["managedFields"]
    pod_form = json.loads(bytes(sent_form(raw, managed_fields=False)))
    assert pod_form == {**node_form, "metadata": {"name": "p", "namespace": "ns", "uid": "u"}}
    assert sent_form(msgspec.Raw(b"{}"), managed_fields=False) == msgspec.Raw(b"{}")


def test_pending_pods_of_ours_are_kept_until_they_have_a_node_or_are_gone() -> None:
    kept = KeptPods({"mine"})
    decoder = Decoder(Pod, kept.keep)
    page = {"metadata": {}, "items": [tree("a", "1"), tree("b", "2", node="n"), tree("c", "3", scheduler="other")]}
    assert len(decoder.page(json.dumps(page).encode()).items) == 3
    assert [kept.get(uid) is not None for uid in "123"] == [True, False, False]
    decoder.event(line("ADDED", tree("d", "4")))
    changed = tree("d", "4")
    changed["spec"]["dnsPolicy"] = "Default"
    decoder.event(line("MODIFIED", changed))
    text = kept.get("4")
    assert text is not None
    assert json.loads(bytes(text))["spec"]["dnsPolicy"] == "Default"
    decoder.event(line("MODIFIED", tree("a", "1", node="n")))
    assert kept.get("1") is None
    kept.deleted(msgspec.convert(tree("d", "4"), Pod))
    assert kept.get("4") is None


def test_a_node_that_took_anothers_name_stays() -> None:
    kept = KeptNodes()
    decoder = Decoder(Node, kept.keep)
    decoder.event(line("ADDED", tree("n", "old", kind="Node")))
    decoder.event(line("ADDED", tree("n", "new", kind="Node")))
    kept.deleted(msgspec.convert(tree("n", "old", kind="Node"), Node))
    assert kept.get("n") is not None
    kept.deleted(msgspec.convert(tree("n", "new", kind="Node"), Node))
    assert kept.get("n") is None


async def test_what_is_not_kept_is_read() -> None:
    pod = Snapshot().info(msgspec.convert(tree("p"), Pod))
    objects = KeptObjects(Api(tree("p")), (), with_nodes=False)  # type: ignore[arg-type]
    assert json.loads(bytes(await objects.pod(pod)))["status"] == {"qosClass": "BestEffort"}
    assert objects.node("n") is None
    objects = KeptObjects(Api(tree("p", "another")), (), with_nodes=False)  # type: ignore[arg-type]
    with pytest.raises(ApiError, match="another one now"):
        await objects.pod(pod)
