"""From a file's text, or a document already parsed, to a configuration ready to run."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from moorage.config.args import NodeResourcesFitArgs
from moorage.config.argvalidation import validate_fit_args
from moorage.config.decode import UNKNOWN_FIELD, decode_configuration
from moorage.config.defaults import enabled_names, with_defaults
from moorage.config.expand import ProfilePlugins, expand, no_such_plugin
from moorage.config.fields import ConfigErrors, Fault
from moorage.config.gates import DEFAULT_FEATURES, POD_GROUP_POST_FILTER_POINT, Features
from moorage.config.points import IN_TREE, POD_GROUP_POST_FILTER, KnownPlugins, points_with
from moorage.config.types import (
    KIND,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    LeaderElection,
    PluginConfig,
    ProfileSection,
    convert_hint,
)
from moorage.config.validation import validate
from moorage.errors import InputError
from moorage.values import yaml

_FIT = "NodeResourcesFit"


class Profile(msgspec.Struct, frozen=True):
    """One scheduler: the name pods ask for, and what runs for them.

    `percentage_of_nodes_to_score` is None where the global value holds. `args` holds what each plugin was given:
    typed arguments for those in-tree, what the file says for others.
    """

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    plugins: ProfilePlugins
    args: Mapping[str, Any]


class Config(msgspec.Struct, frozen=True):
    """A configuration with defaults applied, found without fault, its plugins expanded.

    `features` are those it was read with: the version of Kubernetes and the gates that everything built from it obeys.
    """

    profiles: tuple[Profile, ...]
    extenders: tuple[Extender, ...]
    parallelism: int
    percentage_of_nodes_to_score: int
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    leader_election: LeaderElection
    client_connection: ClientConnection
    enable_profiling: bool
    enable_contention_profiling: bool
    delay_cache_until_active: bool
    features: Features = DEFAULT_FEATURES
    #: What is no fault but seldom meant.
    warnings: tuple[Fault, ...] = ()


def load_config(
    text: str | bytes,
    *,
    source: str = "",
    known: KnownPlugins = IN_TREE,
    features: Features = DEFAULT_FEATURES,
) -> Config:
    """Read a configuration file, YAML or JSON.

    `known` says what plugins there are, the in-tree ones included. Raises ConfigErrors with every fault of the first
    stage that has any.
    """
    try:
        document = yaml.load(text, strict=True)
    except InputError as error:
        raise ConfigErrors([Fault("", error.problem, "decode")], source=source) from None
    if document is None:
        raise ConfigErrors([Fault("", f"the file is empty; expected a {KIND}", "decode")], source=source)
    if not yaml.looks_like_json(text):
        document = _numbers_as_in_json(document)
    return parse_config(document, source=source, known=known, features=features)


def parse_config(
    document: Mapping[str, Any] | None,
    *,
    source: str = "",
    known: KnownPlugins = IN_TREE,
    features: Features = DEFAULT_FEATURES,
) -> Config:
    """The same for a document already parsed; None stands for the defaults."""
    faults: list[Fault] = []
    written = KubeSchedulerConfiguration()
    if document is not None:
        written = decode_configuration(document, faults, known.args_types)
        if POD_GROUP_POST_FILTER_POINT not in features:
            faults += _points_of_later_versions(document)
        hint = convert_hint(document, source) if faults else ""
        if hint:
            faults[-1] = msgspec.structs.replace(faults[-1], problem=f"{faults[-1].problem}: {hint}")
    _raise(faults, source)
    complete = with_defaults(written, features)
    _raise(list(validate(complete, features)), source)
    known = dataclasses.replace(known, points=points_with(features, known.points))
    config = _build(complete, known, features, faults)
    _raise(faults, source)
    return config


def _points_of_later_versions(document: Mapping[str, Any]) -> Iterator[Fault]:
    """Points that the version does not have are unknown fields, even with nothing in them."""
    profiles = document.get("profiles") if isinstance(document, Mapping) else None
    for index, profile in enumerate(profiles if isinstance(profiles, list) else ()):
        plugins = profile.get("plugins") if isinstance(profile, Mapping) else None
        if isinstance(plugins, Mapping) and POD_GROUP_POST_FILTER in plugins:
            yield Fault(f"profiles[{index}].plugins.{POD_GROUP_POST_FILTER}", UNKNOWN_FIELD, "decode")


def default_config(*, known: KnownPlugins = IN_TREE, features: Features = DEFAULT_FEATURES) -> Config:
    """What runs without any file."""
    return parse_config(None, known=known, features=features)


def _numbers_as_in_json(document: Any) -> Any:
    """Whole numbers as integers, however written: Kubernetes turns YAML into JSON, where 1e1 becomes 10."""
    match document:
        case dict():
            return {key: _numbers_as_in_json(value) for key, value in document.items()}
        case list():
            return [_numbers_as_in_json(value) for value in document]
        case float() if document.is_integer():
            return int(document)
    return document


def _raise(faults: list[Fault], source: str) -> None:
    if faults:
        raise ConfigErrors(faults, source=source)


def _build(
    complete: KubeSchedulerConfiguration, known: KnownPlugins, features: Features, faults: list[Fault]
) -> Config:
    sections = _with_ignored_resources(complete, faults)
    profiles = tuple(_profile(section, f"profiles[{index}]", known, faults) for index, section in enumerate(sections))
    _check_queue_sort(profiles, faults)
    _check_extender_tls(complete.extenders, faults)
    return Config(
        profiles=profiles,
        extenders=complete.extenders,
        parallelism=complete.parallelism,
        percentage_of_nodes_to_score=complete.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds=complete.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=complete.pod_max_backoff_seconds,
        leader_election=complete.leader_election,
        client_connection=complete.client_connection,
        enable_profiling=complete.enable_profiling,
        enable_contention_profiling=bool(complete.enable_contention_profiling),
        delay_cache_until_active=complete.delay_cache_until_active,
        features=features,
        warnings=tuple(_unknown_configured(complete.profiles, known)),
    )


def _unknown_configured(profiles: tuple[ProfileSection, ...], known: KnownPlugins) -> Iterator[Fault]:
    """Arguments for plugins that nobody knows: kube-scheduler takes them without a word."""
    for index, profile in enumerate(profiles):
        for position, config in enumerate(profile.plugin_config):
            if config.name not in known.points:
                yield Fault(f"profiles[{index}].pluginConfig[{position}]", no_such_plugin(config.name, known), "build")


def _with_ignored_resources(complete: KubeSchedulerConfiguration, faults: list[Fault]) -> tuple[ProfileSection, ...]:
    """Resources that extenders want overlooked take the place of those the user has NodeResourcesFit ignore."""
    ignored = tuple(
        resource.name
        for extender in complete.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    if not ignored:
        return complete.profiles
    sections = []
    for index, section in enumerate(complete.profiles):
        if not any(config.name == _FIT for config in section.plugin_config):
            problem = f"an extender has resources ignoredByScheduler, which needs {_FIT} in every profile"
            faults.append(_build_fault(f"profiles[{index}].plugins", problem, section))
        configs = tuple(_ignoring(config, ignored) for config in section.plugin_config)
        sections.append(msgspec.structs.replace(section, plugin_config=configs))
    return tuple(sections)


def _ignoring(config: PluginConfig, resources: tuple[str, ...]) -> PluginConfig:
    if not isinstance(config.args, NodeResourcesFitArgs):
        return config
    return PluginConfig(config.name, msgspec.structs.replace(config.args, ignored_resources=resources))


def _profile(section: ProfileSection, path: str, known: KnownPlugins, faults: list[Fault]) -> Profile:
    found: list[Fault] = []
    if _FIT in enabled_names(section.plugins):
        for index, config in enumerate(section.plugin_config):
            if isinstance(config.args, NodeResourcesFitArgs):
                found += validate_fit_args(config.args, f"{path}.pluginConfig[{index}].args")
    plugins = expand(section.plugins, known, path, found)
    faults += (_build_fault(fault.path, fault.problem, section) for fault in found)
    return Profile(
        scheduler_name=section.scheduler_name or "",
        percentage_of_nodes_to_score=section.percentage_of_nodes_to_score,
        plugins=plugins,
        args={config.name: config.args for config in section.plugin_config},
    )


def _check_queue_sort(profiles: tuple[Profile, ...], faults: list[Fault]) -> None:
    """One queue serves all profiles: what sorts it must be the same, however it came to be enabled."""
    if faults:
        return
    first = profiles[0]
    name = first.plugins.at("queueSort")[0]
    for index, profile in enumerate(profiles):
        other = profile.plugins.at("queueSort")[0]
        problem = ""
        if other != name:
            problem = f'different queue sort plugins: "{other}", but "{name}" in profile "{first.scheduler_name}"'
        elif profile.args.get(name) != first.args.get(name):
            problem = f'different arguments for the queue sort plugin than in profile "{first.scheduler_name}"'
        if problem:
            path = f"profiles[{index}].plugins.queueSort"
            faults.append(Fault(path, f'{problem} (profile "{profile.scheduler_name}")', "build"))


def _check_extender_tls(extenders: tuple[Extender, ...], faults: list[Fault]) -> None:
    for index, extender in enumerate(extenders):
        tls = extender.tls_config
        if tls is not None and tls.insecure and (tls.ca_file or tls.ca_data):
            problem = "root certificates cannot be given together with insecure"
            faults.append(Fault(f"extenders[{index}].tlsConfig.insecure", problem, "build"))


def _build_fault(path: str, problem: str, section: ProfileSection) -> Fault:
    return Fault(path, f'{problem} (profile "{section.scheduler_name}")', "build")
