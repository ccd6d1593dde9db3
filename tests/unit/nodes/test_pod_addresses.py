"""Addresses of pods."""

from ipaddress import IPv4Network

from moorage.nodes.addresses import PodAddresses


def test_addresses_are_given_out_once() -> None:
    addresses = PodAddresses(IPv4Network("10.0.0.0/29"))
    taken = [addresses.take() for _ in range(6)]
    assert taken == [f"10.0.0.{number}" for number in range(1, 7)]
    assert addresses.take() == ""


def test_an_address_given_back_comes_again_but_not_at_once() -> None:
    addresses = PodAddresses(IPv4Network("10.0.0.0/29"))
    first = addresses.take()
    addresses.give_back(first)
    assert [addresses.take() for _ in range(6)][-1] == first


def test_held_addresses_are_left_out() -> None:
    addresses = PodAddresses(IPv4Network("10.0.0.0/29"))
    addresses.hold("10.0.0.1")
    assert addresses.take() == "10.0.0.2"


def test_addresses_of_others_do_not_matter() -> None:
    addresses = PodAddresses(IPv4Network("10.0.0.0/29"))
    for foreign in ("192.168.0.1", "", "fd00::1"):
        addresses.hold(foreign)
        addresses.give_back(foreign)
    assert addresses.take() == "10.0.0.1"
