"""Claims on devices and their templates, as controllers read them."""

from typing import Any, ClassVar

from moorage import objects
from moorage.controllers.objects.meta import Managed
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
