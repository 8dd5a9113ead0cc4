"""A search whose driver is killed while trials wait at a rung goes on with them where they wait."""

from pathlib import Path

import pytest

from sweeps.execution.cells.folder import CellFolder
from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_search_settled
from tests.end_to_end.storage_view import decided, num_published, outboxes
from tests.end_to_end.sweep_file import write_search

pytestmark = pytest.mark.slow


def test_a_search_killed_while_trials_wait_promotes_them_from_their_checkpoints(
    tmp_path: Path, terminal: Terminal
) -> None:
    storage = terminal.storage
    scheduler = "PromotionAsha(grace=0.25, reduction_factor=2)"  # of four epochs: rungs at 1 and 2
    file = write_search(tmp_path / "waiting.py", trials=5, seconds=1.0, scheduler=scheduler)
    command = terminal.start("run", str(file))
    command.wait_until(lambda: len(decided(storage, "waiting", "pause")) >= 3)
    command.wait_until(lambda: num_published(storage, "waiting") > 3)  # of which status tells
    command.kill_all()
    continued = decided(storage, "waiting", "continue")
    waiting = [pause for pause in decided(storage, "waiting", "pause") if pause not in continued]

    reported = terminal.run("status", "waiting")
    assert "waiting to be promoted or stopped: " in reported.output, reported.explained()
    planned = terminal.run("plan", str(file))
    assert f"{len(waiting)} wait at a rung of the scheduler" in planned.output
    freed = terminal.run("clean", "--yes")
    assert freed.code == 0, freed.explained()
    for key, _ in waiting:
        assert CellFolder(storage / "cells", key).checkpoint.exists()

    last = terminal.run("run", str(file))
    assert last.code == 0, last.explained()
    expect_search_settled(storage, "waiting", num_trials=5, num_epochs=4)
    assert any(reported.went_on() for reported in outboxes(storage).values())
    pauses = decided(storage, "waiting", "pause")
    verdicts = decided(storage, "waiting", "continue") + decided(storage, "waiting", "stop")
    assert sorted(pauses) == sorted(verdicts), "each that waited was promoted or stopped"
