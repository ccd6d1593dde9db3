"""Claims on devices: made for pods from templates, and let go once nobody uses them."""

from moorage.controllers.claims.making import ClaimMaker
from moorage.controllers.claims.releasing import ClaimReleaser

__all__ = ["ClaimMaker", "ClaimReleaser"]
