"""What built-in plugins say of themselves, and the tables that layers below keep of it, are the same."""

import pytest

from moorage.config.args import ARGS_TYPES
from moorage.config.defaults import default_plugins
from moorage.config.gates import features_of
from moorage.config.points import IN_TREE_POINTS, POINTS_BY_FEATURE
from moorage.framework.declaration import declared
from moorage.framework.registrations import kinds_read, kinds_written
from moorage.plugins import DEFAULT_PLUGINS

DECLARED = {declaration.name: declaration for declaration in map(declared, DEFAULT_PLUGINS)}


@pytest.mark.parametrize("name", DECLARED)
def test_points_and_arguments_are_those_a_configuration_is_read_by(name: str) -> None:
    assert DECLARED[name].points == IN_TREE_POINTS[name]
    assert DECLARED[name].args_type is ARGS_TYPES.get(name)


@pytest.mark.parametrize("plugin", DEFAULT_PLUGINS)
def test_points_that_come_with_a_feature_are_those_a_configuration_is_read_by(plugin: type) -> None:
    table = {
        feature: tuple(points[plugin.__name__])
        for feature, points in POINTS_BY_FEATURE.items()
        if plugin.__name__ in points
    }
    assert dict(getattr(plugin, "points_by_feature", {})) == table


def test_every_kind_of_arguments_has_its_plugin() -> None:
    assert ARGS_TYPES.keys() <= DECLARED.keys()


@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_default_weights_are_the_plugins_own(version: str) -> None:
    enabled = [one for one in default_plugins(features_of(version)).multi_point.enabled if one.name in DECLARED]
    weights = {one.name: one.weight or 1 for one in enabled if "score" in DECLARED[one.name].points}
    assert weights == {name: DECLARED[name].default_weight for name in weights}


def test_default_plugins_stand_in_their_order() -> None:
    """Of 1.36: which plugins later versions ask earlier is the configuration's to say."""
    enabled = [one.name for one in default_plugins(features_of("1.36")).multi_point.enabled if one.name in DECLARED]
    assert enabled == [name for name in DECLARED if name in enabled]


@pytest.mark.parametrize("plugin", DEFAULT_PLUGINS)
def test_declared_kinds_are_kinds(plugin: type) -> None:
    kinds_read(plugin.__name__, plugin)
    kinds_written(plugin.__name__, plugin)
