"""What a plugin class says about itself. Everything that is known of a plugin stands on its class."""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from moorage.config.ownargs import field_types
from moorage.errors import InputError
from moorage.framework.answers import definition, place_of
from moorage.framework.handle import Handle
from moorage.framework.methods import check_methods, has_methods, what_is_missing
from moorage.framework.points import POINTS, WORKER_METHODS, Scope, worker_methods

#: What a plugin may be made with.
_OFFERED: Final = ("args", "handle")

#: What makes a plugin: the class, or a function that says in its return annotation which class it makes.
Factory = Callable[..., Any]


@dataclass(frozen=True)
class Declaration:
    """One plugin as registered."""

    name: str
    factory: Factory
    plugin: type
    #: The extension points it serves.
    points: frozenset[str]
    #: The dataclass or msgspec Struct that its arguments are read into; None: it gets what the file says.
    args_type: type | None
    #: What it weighs at Score where the configuration says nothing.
    default_weight: int

    @property
    def identity(self) -> tuple[str, str]:
        """Where it is written: the same class reached by two ways is one plugin."""
        try:
            file = str(Path(inspect.getfile(self.plugin)).resolve())
        except (TypeError, OSError):
            file = self.plugin.__module__
        return file, self.plugin.__qualname__

    @property
    def where(self) -> str:
        """The line of what makes it, as the end of a sentence."""
        return place_of(_maker(self.factory))

    def make(self, args: Any, handle: Handle) -> Any:
        """An instance. A parameter gets what it asks for by name; two positional ones get arguments and handle."""
        positional, named = self._wanted()
        given: Mapping[str, Any] = {"args": args, "handle": handle}
        return self.factory(*(given[name] for name in positional), **{name: given[name] for name in named})

    def _wanted(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What to pass by place and by name."""
        parameters = list(inspect.signature(self.factory).parameters.values())
        places = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        named = [one for one in parameters if one.kind is one.KEYWORD_ONLY]
        asked = [one.name for one in (*places, *named) if one.name in _OFFERED]
        strangers = [one for one in (*places, *named) if one.name not in asked and one.default is one.empty]
        if not strangers and not any(one.kind is one.POSITIONAL_ONLY for one in places):
            if any(one.kind is one.VAR_KEYWORD for one in parameters):
                return (), _OFFERED
            if asked or not any(one.kind is one.VAR_POSITIONAL for one in parameters):
                return (), tuple(asked)
            return _OFFERED, ()
        required = [one.name for one in places if one.default is one.empty]
        if len(places) >= 2 and len(required) <= 2 and not any(one.default is one.empty for one in named):
            # Any two do. Where one of them bears a name that is offered, the other is the other one.
            first, second = (one.name for one in places[:2])
            turned = first == "handle" or second == "args"
            return (("handle", "args") if turned else _OFFERED), ()
        names = ", ".join(one.name for one in strangers)
        problem = f"it is made with ({names}); ask for `args`, `handle`, both (in this order) or nothing"
        raise InputError(problem + place_of(_maker(self.factory)))


def _maker(factory: Factory) -> Any:
    """The function that is called: a class's own `__init__` where it has one."""
    init = inspect.getattr_static(factory, "__init__", None) if isinstance(factory, type) else factory
    return init if definition(init) else factory


def declared(plugin: Factory, name: str = "") -> Declaration:
    """What a class, or a function that makes one, says. Raises InputError where that cannot be."""
    made = plugin if isinstance(plugin, type) else _made_by(plugin)
    try:
        name = name or plugin_name(made)
        return _declared(plugin, made, name)
    except InputError as error:
        raise InputError(f'plugin "{name or made.__name__}": {error}') from None


def _declared(plugin: Factory, made: type, name: str) -> Declaration:
    check_methods(made)
    points = served_points(made)
    if not points:
        raise InputError(f"it serves no extension point: {what_is_missing(made)}")
    args_type = getattr(made, "args_type", None)
    if args_type is not None:
        try:
            field_types(args_type)
        except (InputError, TypeError, NameError) as error:
            problem = error.problem if isinstance(error, InputError) else f"args_type cannot be read: {error}"
            raise InputError(problem + place_of(made)) from None
    weight = getattr(made, "default_weight", 1)
    if not isinstance(weight, int) or isinstance(weight, bool) or weight < 1:
        raise InputError(f"default_weight is {weight!r}: expected an integer above 0{place_of(made)}")
    for scope in ("filter_scope", "score_scope"):
        if not isinstance(said := getattr(made, scope, Scope.CLUSTER), Scope):
            raise InputError(f"{scope} is {said!r}: expected {', '.join(map(str, Scope))}{place_of(made)}")
    if not isinstance(alike := getattr(made, "skips_alike", False), bool):
        raise InputError(f"skips_alike is {alike!r}: expected True or False{place_of(made)}")
    _check_worker_thread(made)
    maker = _maker(plugin)
    if inspect.iscoroutinefunction(maker):
        raise InputError(f"{maker.__qualname__} is async: what takes time belongs into `start`{place_of(maker)}")
    return Declaration(name, plugin, made, points, args_type, weight)


def plugin_name(plugin: type) -> str:
    """The `name` the class gives itself, or the name of the class. Raises InputError where that is no name."""
    own = inspect.getattr_static(plugin, "name", None)
    if own is None or own == "":
        return plugin.__name__
    if not isinstance(own, str):
        raise InputError(f"name is {own!r}: expected text{place_of(plugin)}")
    return own


def served_points(plugin: type) -> frozenset[str]:
    """The extension points whose methods the class has, and those (`nominal_points`) that it may be named at only.

    Those that it serves only where a feature is on (`points_by_feature`) are left out.
    """
    served = {point for point, contracts in POINTS.items() if any(has_methods(plugin, one) for one in contracts)}
    by_feature: Mapping[str, Iterable[str]] = getattr(plugin, "points_by_feature", {})
    gated = {point for points in by_feature.values() for point in points}
    return frozenset(served - gated | set(getattr(plugin, "nominal_points", ())))


def _check_worker_thread(plugin: type) -> None:
    said = worker_methods(plugin)
    if not isinstance(said, tuple | list):
        raise InputError(
            f"worker_thread is {said!r}: expected a tuple of {', '.join(WORKER_METHODS)}{place_of(plugin)}"
        )
    for one in said:
        method = getattr(plugin, one, None) if one in WORKER_METHODS else None
        if method is None:
            problem = "which it has not" if one in WORKER_METHODS else f"expected some of {', '.join(WORKER_METHODS)}"
            raise InputError(f"worker_thread names {one!r}, {problem}{place_of(plugin)}")
        if inspect.iscoroutinefunction(method):
            raise InputError(f"worker_thread names {one}, which is async and runs beside anyway{place_of(plugin)}")


def _made_by(factory: Factory) -> type:
    name = getattr(factory, "__qualname__", repr(factory))
    if not callable(factory):
        raise InputError(f"{factory!r} is neither a class nor a function that makes a plugin")
    try:
        made = typing.get_type_hints(factory).get("return")
    except (NameError, TypeError) as error:
        raise InputError(f"the annotations of {name} cannot be read: {error}{place_of(factory)}") from None
    if not isinstance(made, type) or made is type(None):
        problem = f"{name} must say which class it makes: def {name}(args, handle) -> MyPlugin"
        raise InputError(problem + place_of(factory))
    return made
