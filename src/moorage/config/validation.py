"""kube-scheduler's rules for a configuration, with its field paths and its words. Takes one with defaults applied."""

from collections.abc import Iterator
from typing import Any

from moorage.config.argvalidation import validate_args
from moorage.config.fields import Fault, duplicate, invalid, required
from moorage.config.gates import Features
from moorage.config.points import POD_GROUP_POST_FILTER, POD_POINTS
from moorage.config.types import (
    API_VERSION,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    LeaderElection,
    PluginSet,
    ProfileSection,
)
from moorage.values.duration import Duration
from moorage.values.names import is_extended_resource, label_key_problems

_REMOVED_PLUGINS = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})
_REMOVED_PROBLEM = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
_LEASES = "leases"


def validate(config: KubeSchedulerConfiguration, features: Features) -> Iterator[Fault]:
    """Every fault of the configuration's values."""
    yield from _client_connection(config.client_connection)
    yield from _leader_election(config.leader_election)
    if config.parallelism <= 0:
        yield invalid("parallelism", config.parallelism, "should be an integer value greater than zero")
    yield from _profiles(config.profiles, features)
    yield from _percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    yield from _backoff(config)
    yield from _extenders(config.extenders)


def _client_connection(connection: ClientConnection) -> Iterator[Fault]:
    if connection.burst < 0:
        yield invalid("clientConnection.burst", connection.burst, "must be non-negative")


def _leader_election(election: LeaderElection) -> Iterator[Fault]:
    # Empty names cannot be told from absent ones: defaults have filled them.
    if not election.leader_elect:
        return
    spans = (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    )
    for name, span in spans:
        if span <= Duration(0):
            yield invalid(f"leaderElection.{name}", span, "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        problem = f"must be greater than renewDeadline ({election.renew_deadline})"
        yield invalid("leaderElection.leaseDuration", election.lease_duration, problem)
    if election.resource_lock != _LEASES:
        problem = f'resourceLock value must be "{_LEASES}"'
        yield invalid("leaderElection.resourceLock", election.resource_lock, problem)


def _backoff(config: KubeSchedulerConfiguration) -> Iterator[Fault]:
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if longest < initial:
        problem = f"must be greater than or equal to podInitialBackoffSeconds ({initial})"
        yield invalid("podMaxBackoffSeconds", longest, problem)


def _percentage(path: str, percentage: int | None) -> Iterator[Fault]:
    if percentage is not None and not 0 <= percentage <= 100:
        yield invalid(path, percentage, "not in valid range [0-100]")


def _profiles(profiles: tuple[ProfileSection, ...], features: Features) -> Iterator[Fault]:
    names: set[str | None] = set()
    for index, profile in enumerate(profiles):
        path = f"profiles[{index}]"
        if not profile.scheduler_name:
            yield required(f"{path}.schedulerName")
        yield from _percentage(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
        yield from _removed_plugins(profile, path)
        yield from _plugin_config(profile, path, features)
        if profile.scheduler_name in names:
            yield duplicate(f"{path}.schedulerName", profile.scheduler_name)
        names.add(profile.scheduler_name)
    yield from _common_queue_sort(profiles)


def _removed_plugins(profile: ProfileSection, path: str) -> Iterator[Fault]:
    # multiPoint is not looked at here, as in kube-scheduler: there such a name fails as unknown.
    for point in (*POD_POINTS, POD_GROUP_POST_FILTER):
        for index, plugin in enumerate(profile.plugins.at(point).enabled):
            if plugin.name in _REMOVED_PLUGINS:
                yield invalid(f"{path}.plugins.{point}.enabled[{index}]", plugin.name, _REMOVED_PROBLEM)


def _plugin_config(profile: ProfileSection, path: str, features: Features) -> Iterator[Fault]:
    seen: set[str] = set()
    for index, config in enumerate(profile.plugin_config):
        config_path = f"{path}.pluginConfig[{index}]"
        if config.name in seen:
            yield duplicate(config_path, config.name)
        seen.add(config.name)
        if config.name in _REMOVED_PLUGINS:
            yield invalid(config_path, config.name, _REMOVED_PROBLEM)
        else:
            yield from validate_args(config.args, f"{config_path}.args", features)


def _common_queue_sort(profiles: tuple[ProfileSection, ...]) -> Iterator[Fault]:
    """One queue serves all profiles, so they must agree on its order."""
    first = profiles[0]
    common = first.plugins.queue_sort
    name = common.enabled[0].name if common.enabled else ""
    if len(common.enabled) > 1:
        path = "profiles[0].plugins.queueSort.Enabled"
        yield invalid(path, len(common.enabled), "only one queue sort plugin can be enabled")
    args = _last_args(first, name) if name else None
    for index, profile in enumerate(profiles[1:], start=1):
        if profile.plugins.queue_sort != common:
            path = f"profiles[{index}].plugins.queueSort"
            yield invalid(path, _names(profile.plugins.queue_sort), "must be the same for all profiles")
        for config in profile.plugin_config:
            if config.name == name and config.args != args:
                path = f"profiles[{index}].pluginConfig.args"
                yield invalid(path, config.args, "queueSort must be the same for all profiles")


def _last_args(profile: ProfileSection, name: str) -> Any:
    found = [config.args for config in profile.plugin_config if config.name == name]
    return found[-1] if found else None


def _names(plugins: PluginSet) -> dict[str, list[str]]:
    return {
        "enabled": [plugin.name for plugin in plugins.enabled],
        "disabled": [plugin.name for plugin in plugins.disabled],
    }


def _extenders(extenders: tuple[Extender, ...]) -> Iterator[Fault]:
    managed: set[str] = set()
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it")
        for position, resource in enumerate(extender.managed_resources):
            name_path = f"{path}.managedResources[{position}].name"
            yield from _extended_resource(name_path, resource.name)
            if resource.name in managed:
                yield invalid(name_path, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        yield invalid("extenders", found, "only one extender can implement bind")


def _extended_resource(path: str, name: str) -> Iterator[Fault]:
    problems = label_key_problems(name)
    if not problems and not is_extended_resource(name):
        problems = ["is an invalid extended resource name"]
    for problem in problems:
        yield invalid(path, name, problem)
