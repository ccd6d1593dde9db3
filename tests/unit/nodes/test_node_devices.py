"""Devices of hollow nodes, from the short form of a shape to slices."""

import pytest

from moorage.controllers.claims.making import prefix
from moorage.errors import InputError
from moorage.nodes.devices import class_manifests, slice_manifests
from moorage.nodes.shapes import parse_shape
from moorage.objects import ResourceSlice, convert


def test_devices_of_several_drivers() -> None:
    shape = parse_shape("cpu=8,devices=gpu.example.com:4;nic.example.com:1")
    assert shape.devices == {"gpu.example.com": 4, "nic.example.com": 1}
    assert [one["metadata"]["name"] for one in class_manifests([shape])] == ["gpu.example.com", "nic.example.com"]
    node = {"metadata": {"name": "n", "uid": "u"}}
    slices = [convert(one, ResourceSlice) for one in slice_manifests(node, shape)]
    assert [one.spec.pool.name for one in slices] == ["n", "n"]
    assert [device.attributes["index"].int_value for device in slices[0].spec.devices] == [0, 1, 2, 3]
    assert slices[0].spec.node_name == "n"


def test_an_extended_resource_is_no_device() -> None:
    shape = parse_shape("gpu.example.com/gpus=4")
    assert shape.devices == {}
    assert shape.capacity["gpu.example.com/gpus"] == "4"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("devices=gpu", "'gpu' is no device: expected DRIVER:COUNT"),
        ("devices=gpu:x", "'x' of gpu: expected 0 to 128 devices"),
        ("devices=gpu:129", "expected 0 to 128 devices"),
        ("devices=a:1;a:2", "a is given twice"),
    ],
)
def test_what_is_no_device_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_shape(text)


def test_long_names_are_cut_in_proportion() -> None:
    assert prefix("pod", "entry") == "pod-entry-"
    cut = prefix("p" * 60, "e" * 30)
    assert cut == "p" * 38 + "e" * 19
