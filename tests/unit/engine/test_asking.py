"""Extenders as decisions see them, and the answers that belong to an attempt."""

import pytest

from moorage.columns import PodInfo, Snapshot
from moorage.config.types import Extender as ExtenderConfig
from moorage.config.types import ExtenderManagedResource
from moorage.engine.asking import Answers, Broken, Extender, FilterAnswer, FilterQuestion, PrioritizeQuestion
from moorage.objects.pod import Container, ResourceRequirements
from moorage.testing import PodBuilder, a_pod


def info(pod: PodBuilder) -> PodInfo:
    return Snapshot().info(pod.build())


def test_an_extender_is_what_its_configuration_says() -> None:
    config = ExtenderConfig(
        url_prefix="http://one/", filter_verb="f", bind_verb="b", weight=3, ignorable=True, node_cache_capable=True
    )
    assert Extender.of(config, 2) == Extender(
        "http://one/", 2, filters=True, binds=True, weight=3, ignorable=True, node_cache_capable=True
    )
    assert Extender.of(ExtenderConfig(prioritize_verb="p", preempt_verb="q"), 0).prioritizes
    assert Extender.of(ExtenderConfig(prioritize_verb="p", preempt_verb="q"), 0).preempts


@pytest.mark.parametrize(
    ("pod", "interested"),
    [
        (a_pod().requests(cpu="1"), False),
        (a_pod().requests(**{"example.com/gpu": "1"}), True),
        (a_pod().spec(containers=(Container(resources=ResourceRequirements(limits={"example.com/gpu": "1"})),)), True),
        (a_pod().init_container(requests={"example.com/gpu": "1"}), True),
        (a_pod().overhead(**{"example.com/gpu": "1"}), False),
        (a_pod(), False),
    ],
)
def test_an_extender_of_some_resources_sees_pods_that_name_them(pod: PodBuilder, interested: bool) -> None:
    resources = (ExtenderManagedResource(name="example.com/gpu"),)
    extender = Extender.of(ExtenderConfig(managed_resources=resources), 0)
    assert extender.is_interested(info(pod)) is interested
    assert Extender.of(ExtenderConfig(), 0).is_interested(info(pod))


def test_an_answer_is_added_and_an_earlier_round_forgotten() -> None:
    pod, extender = info(a_pod()), Extender("http://one", filters=True)
    first = FilterQuestion(pod, extender, ("a", "b"), next_start=7)
    answers = Answers(seed=5).answered(first, FilterAnswer(frozenset("a")))
    assert answers.given[first.key] == (first, FilterAnswer(frozenset("a")))
    assert (answers.seed, answers.next_start, answers.round) == (5, 7, 0)
    second = PrioritizeQuestion(pod, (extender,), ("a",), next_start=7)
    assert set(answers.answered(second, Broken("down")).given) == {first.key, second.key}
    again = FilterQuestion(pod, extender, ("c",), next_start=9, round=1)
    anew = answers.answered(second, Broken("down")).answered(again, FilterAnswer(frozenset("c")))
    assert anew.given == {again.key: (again, FilterAnswer(frozenset("c")))}
    assert (anew.round, anew.next_start) == (1, 9)
