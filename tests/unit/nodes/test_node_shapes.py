"""Shapes, as users write them on the command line."""

import pytest

from moorage.errors import InputError
from moorage.nodes.shapes import parse_shape
from moorage.objects import Taint


def test_a_shape_says_what_its_nodes_have() -> None:
    shape = parse_shape(
        "name=gpu,count=3,cpu=8,memory=64Gi,pods=20,example.com/gpu=4,zones=a;b,"
        "labels=disk:ssd;tier:,taints=dedicated=ml:NoSchedule;spot:PreferNoSchedule"
    )
    assert (shape.name, shape.count, shape.zones) == ("gpu", 3, ("a", "b"))
    assert shape.capacity == {
        "cpu": "8",
        "memory": "64Gi",
        "ephemeral-storage": "100Gi",
        "pods": "20",
        "example.com/gpu": "4",
    }
    assert shape.labels == {"disk": "ssd", "tier": ""}
    assert shape.taints == (
        Taint(key="dedicated", value="ml", effect="NoSchedule"),
        Taint(key="spot", effect="PreferNoSchedule"),
    )


def test_what_is_left_out_has_a_default() -> None:
    shape = parse_shape("cpu=2", count=7)
    assert (shape.name, shape.count, shape.capacity["memory"], shape.capacity["pods"]) == ("node", 7, "16Gi", "110")


def test_spaces_around_settings_do_not_matter() -> None:
    assert parse_shape(" cpu = 2 , labels = a:b ; c:d ") == parse_shape("cpu=2,labels=a:b;c:d")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "'' is not KEY=VALUE"),
        ("cpu", "'cpu' is not KEY=VALUE"),
        ("cpu=2,cpu=3", "cpu is given twice"),
        ("cpu=lots", 'cpu: "lots" is not a quantity'),
        ("cpu=-1", "cpu: '-1' is less than nothing"),
        ("cores=4", "cores: not a setting of a node: expected name, count,"),
        ("example.com/gpu=1.5", "comes in whole ones"),
        ("pods=0.5", "comes in whole ones"),
        ("count=-1", "count: '-1' is not a count"),
        ("count=two", "count: 'two' is not a count"),
        ("name=No_Name", "name: 'No_Name': a lowercase RFC 1123 subdomain"),
        ("labels=a=b", "labels: 'a=b' is no label here: expected KEY:VALUE"),
        ("labels=a:b;a:c", "labels: a is given twice"),
        ("labels=a:b;", "has an empty entry"),
        ("labels=-a:b", "labels: key '-a'"),
        ("labels=a:b c", "labels: value 'b c' of a"),
        ("taints=a", "taints: 'a' is no taint"),
        ("taints=:NoSchedule", "is no taint"),
        ("taints=a=b:Never", "taints: 'Never' is no effect of a taint"),
        ("zones=a;;b", "has an empty entry"),
    ],
)
def test_a_wrong_shape_is_refused_in_one_line_that_names_the_setting(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_shape(text)
    assert str(refused.value).startswith("--node")
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
