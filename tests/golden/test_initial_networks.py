"""Every model draws the initial weights that it drew, and answers what it answered.

To rounding: machines of different kinds add up in different orders.
"""

import json

import pytest

from tests.golden import initial_networks

PINNED: dict[str, dict[str, float]] = json.loads(initial_networks.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", initial_networks.EXAMPLES)
def test_an_untrained_network_is_what_it_was(name: str) -> None:
    assert initial_networks.sums(name) == pytest.approx(PINNED[name], rel=1e-5, abs=1e-6)
