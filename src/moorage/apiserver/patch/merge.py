"""JSON merge patch (RFC 7386)."""

from typing import Any


def merge(original: Any, patch: Any) -> Any:
    """The original with the patch merged in: null removes, maps merge, all else replaces. May reuse both."""
    if not isinstance(patch, dict):
        return patch
    result = original if isinstance(original, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result
