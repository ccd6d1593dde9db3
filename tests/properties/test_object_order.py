"""The order in which objects arrive changes no decision: nodes before their pods, after them, in between."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.random_clusters import CONFIGS, NODE_NAMES, SURROUNDINGS, make_pod, nodes, pod_traits

from moorage.columns import Snapshot
from moorage.config import parse_config
from moorage.engine import make_engine
from moorage.objects import KubeObject, Pod

PARSED = {name: parse_config(document) for name, document in CONFIGS.items()}


@st.composite
def clusters(draw: st.DrawFn) -> list[KubeObject]:
    names = NODE_NAMES[: draw(st.integers(1, len(NODE_NAMES)))]
    places = draw(st.lists(st.sampled_from(names), max_size=12))
    placed = [make_pod(f"p{number}", draw(pod_traits()), node=name) for number, name in enumerate(places)]
    return [*SURROUNDINGS, *(draw(nodes(name)) for name in names), *placed]


def decision(objects: list[KubeObject], pod: Pod, config: str) -> dict[str, object]:
    engine = make_engine(Snapshot.of(objects), PARSED[config])
    data = engine.explain(engine.snapshot.info(pod)).as_data()
    data.pop("preemption", None)  # among pods that have not started, the order of arrival decides who goes
    return data


@settings(max_examples=100)
@given(clusters(), pod_traits(), st.sampled_from(sorted(CONFIGS)), st.integers(0, 99))
def test_any_order_will_do(objects: list[KubeObject], traits: list[str], config: str, seed: int) -> None:
    pod = make_pod("new", traits)
    shuffled = list(objects)
    Random(seed).shuffle(shuffled)
    assert decision(shuffled, pod, config) == decision(objects, pod, config)
