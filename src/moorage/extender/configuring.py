"""Which plugins an extender runs, and the `extenders:` entry that makes kube-scheduler ask it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from moorage.config import DEFAULT_FEATURES, Config, Features, load_config, parse_config
from moorage.config.types import API_VERSION, KIND
from moorage.errors import InputError, did_you_mean
from moorage.framework.registry import Registry, plugin_name

#: Without a place in a queue and a way to bind no profile is complete, whatever plugins it is for.
_ALWAYS: Final = ("PrioritySort", "DefaultBinder")

#: Points that only a scheduler of one's own runs, and what becomes of them here.
_NOT_HERE: Final = {
    "preEnqueue": "pods enter the scheduler's queue without asking",
    "queueSort": "the order of pods is the scheduler's",
    "postFilter": "preemption is the scheduler's; its candidates are filtered here",
    "permit": "no pod is held: schedulers do not ask extenders before they bind",
}


def register(registry: Registry, plugins: Sequence[str | type]) -> list[str]:
    """Make the plugins known: classes, module:Class, file.py:Class, or the name of one that is. Raises InputError."""
    names = []
    for plugin in plugins:
        if isinstance(plugin, type):
            registry.register(plugin)
            names.append(plugin_name(plugin))
        elif ":" in plugin:
            names.append(registry.register_named(plugin))
        elif plugin in registry:
            names.append(plugin)
        else:
            hint = did_you_mean(plugin, registry.names) or f" or one of {', '.join(registry.names)}"
            raise InputError(f"expected module:Class, file.py:Class{hint}", where=f"--plugin {plugin}")
    if not names:
        raise InputError("expected at least one plugin", where="--plugin")
    return list(dict.fromkeys(names))


def plugins_config(
    registry: Registry,
    names: Sequence[str],
    text: str | bytes | None,
    source: str = "",
    *,
    features: Features = DEFAULT_FEATURES,
) -> Config:
    """These plugins alone, with the arguments and weights that a configuration gives them. Raises InputError."""
    if text is None:
        return parse_config(enabling(names), known=registry.known, features=features)
    config = load_config(text, source=source, known=registry.known, features=features)
    if len(config.profiles) != 1:
        raise InputError(f"expected one profile, got {len(config.profiles)}", where=f"{source}: profiles")
    (profile,) = config.profiles
    missing = [name for name in names if name not in profile.plugins.names]
    if missing:
        raise InputError(f"{', '.join(missing)} is enabled nowhere", where=f"{source}: profiles[0].plugins")
    wanted = {*names, *_ALWAYS}
    points = {
        point: tuple(name for name in there if name in wanted or point == "queueSort")
        for point, there in profile.plugins.points.items()
    }
    weights = {name: weight for name, weight in profile.plugins.score_weights.items() if name in wanted}
    plugins = msgspec.structs.replace(profile.plugins, points=points, score_weights=weights)
    return msgspec.structs.replace(config, profiles=(msgspec.structs.replace(profile, plugins=plugins),))


def enabling(names: Sequence[str]) -> dict[str, Any]:
    """The configuration that enables these plugins wherever they serve."""
    enabled = [{"name": name} for name in dict.fromkeys([*names, *_ALWAYS])]
    plugins = {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}}
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [{"plugins": plugins}]}


def degradations(config: Config, *, binds: bool, follows: bool) -> Iterator[str]:
    """What these plugins do in a scheduler and cannot do beside one, a sentence each."""
    plugins = config.profiles[0].plugins
    for point, why in _NOT_HERE.items():
        names = [name for name in plugins.at(point) if name not in _ALWAYS]
        if names:
            yield f"{point} of {', '.join(names)} is not run: {why}"
    for point in ("reserve", "preBind", "postBind"):
        names = list(plugins.at(point))
        if names and binds:
            yield f"{point} of {', '.join(names)} runs in bind only: nothing is reserved between filter and bind"
        elif names:
            yield f"{point} of {', '.join(names)} is not run: without a cluster to follow there is no bind"
    yield "hints are not heard: pods refused here are tried again after any event, and scores lose their last digit"
    if not follows:
        yield "no cluster is followed: plugins see the nodes they are sent, and no pods on them"


def snippet(url: str, verbs: Sequence[str], *, whole_nodes: bool, tls: Mapping[str, str]) -> dict[str, Any]:
    """The entry under `extenders:` in a KubeSchedulerConfiguration."""
    entry: dict[str, Any] = {"urlPrefix": url, **{f"{verb}Verb": verb for verb in verbs}}
    if "prioritize" in verbs:
        entry["weight"] = 1
    if tls:
        entry |= {"enableHTTPS": True, "tlsConfig": dict(tls)}
    return {**entry, "nodeCacheCapable": not whole_nodes, "httpTimeout": "5s", "ignorable": False}
