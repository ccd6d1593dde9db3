"""Cards and who holds them, without any cluster."""

from typing import Any

import pytest
from moorage_gpushare import GpuShare
from moorage_gpushare.cards import (
    COUNT,
    INDEX,
    MEMORY,
    NEED,
    Cards,
    annotations_for,
    best_fit,
    cards_of,
    need_of,
    read_unhealthy,
)
from moorage_gpushare.ledger import NO_ROOM, NOT_FOUND, NOT_SHARED, ConfigMap, Ledger

from moorage.objects import Container, Node, ObjectMeta, Pod
from moorage.objects.pod import ResourceRequirements
from moorage.testing import Cluster, a_node, a_pod


def container(amount: str, restart_policy: str = "") -> Container:
    return Container("main", resources=ResourceRequirements(limits={MEMORY: amount}), restart_policy=restart_policy)


def a_gpu_pod(name: str, amount: str = "4", *, node: str = "", card: int | None = None, **status: Any) -> Pod:
    builder = a_pod(name).spec(containers=(container(amount),)).status(**status)
    if card is not None:
        builder = builder.annotations({INDEX: str(card), NEED: amount})
    return builder.on(node).build() if node else builder.build()


def a_gpu_node(name: str = "n", memory: str = "30", count: str = "2") -> Node:
    return a_node(name).allocatable({MEMORY: memory}).status(capacity={MEMORY: memory, COUNT: count}).build()


def unhealthy(node: str, cards: str) -> ConfigMap:
    return ConfigMap(ObjectMeta(f"unhealthy-gpu-{node}", "kube-system"), {"gpus": cards})


class TestArithmetic:
    @pytest.mark.parametrize(
        ("capacity", "cards"),
        [
            ({MEMORY: "30", COUNT: "2"}, Cards(2, 15, 30)),
            ({MEMORY: 31, COUNT: 2}, Cards(2, 15, 31)),
            ({MEMORY: "30"}, Cards(0, 0, 30)),
            ({COUNT: "2"}, Cards(2, 0, 0)),
            ({MEMORY: "lots", COUNT: "-1"}, Cards()),
            ({}, Cards()),
        ],
    )
    def test_cards_are_what_the_capacity_says_rounded_down(self, capacity: Any, cards: Cards) -> None:
        assert cards_of(capacity) == cards

    @pytest.mark.parametrize(
        ("init", "main", "need"),
        [
            ((), ("2", "3"), 5),
            (("7",), ("2", "3"), 7),
            (("4",), ("2", "3"), 5),
            ((), (), 0),
            (("5",), (), 5),
            ((), ("1500m",), 2),
            ((), ("-3", "2"), 2),
            ((), ("1e19",), 10**19),
            ((), ("lots",), 0),
        ],
    )
    def test_a_pod_needs_the_larger_of_its_init_containers_and_the_others_together(
        self, init: tuple[str, ...], main: tuple[str, ...], need: int
    ) -> None:
        builder = a_pod().spec(
            init_containers=tuple(map(container, init)), containers=tuple(container(amount) for amount in main)
        )
        assert need_of(builder.build()) == need

    def test_sidecars_stay(self) -> None:
        init = (container("2", "Always"), container("5"))
        assert need_of(a_pod().spec(init_containers=init, containers=(container("3"),)).build()) == 7
        assert need_of(a_pod().spec(init_containers=init, containers=(container("6"),)).build()) == 8

    def test_best_fit_is_the_fullest_card_that_suffices_the_first_among_equals(self) -> None:
        assert best_fit([15, 4, 9, 4], 4, frozenset()) == 1
        assert best_fit([15, 4, 9, 4], 4, frozenset((1,))) == 3
        assert best_fit([15, 4, 9, 4], 10, frozenset()) == 0
        assert best_fit([-3, 4], 5, frozenset()) is None

    def test_junk_in_the_list_of_unhealthy_cards_is_passed_over(self) -> None:
        assert read_unhealthy("0, 2,x,,-1,²") == {0, 2}
        assert read_unhealthy("") == frozenset()

    def test_all_annotations_are_text(self) -> None:
        assert annotations_for(1, Cards(2, 15, 30), 4, 1.5) == {
            "ALIYUN_COM_GPU_MEM_IDX": "1",
            "ALIYUN_COM_GPU_MEM_DEV": "15",
            "ALIYUN_COM_GPU_MEM_POD": "4",
            "ALIYUN_COM_GPU_MEM_ASSIGNED": "false",
            "ALIYUN_COM_GPU_MEM_ASSUME_TIME": "1500000000",
        }


