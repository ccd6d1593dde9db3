"""What the command line and the configuration file say about the process."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from moorage.attempt.inquiries import MOST_ASKING
from moorage.config import DEFAULT_FEATURES, Config, Features, LeaderElection, default_config, load_config
from moorage.config.decode import decode_configuration
from moorage.config.defaults import with_defaults
from moorage.config.types import API_VERSION, KIND, KubeSchedulerConfiguration
from moorage.config.view import plain
from moorage.engine.engine import default_registry
from moorage.errors import InputError
from moorage.extender.asking import make_clients
from moorage.extender.client import DEFAULT_BREAKER
from moorage.framework.registry import Registry
from moorage.kube.access import ClusterAccess, load_access
from moorage.kube.election import ElectionSettings
from moorage.values import yaml

ALWAYS_ALLOWED: Final = ("/healthz", "/readyz", "/livez")


@dataclass(frozen=True)
class Serving:
    """The HTTPS endpoint. Port 0 means none; without certificate files it makes its own certificate.

    With `plain` it speaks HTTP, and tells everything to everybody: for loopback.
    """

    address: str = "0.0.0.0"
    port: int = 10259
    certificate: Path | None = None
    key: Path | None = None
    always_allowed: Sequence[str] = ALWAYS_ALLOWED
    plain: bool = False


@dataclass(frozen=True)
class ExtenderOptions:
    """How extenders are asked: how many questions are out at once, and after how many failures in a row one is left
    alone for a while (0: never)."""

    questions: int = MOST_ASKING
    breaker: int = DEFAULT_BREAKER


@dataclass(frozen=True)
class Options:
    """Everything a process needs to know before it starts."""

    config: Config
    registry: Registry
    access: ClusterAccess
    serving: Serving
    asking: ExtenderOptions
    #: The configuration as the user would write it in full.
    document: dict[str, Any] = field(repr=False)

    @property
    def election(self) -> ElectionSettings | None:
        """The lease to lead by; None where no other instance is expected."""
        wanted = self.config.leader_election
        if not wanted.leader_elect:
            return None
        return ElectionSettings(
            name=wanted.resource_name,
            namespace=wanted.resource_namespace,
            lease_duration=wanted.lease_duration.seconds,
            renew_deadline=wanted.renew_deadline.seconds,
            retry_period=wanted.retry_period.seconds,
        )


def make_options(
    *,
    config_file: Path | None = None,
    kubeconfig: str = "",
    master: str = "",
    plugins: Sequence[str] = (),
    leader_election: dict[str, Any] | None = None,
    serving: Serving | None = None,
    features: Features = DEFAULT_FEATURES,
    asking: ExtenderOptions | None = None,
) -> Options:
    """Read the files and check everything that can be checked before the cluster is asked. Raises InputError.

    `leader_election` holds the fields that flags set: they win over the file's.
    """
    registry = default_registry()
    for reference in plugins:
        registry.register_named(reference)
    text = _read(config_file) if config_file is not None else None
    config = _with_flags(_load(text, config_file, registry, features), leader_election or {})
    make_clients(config.extenders, source=str(config_file))
    options = Options(
        config=config,
        registry=registry,
        access=load_access(config.client_connection.kubeconfig or kubeconfig, master=master),
        serving=serving or Serving(),
        asking=asking or ExtenderOptions(),
        document=complete_document(text, config.leader_election, features),
    )
    _ = options.election
    return options


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(error.strerror or str(error), where=str(path)) from None


def _load(text: bytes | None, path: Path | None, registry: Registry, features: Features) -> Config:
    if text is None:
        return default_config(known=registry.known, features=features)
    return load_config(text, source=str(path), known=registry.known, features=features)


def _with_flags(config: Config, fields: dict[str, Any]) -> Config:
    election: LeaderElection = msgspec.structs.replace(config.leader_election, **fields)
    return msgspec.structs.replace(config, leader_election=election)


def complete_document(
    text: bytes | None, leader_election: LeaderElection, features: Features = DEFAULT_FEATURES
) -> dict[str, Any]:
    """A KubeSchedulerConfiguration with every default written out. The text must have been found without fault."""
    written = KubeSchedulerConfiguration() if text is None else decode_configuration(yaml.load(text), [])
    complete = msgspec.structs.replace(with_defaults(written, features), leader_election=leader_election)
    return {"apiVersion": API_VERSION, "kind": KIND, **plain(complete)}
