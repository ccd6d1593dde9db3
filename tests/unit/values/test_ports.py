"""Host ports."""

import pytest

from moorage.objects import Container, ContainerPort, Pod, PodSpec
from moorage.values.ports import HostPort, any_conflict, host_ports

ANY = HostPort("TCP", "0.0.0.0", 80)
ONE = HostPort("TCP", "10.0.0.1", 80)


@pytest.mark.parametrize(
    ("other", "conflicts"),
    [
        (ONE, True),
        (ANY, True),
        (HostPort("TCP", "10.0.0.2", 80), False),
        (HostPort("UDP", "10.0.0.1", 80), False),
        (HostPort("TCP", "10.0.0.1", 81), False),
    ],
)
def test_conflicts_are_mutual(other: HostPort, conflicts: bool) -> None:
    assert ONE.conflicts(other) is conflicts
    assert other.conflicts(ONE) is conflicts


def test_the_wildcard_conflicts_with_every_address() -> None:
    assert any_conflict([ANY], [HostPort("TCP", "10.9.9.9", 80)])
    assert not any_conflict([ANY], [])
    assert not any_conflict([], [ANY])


def test_containers_and_sidecars_hold_ports_and_init_containers_do_not() -> None:
    def container(port: int, policy: str = "") -> Container:
        return Container(ports=(ContainerPort(1, port), ContainerPort(2)), restart_policy=policy)

    spec = PodSpec(containers=(container(80),), init_containers=(container(81), container(82, "Always")))
    assert host_ports(Pod(spec=spec)) == (HostPort("TCP", "0.0.0.0", 82), HostPort("TCP", "0.0.0.0", 80))


def test_protocol_and_address_are_kept() -> None:
    spec = PodSpec(containers=(Container(ports=(ContainerPort(1, 53, "10.0.0.1", "UDP"),)),))
    assert host_ports(Pod(spec=spec)) == (HostPort("UDP", "10.0.0.1", 53),)
