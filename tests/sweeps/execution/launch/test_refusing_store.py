"""A store that refuses what makes a record final does not hold a launch for ever."""

from pathlib import Path
from typing import Any

import pytest

from sweeps.records.errors import StoreRefused
from tests.sweeps.execution.launch.launches import Launches, design
from tests.sweeps.tracking.memory_store import MemoryWriter


@pytest.mark.timeout(120)
def test_a_launch_ends_and_says_what_the_store_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise StoreRefused("The store has refused it.", "no room for tags")

    launches = Launches(tmp_path, design(num_arms=1), monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(MemoryWriter, "set_final", refuse)
        result = launches.run()
    assert (result.exit_code, result.num_trained) == (3, 2)
    assert result.complaint == "no room for tags"
    assert launches.run().exit_code == 0, "what it refused is carried by the next launch"
