"""Protobuf as stock components write it."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.apiserver.fields import protobuf
from moorage.apiserver.fields.schema import struct_names

Json = dict[str, Any]
Api = Any

PROTOBUF = "application/vnd.kubernetes.protobuf"


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: bytes | str | int | bool) -> bytes:
    """One field: bytes and text by length, numbers as varints."""
    if isinstance(value, int):
        return varint(number << 3) + varint(int(value))
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return protobuf.MAGIC + field(1, field(1, api_version) + field(2, kind)) + field(2, raw)


def decoded(raw: bytes, name: str) -> Json:
    obj = protobuf.decode(envelope("v1", name.rpartition(".")[2], raw), name)
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


def test_binding() -> None:
    metadata = field(1, "pod") + field(2, "") + field(3, "default") + field(5, "uid")
    raw = field(1, metadata) + field(2, field(1, "Node") + field(3, "n1"))
    obj = protobuf.decode(envelope("v1", "Binding", raw), "core/v1.Binding")
    assert obj == {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": "pod", "namespace": "default", "uid": "uid"},
        "target": {"kind": "Node", "name": "n1"},
    }


def test_maps_lists_and_inlined_structs() -> None:
    label = field(11, field(1, "app") + field(2, "x"))
    volume = field(1, "v") + field(2, field(2, field(1, "Memory")))
    container = field(1, "c") + field(2, "i") + field(8, field(2, field(1, "cpu") + field(2, field(1, "100m"))))
    raw = field(1, field(1, "p") + label) + field(2, field(1, volume) + field(2, container))
    pod = decoded(raw, "core/v1.Pod")
    assert pod["metadata"] == {"name": "p", "labels": {"app": "x"}}
    assert pod["spec"]["volumes"] == [{"name": "v", "emptyDir": {"medium": "Memory"}}]
    assert pod["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "100m"}}


def test_zero_is_kept_where_it_differs_from_absent() -> None:
    assert decoded(field(2, field(1, 0)), "apps/v1.ReplicaSet")["spec"]["replicas"] == 0
    assert "hostNetwork" not in decoded(field(2, field(11, False)), "core/v1.Pod").get("spec", {})
    assert decoded(field(2, field(25, -5)), "core/v1.Pod")["spec"] == {"priority": -5}


def test_times_and_numbers_or_strings() -> None:
    spec = field(2, 15) + field(4, field(1, 1767225600) + field(2, 250_000_000))
    lease = decoded(field(2, spec), "coordination/v1.Lease")
    assert lease["spec"] == {"leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.250000Z"}
    number, text = field(1, 0) + field(2, 7), field(1, 1) + field(3, "25%")
    rolling = field(2, field(1, number) + field(2, text))
    strategy = decoded(field(2, field(4, field(1, "RollingUpdate") + rolling)), "apps/v1.Deployment")
    assert strategy["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 7, "maxSurge": "25%"}


def test_raw_json_inside(api: Api) -> None:
    raw = field(1, field(1, "r")) + field(2, field(1, b'{"a":[1]}')) + field(3, 4)
    assert decoded(raw, "apps/v1.ControllerRevision") == {
        "metadata": {"name": "r"}, "data": {"a": [1]}, "revision": 4,
    }  # fmt: skip


def test_doubles() -> None:
    raw = varint(9 << 3 | 1) + struct.pack("<d", 1.5)
    assert decoded(raw, "apiextensions/v1.JSONSchemaProps") == {"maximum": 1.5}


def test_writes_through_the_api(api: Api) -> None:
    body = envelope("v1", "ConfigMap", field(1, field(1, "a")) + field(2, field(1, "x") + field(2, "1")))
    made = api("POST", "/api/v1/namespaces/default/configmaps", body, content_type=PROTOBUF)
    assert (made.code, made.body["data"]) == (201, {"x": "1"})
    bad = api("POST", "/api/v1/namespaces/default/configmaps", b"k8s\x00\xff", content_type=PROTOBUF)
    assert bad.code == 400


@pytest.mark.parametrize("body", [b"", b"k8s", b"{}", protobuf.MAGIC + b"\x0a\xff", protobuf.MAGIC + b"\x0f"])
def test_malformed(body: bytes) -> None:
    with pytest.raises(protobuf.Malformed):
        protobuf.decode(body, "core/v1.Pod")


@given(st.binary(max_size=200), st.sampled_from(struct_names()))
def test_any_bytes_decode_or_are_malformed(raw: bytes, name: str) -> None:
    try:
        found = protobuf.decode(envelope("v1", "X", raw), name)
    except protobuf.Malformed:
        return
    assert isinstance(found, dict)
