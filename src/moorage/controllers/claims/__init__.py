"""Claims on devices: made for pods from templates, let go once nobody uses them, and left where devices are tainted."""

from moorage.controllers.claims.evicting import DeviceTaintEviction
from moorage.controllers.claims.making import ClaimMaker
from moorage.controllers.claims.releasing import ClaimReleaser

__all__ = ["ClaimMaker", "ClaimReleaser", "DeviceTaintEviction"]
