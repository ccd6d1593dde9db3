"""The kinds of resource.k8s.io, decoded to what scheduling reads."""

from moorage.objects import (
    DeviceAttribute,
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    convert_object,
)

V1 = {"apiVersion": "resource.k8s.io/v1"}


def test_a_slice_keeps_the_four_kinds_of_value_and_the_lists() -> None:
    read = convert_object(
        {
            **V1,
            "kind": "ResourceSlice",
            "metadata": {"name": "one"},
            "spec": {
                "driver": "gpu.example.com",
                "pool": {"name": "node-0", "generation": 3, "resourceSliceCount": 1},
                "nodeName": "node-0",
                "devices": [
                    {
                        "name": "gpu-0",
                        "attributes": {
                            "index": {"int": 1},
                            "ecc": {"bool": False},
                            "model": {"string": "a"},
                            "driverVersion": {"version": "1.2.3"},
                            "modes": {"strings": ["x", "y"]},
                        },
                        "capacity": {"memory": {"value": "40Gi", "requestPolicy": {"validRange": {"min": "1Gi"}}}},
                        "consumesCounters": [{"counterSet": "board", "counters": {"memory": {"value": 2}}}],
                    }
                ],
            },
        }
    )
    assert isinstance(read, ResourceSlice)
    assert read.key == "one"
    (device,) = read.spec.devices
    assert device.attributes == {
        "index": DeviceAttribute(int_value=1),
        "ecc": DeviceAttribute(bool_value=False),
        "model": DeviceAttribute(string="a"),
        "driverVersion": DeviceAttribute(version="1.2.3"),
        "modes": DeviceAttribute(strings=("x", "y")),
    }
    memory = device.capacity["memory"]
    assert memory.value == "40Gi"
    assert memory.request_policy is not None
    assert memory.request_policy.valid_range is not None
    assert memory.request_policy.valid_range.min == "1Gi"
    assert device.consumes_counters[0].counters["memory"].value == 2


def test_a_claim_with_its_allocation() -> None:
    read = convert_object(
        {
            **V1,
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {
                "devices": {
                    "requests": [
                        {"name": "one", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
                        {"name": "two", "firstAvailable": [{"name": "big", "deviceClassName": "gpu", "count": 2}]},
                    ]
                }
            },
            "status": {
                "allocation": {
                    "devices": {"results": [{"request": "one", "device": "gpu-0", "shareID": "s", "adminAccess": None}]}
                },
                "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
            },
        }
    )
    assert isinstance(read, ResourceClaim)
    exactly = read.spec.devices.requests[0].exactly
    assert exactly is not None
    assert exactly.device_class_name == "gpu"
    assert read.spec.devices.requests[1].first_available[0].count == 2
    assert read.status.allocation is not None
    (result,) = read.status.allocation.devices.results
    assert (result.share_id, result.admin_access) == ("s", None)
    assert read.status.reserved_for[0].uid == "u"


def test_the_other_kinds() -> None:
    spec = {"selectors": [{"cel": {"expression": "true"}}], "extendedResourceName": "example.com/gpu"}
    read = convert_object({**V1, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": spec})
    assert isinstance(read, DeviceClass)
    assert read.spec.selectors[0].cel is not None
    assert read.spec.extended_resource_name == "example.com/gpu"
    # An absent selector taints nothing, an empty one everything: they stay apart.
    rule = {**V1, "kind": "DeviceTaintRule", "metadata": {"name": "r"}}
    absent = convert_object({**rule, "spec": {"taint": {"key": "k"}}})
    empty = convert_object({**rule, "spec": {"deviceSelector": {}, "taint": {"key": "k"}}})
    assert isinstance(absent, DeviceTaintRule)
    assert isinstance(empty, DeviceTaintRule)
    assert absent.spec.device_selector is None
    assert empty.spec.device_selector is not None
    template = convert_object({**V1, "kind": "ResourceClaimTemplate", "metadata": {"name": "t", "namespace": "n"}})
    assert isinstance(template, ResourceClaimTemplate)
