"""What the server does to workloads beyond the defaults that all versions share."""

from typing import Any, Final

from moorage.apiserver.registry import Operation

Json = dict[str, Any]

_MAX_UNAVAILABLE: Final = "MaxUnavailableStatefulSet"


def settle_max_unavailable(operation: Operation, new: Json, old: Json | None = None) -> None:
    """A StatefulSet replaces one pod at a time where it may say how many; elsewhere the field is not stored."""
    rolling = _rolling(new)
    if rolling is None:
        return
    if _MAX_UNAVAILABLE in operation.registry.features:
        rolling.setdefault("maxUnavailable", 1)
    elif "maxUnavailable" not in (_rolling(old or {}) or {}):
        rolling.pop("maxUnavailable", None)


def _rolling(stateful_set: Json) -> Json | None:
    strategy = (stateful_set.get("spec") or {}).get("updateStrategy") or {}
    found: Json | None = strategy.get("rollingUpdate")
    return found
