"""JSON merge patches (RFC 7396)."""

from collections.abc import Mapping
from typing import Any


def merge_patch(tree: Any, patch: Any) -> Any:
    """The tree with the patch merged in: null takes a field away, anything but an object replaces."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(tree) if isinstance(tree, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
