"""The plugins at each extension point of a profile, in running order, and the weights of those that score.

Plugins listed at a point that multiPoint brings too come first, then the rest of multiPoint, then the others
listed: so listing a default plugin at a point moves it to that point's front.
"""

from collections.abc import Iterator, Mapping

import msgspec

from moorage.config.defaults import ALL
from moorage.config.fields import Fault
from moorage.config.points import EXTENSION_POINTS, KnownPlugins, PluginPoints
from moorage.config.types import Plugin, Plugins, PluginSet
from moorage.errors import did_you_mean

_HIGHEST_SCORE = 100
_MAX_INT64 = 2**63 - 1


class ProfilePlugins(msgspec.Struct, frozen=True):
    """What runs where. Points without plugins are absent from `points`."""

    points: Mapping[str, tuple[str, ...]]
    score_weights: Mapping[str, int]
    placement_score_weights: Mapping[str, int]

    def at(self, point: str) -> tuple[str, ...]:
        """The plugins at a point, in running order."""
        return self.points.get(point, ())

    @property
    def names(self) -> tuple[str, ...]:
        """Every plugin that runs somewhere, each once."""
        return tuple(dict.fromkeys(name for names in self.points.values() for name in names))


def expand(plugins: Plugins, known: KnownPlugins, path: str, faults: list[Fault]) -> ProfilePlugins:
    """Expand merged plugins. Faults are appended; the result is of use only where there are none."""
    before, serves = len(faults), known.points
    faults += _listed_faults(plugins, known, f"{path}.plugins")
    if len(faults) > before:
        return ProfilePlugins({}, {}, {})
    running = {point: _running(plugins, point, serves) for point in EXTENSION_POINTS}
    faults += _count_faults(running, path)
    weights = _weights(plugins, "score", running, known, path, faults)
    placement_weights = _weights(plugins, "placementScore", running, known, path, faults)
    points = {point: names for point, names in running.items() if names}
    return ProfilePlugins(points, weights, placement_weights)


def _listed_faults(plugins: Plugins, known: KnownPlugins, path: str) -> Iterator[Fault]:
    """Names that do not exist, do not serve the point they are listed at, or are listed twice."""
    for point in EXTENSION_POINTS:
        seen: set[str] = set()
        for index, plugin in enumerate(plugins.at(point).enabled):
            problem = _problem_at(plugin.name, point, known, seen)
            if problem:
                yield Fault(f"{path}.{point}.enabled[{index}]", problem, "build")
            seen.add(plugin.name)
    multi_point = plugins.multi_point
    seen = set()
    for plugin in multi_point.enabled:
        if plugin.name not in known.points:
            yield Fault(f"{path}.multiPoint.enabled", no_such_plugin(plugin.name, known), "build")
        elif plugin.name in seen and _brought_by_multi_point(plugin.name, plugins, known.points):
            yield Fault(f"{path}.multiPoint.enabled", f'plugin "{plugin.name}" is listed twice', "build")
        seen.add(plugin.name)


def _problem_at(name: str, point: str, known: KnownPlugins, seen: set[str]) -> str:
    serves = known.points
    if name not in serves:
        return no_such_plugin(name, known)
    if point not in serves[name]:
        served = ", ".join(known for known in EXTENSION_POINTS if known in serves[name])
        return f'plugin "{name}" does not extend {point}; it serves {served}'
    return f'plugin "{name}" is listed twice' if name in seen else ""


def no_such_plugin(name: str, known: KnownPlugins) -> str:
    """Why there is no plugin of this name, and what to do."""
    if name in known.broken:
        return f'plugin "{name}" is broken: {known.broken[name]}'
    registered = "; one that is not built in must be registered (--plugin, or an entry point)"
    cure = did_you_mean(name, known.points) or registered
    return f'plugin "{name}" does not exist{cure}'


def _brought_by_multi_point(name: str, plugins: Plugins, serves: PluginPoints) -> bool:
    """Whether multiPoint brings the plugin to some point: only there does naming it twice do harm."""
    return any(
        point in serves[name] and _multi_point_applies(name, plugins.at(point))
        for point in EXTENSION_POINTS
        if name not in _names(plugins.at(point).enabled)
    )


def _multi_point_applies(name: str, at_point: PluginSet) -> bool:
    disabled = _names(at_point.disabled)
    return name not in disabled and ALL not in disabled


def _running(plugins: Plugins, point: str, serves: PluginPoints) -> tuple[str, ...]:
    at_point = plugins.at(point)
    listed = _names(at_point.enabled)
    brought = [
        plugin.name
        for plugin in plugins.multi_point.enabled
        if point in serves[plugin.name] and _multi_point_applies(plugin.name, at_point)
    ]
    overriding = [name for name in listed if name in brought]
    ordered = (*overriding, *(name for name in brought if name not in listed), *listed)
    return tuple(dict.fromkeys(ordered))


def _count_faults(running: Mapping[str, tuple[str, ...]], path: str) -> Iterator[Fault]:
    sorts = running["queueSort"]
    if len(sorts) != 1:
        got = ", ".join(sorts) or "none"
        yield Fault(f"{path}.plugins.queueSort", f"exactly one queue sort plugin is required, got {got}", "build")
    if not running["bind"]:
        yield Fault(f"{path}.plugins.bind", "at least one bind plugin is required", "build")
    generators = running["placementGenerate"]
    if len(generators) > 1:
        problem = f"at most one placement generate plugin is allowed, got {', '.join(generators)}"
        yield Fault(f"{path}.plugins.placementGenerate", problem, "build")


def _weights(
    plugins: Plugins,
    point: str,
    running: Mapping[str, tuple[str, ...]],
    known: KnownPlugins,
    path: str,
    faults: list[Fault],
) -> dict[str, int]:
    """The weight of each plugin running at a scoring point: where it is listed first counts, 0 means its default."""
    weights: dict[str, int] = {}
    total = 0
    for plugin in (*plugins.at(point).enabled, *plugins.multi_point.enabled):
        if point not in known.points[plugin.name] or plugin.name in weights:
            continue
        weight = weights[plugin.name] = plugin.weight or known.weights.get(plugin.name, 1)
        # Go's arithmetic wraps: after a negative sum the room left is itself negative, and refuses what follows.
        if weight * _HIGHEST_SCORE > _wrapped(_MAX_INT64 - total):
            faults.append(Fault(f"{path}.plugins.{point}", "the total score of the plugins could overflow", "build"))
            break
        total = _wrapped(total + weight * _HIGHEST_SCORE)
    return {name: weights[name] for name in running[point] if name in weights}


def _wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _names(plugins: tuple[Plugin, ...]) -> list[str]:
    return [plugin.name for plugin in plugins]
