"""Which existing volume is the best for a claim."""

from collections.abc import Iterable

from moorage.controllers.objects.volumes import AVAILABLE, PersistentVolume, PersistentVolumeClaim
from moorage.errors import InputError
from moorage.values.quantity import parse_quantity
from moorage.values.selector import compile_selector

_FILESYSTEM = "Filesystem"


def is_reserved_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume's claimRef names this claim; one without uid does for any claim of the name."""
    reference = volume.spec.claim_ref
    if reference is None:
        return False
    meta = claim.metadata
    is_named = (reference.namespace, reference.name) == (meta.namespace, meta.name)
    return is_named and reference.uid in ("", meta.uid)


def reserved_volume(volumes: Iterable[PersistentVolume], claim: PersistentVolumeClaim) -> PersistentVolume | None:
    """A volume that is reserved for the claim and will do; one reserved for exactly this claim before others."""
    reserved = [volume for volume in volumes if is_reserved_for(volume, claim) and _is_usable(volume, claim)]
    return max(reserved, key=_has_uid, default=None)


def best_volume(volumes: Iterable[PersistentVolume], claim: PersistentVolumeClaim) -> PersistentVolume | None:
    """The smallest free volume that is large enough and meets what the claim asks for."""
    fitting = [volume for volume in volumes if is_free(volume) and satisfies(volume, claim)]
    return min(fitting, key=lambda volume: (size_of(volume), volume.metadata.name), default=None)


def is_free(volume: PersistentVolume) -> bool:
    """Whether nobody has the volume, and it may be had."""
    return volume.spec.claim_ref is None and volume.status.phase == AVAILABLE


def satisfies(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume that is not reserved is what the claim asks for."""
    if not _is_usable(volume, claim) or volume.class_name != claim.class_name:
        return False
    if not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
        return False
    if claim.selector is None:
        return True
    try:
        return compile_selector(claim.selector).matches(volume.metadata.labels)
    except InputError:
        return False


def size_of(volume: PersistentVolume) -> int:
    """The volume's capacity, in nano units."""
    return parse_quantity(volume.spec.capacity.get("storage", 0))


def _is_usable(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """What even a volume reserved for the claim must meet."""
    asked = parse_quantity(claim.spec.resources.requests.get("storage", 0))
    return (
        size_of(volume) >= asked
        and (volume.spec.volume_mode or _FILESYSTEM) == (claim.spec.volume_mode or _FILESYSTEM)
        and (volume.spec.volume_attributes_class_name or "") == (claim.spec.volume_attributes_class_name or "")
        and not volume.metadata.is_terminating
    )


def _has_uid(volume: PersistentVolume) -> bool:
    return volume.spec.claim_ref is not None and bool(volume.spec.claim_ref.uid)
