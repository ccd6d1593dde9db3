import random

from moorage.kube.backoff import Backoff


def test_delays_double_to_a_cap_within_their_spread() -> None:
    backoff = Backoff(1.0, 5.0, rng=random.Random(1))
    for step in (1.0, 2.0, 4.0, 5.0, 5.0):
        assert step / 2 <= backoff.next() <= step


def test_a_success_starts_over() -> None:
    backoff = Backoff(1.0, 100.0)
    for _ in range(10):
        backoff.next()
    backoff.reset()
    assert backoff.next() <= 1.0


def test_the_server_may_ask_for_more_patience_but_not_for_less() -> None:
    backoff = Backoff(1.0, 100.0)
    assert backoff.next(at_least=60.0) == 60.0
    assert backoff.next(at_least=0.0) >= 1.0
