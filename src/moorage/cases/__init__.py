"""Recorded cases, and what Moorage makes of them: decisions on one cluster, and scripts played over virtual time.

reading     the fields and objects of a case
deciding    cases with `schedule`: pods decided one after the other
script      cases with `script`: what happens when
server      the API server of a script
playing     a whole scheduler on that server, and what it did in each step
"""

from collections.abc import Mapping
from typing import Any

from moorage.cases.deciding import ScheduleCase
from moorage.cases.playing import ScriptCase
from moorage.config import DEFAULT_FEATURES, Features
from moorage.framework.registry import Registry

__all__ = ["ScheduleCase", "ScriptCase", "outcome"]


def outcome(
    tree: Any,
    *,
    registry: Registry | None = None,
    seed: int = 0,
    features: Features = DEFAULT_FEATURES,
    ask_extenders: bool = False,
) -> dict[str, Any]:
    """What `moorage decide` writes for a case. Raises InputError that names the field. Scripts ask no extenders."""
    if isinstance(tree, Mapping) and "script" in tree:
        script = ScriptCase(tree, registry=registry, seed=seed, features=features)
        return {"name": script.name, "steps": list(script.steps())}
    case = ScheduleCase(tree, registry=registry, seed=seed, features=features, ask_extenders=ask_extenders)
    return {"name": case.name, "decisions": [decision.as_data() for decision in case.decisions()]}
