"""The configuration in full, as /configz and --write-config-to show it: what was left out has its default."""

from typing import Any

import msgspec

from moorage.config.decode import decode_configuration
from moorage.config.defaults import with_defaults
from moorage.config.gates import DEFAULT_FEATURES, Features
from moorage.config.types import API_VERSION, KIND, KubeSchedulerConfiguration, LeaderElection
from moorage.config.view import plain
from moorage.values import yaml


def complete_document(
    text: bytes | None, leader_election: LeaderElection, features: Features = DEFAULT_FEATURES
) -> dict[str, Any]:
    """A KubeSchedulerConfiguration with every default written out. The text must have been found without fault."""
    written = KubeSchedulerConfiguration() if text is None else decode_configuration(yaml.load(text), [])
    complete = msgspec.structs.replace(with_defaults(written, features), leader_election=leader_election)
    return {"apiVersion": API_VERSION, "kind": KIND, **plain(complete)}
