"""ImageLocality."""

import pytest

from moorage.objects import ImageVolume, Volume
from moorage.testing import Cluster, NodeBuilder, PodBuilder, a_node, a_pod


def scores(pod: PodBuilder, *nodes: NodeBuilder) -> list[int]:
    decided = Cluster(*nodes).decide(pod)
    return [decided.score(node.node.metadata.name, "ImageLocality") for node in nodes]


def test_nodes_that_hold_the_image_are_preferred() -> None:
    pod = a_pod().image("web:1")
    # 800 MiB on one of two nodes is worth 400; between 23 and 1000 MiB lies the scale.
    assert scores(pod, a_node("a").image("web:1", size="800Mi"), a_node("b")) == [38, 0]
    assert scores(pod, a_node("a").image("web:1", size="800Mi"), a_node("b").image("web:1", size="800Mi")) == [79, 79]


@pytest.mark.parametrize(("size", "score"), [("1Mi", 0), ("23Mi", 0), ("1000Mi", 100), ("9Gi", 100), ("500Mi", 48)])
def test_the_scale(size: str, score: int) -> None:
    assert scores(a_pod().image("web:1"), a_node("a").image("web:1", size=size)) == [score]


def test_names_without_tag_mean_latest() -> None:
    nodes = (a_node("a").image("example.com:5000/web:latest", size="1000Mi"),)
    assert scores(a_pod().image("example.com:5000/web"), *nodes) == [100]
    assert scores(a_pod().image("example.com:5000/web:2"), *nodes) == [0]


def test_every_container_and_image_volume_counts() -> None:
    node = a_node("a").image("web:1", size="1000Mi").image("model:1", size="1000Mi")
    volume = Volume(name="model", image=ImageVolume("model:1"))
    assert scores(a_pod().image("web:1").init_container(image="web:1"), node) == [100]
    assert scores(a_pod().image("web:1").container(image="other:1"), node) == [49]
    assert scores(a_pod().image("web:1").container(image="other:1").spec(volumes=(volume,)), node) == [66]
