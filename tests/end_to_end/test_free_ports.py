"""Ports for servers of the tests."""

from tests.end_to_end.tracking_server import free_ports


def test_ports_that_are_drawn_together_differ() -> None:
    ports = free_ports(100)
    assert len(set(ports)) == 100
