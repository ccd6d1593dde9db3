"""The configuration in full, as /configz and --write-config-to show it: what was left out has its default."""

from typing import Any

import msgspec

from moorage.config.decode import decode_configuration
from moorage.config.defaults import with_defaults
from moorage.config.gates import DEFAULT_FEATURES, Features
from moorage.config.types import API_VERSION, KIND, KubeSchedulerConfiguration, LeaderElection
from moorage.values import yaml
from moorage.values.duration import Duration


def complete_document(
    text: bytes | None, leader_election: LeaderElection, features: Features = DEFAULT_FEATURES
) -> dict[str, Any]:
    """A KubeSchedulerConfiguration with every default written out. The text must have been found without fault."""
    written = KubeSchedulerConfiguration() if text is None else decode_configuration(yaml.load(text), [])
    complete = msgspec.structs.replace(with_defaults(written, features), leader_election=leader_election)
    return {"apiVersion": API_VERSION, "kind": KIND, **_plain(complete)}


def _plain(value: Any) -> Any:
    """Structs as mappings with the names files use, nothing left out but what has no value."""
    match value:
        case msgspec.Struct():
            fields = ((field.encode_name, getattr(value, field.name)) for field in msgspec.structs.fields(value))
            return {name: _plain(item) for name, item in fields if item is not None}
        case Duration():
            return str(value)
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():
            return {name: _plain(item) for name, item in value.items()}
        case bytes():
            return msgspec.to_builtins(value)
    return value