class TestLedger:
    @pytest.fixture
    def ledger(self) -> Ledger:
        ledger = Ledger()
        ledger.set_node(a_gpu_node())
        return ledger

    def test_refusals(self, ledger: Ledger) -> None:
        ledger.set_node(a_node("plain").build())
        ledger.set_node(a_gpu_node("no-count", count="0"))
        pod = a_gpu_pod("p")
        assert ledger.refusal(pod, "n") == ""
        assert ledger.refusal(pod, "gone") == NOT_FOUND.format("gone")
        assert ledger.refusal(pod, "plain") == NOT_SHARED.format("plain")
        assert ledger.refusal(pod, "no-count") == NO_ROOM
        assert ledger.refusal(a_gpu_pod("big", "16"), "n") == NO_ROOM
        assert ledger.refusal(a_pod().build(), "plain") == ""

    def test_bound_pods_hold_until_they_end_or_are_gone(self, ledger: Ledger) -> None:
        big = a_gpu_pod("next", "12")
        for card in (0, 1):
            ledger.set_pod(a_gpu_pod(f"p{card}", node="n", card=card))
        assert ledger.refusal(big, "n") == NO_ROOM
        going = (
            a_pod("p0").spec(containers=(container("4"),)).annotations({INDEX: "0", NEED: "4"}).on("n").terminating()
        )
        ledger.set_pod(going.build())
        assert ledger.refusal(big, "n") == NO_ROOM, "being deleted is not gone"
        ledger.set_pod(a_gpu_pod("p0", node="n", card=0, phase="Succeeded"))
        assert ledger.card_for(big, "n") == 0
        ledger.remove_pod(a_gpu_pod("p1").metadata.uid)
        assert ledger.card_for(a_gpu_pod("small"), "n") == 0

    def test_annotations_of_pods_without_a_node_count_nothing(self, ledger: Ledger) -> None:
        for index in range(9):
            ledger.set_pod(a_gpu_pod(f"p{index}", "15", card=0))
        assert ledger.card_for(a_gpu_pod("next", "15"), "n") == 0

    def test_cards_that_are_over_full_have_nothing_free(self, ledger: Ledger) -> None:
        for index in range(5):
            ledger.set_pod(a_gpu_pod(f"p{index}", "15", node="n", card=0))
        assert ledger.card_for(a_gpu_pod("next", "1"), "n") == 1

    def test_nodes_that_grow_or_return_are_seen(self, ledger: Ledger) -> None:
        ledger.set_pod(a_gpu_pod("p", "15", node="n", card=0))
        ledger.remove_node("n")
        assert ledger.refusal(a_gpu_pod("next"), "n") == NOT_FOUND.format("n")
        ledger.set_node(a_gpu_node(memory="96", count="4"))
        assert ledger.card_for(a_gpu_pod("next", "24"), "n") == 1
        assert ledger.card_for(a_gpu_pod("next", "9"), "n") == 0

    def test_cards_out_of_order_are_not_offered(self, ledger: Ledger) -> None:
        ledger.set_unhealthy(unhealthy("n", "0, junk"))
        assert ledger.card_for(a_gpu_pod("p"), "n") == 1
        ledger.set_unhealthy(ConfigMap(ObjectMeta("unhealthy-gpu-n", "default"), {"gpus": "1"}))
        assert ledger.card_for(a_gpu_pod("p"), "n") == 1
        ledger.remove_unhealthy(unhealthy("n", ""))
        assert ledger.card_for(a_gpu_pod("p"), "n") == 0

    def test_a_booking_counts_until_it_is_released_or_seen(self, ledger: Ledger) -> None:
        first, second = a_gpu_pod("first", "15"), a_gpu_pod("second", "15")
        ledger.book(first, "n", 0)
        assert ledger.card_for(second, "n") == 1
        ledger.release(first.metadata.uid)
        assert ledger.card_for(second, "n") == 0
        ledger.book(first, "n", 0)
        ledger.set_pod(a_gpu_pod("first", "15", node="n", card=0))
        ledger.release(first.metadata.uid)
        assert ledger.card_for(second, "n") == 1, "seen bound, it is not released any more"
        ledger.remove_pod(first.metadata.uid)
        assert ledger.card_for(second, "n") == 0

    def test_nothing_is_left_of_what_is_gone(self, ledger: Ledger) -> None:
        ledger.set_pod(a_gpu_pod("p", node="n", card=0))
        ledger.remove_node("n")
        ledger.remove_pod(a_gpu_pod("p").metadata.uid)
        assert ledger.node("n") is None
        assert list(ledger.nodes()) == []


class TestPlugin:
    """In-process it says what the webhook says."""

    def test_a_pod_fits_one_card(self) -> None:
        cluster = Cluster(
            a_gpu_node("half", "16", "2"),
            a_gpu_node("full"),
            a_node("plain"),
            *(a_gpu_pod(f"p{card}", "13", node="full", card=card) for card in (0, 1)),
        )
        decided = cluster.decide(a_gpu_pod("p", "9"), plugins=[GpuShare])
        assert decided.chosen == ""
        assert decided.reasons("half") == (NO_ROOM,)
        assert decided.reasons("full") == (NO_ROOM,)
        assert decided.reasons("plain") == (NOT_SHARED.format("plain"),)
        cluster.decide(a_gpu_pod("p", "8"), plugins=[GpuShare]).assert_chosen("half")

    def test_pods_placed_one_after_the_other_share_cards(self) -> None:
        scheduler = Cluster(a_gpu_node()).scheduler(plugins=[GpuShare])
        pods = [a_gpu_pod(f"p{index}", "5") for index in range(7)]
        assert [decided.chosen for decided in scheduler.schedule(*pods)] == ["n"] * 6 + [""]

    def test_other_pods_are_of_no_concern(self) -> None:
        Cluster(a_node("plain")).decide(a_pod(), plugins=[GpuShare]).assert_chosen("plain")

    def test_cards_out_of_order(self) -> None:
        cluster = Cluster(a_gpu_node(), unhealthy("n", "1"), a_gpu_pod("p", "15", node="n", card=0))
        decided = cluster.decide(a_gpu_pod("next"), plugins=[GpuShare])
        assert decided.reasons("n") == (NO_ROOM,)
