"""Claims on devices and their templates, as controllers read them."""

from typing import Any, ClassVar

from moorage import objects
from moorage.controllers.objects.meta import Condition, Managed
from moorage.objects import Struct

GROUP_VERSION = "resource.k8s.io/v1"


class ResourceClaim(Managed, frozen=True):
    """A claim: whose it is and who may use it."""

    API_VERSION: ClassVar[str] = GROUP_VERSION
    KIND: ClassVar[str] = "ResourceClaim"

    status: objects.ResourceClaimStatus = objects.ResourceClaimStatus()


class TemplateSpec(Struct, frozen=True):
    """spec: what a claim is made of."""

    metadata: dict[str, Any] = {}
    spec: dict[str, Any] = {}


class ResourceClaimTemplate(Managed, frozen=True):
    """A template for claims."""

    API_VERSION: ClassVar[str] = GROUP_VERSION
    KIND: ClassVar[str] = "ResourceClaimTemplate"

    spec: TemplateSpec = TemplateSpec()


class ResourceSlice(Managed, frozen=True):
    """Devices that a driver offers."""

    API_VERSION: ClassVar[str] = GROUP_VERSION
    KIND: ClassVar[str] = "ResourceSlice"

    spec: objects.ResourceSliceSpec = objects.ResourceSliceSpec()


class DeviceTaintRuleStatus(Struct, frozen=True):
    """status: whether pods are being evicted."""

    conditions: tuple[Condition, ...] = ()


class DeviceTaintRule(Managed, frozen=True):
    """A taint that an administrator puts on devices."""

    API_VERSION: ClassVar[str] = GROUP_VERSION
    KIND: ClassVar[str] = "DeviceTaintRule"
    MAY_BE_MISSING: ClassVar[bool] = True

    spec: objects.DeviceTaintRuleSpec = objects.DeviceTaintRuleSpec()
    status: DeviceTaintRuleStatus = DeviceTaintRuleStatus()
