"""A search that is killed and run again proposes, stops and confirms as if nothing had happened."""

import random
from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_search_settled
from tests.end_to_end.storage_view import num_reported_epochs, outboxes, search_facts
from tests.end_to_end.sweep_file import write_search

# test_promotion_kills.py kills a search too; search/test_kills_anywhere.py kills at every step
pytestmark = pytest.mark.nightly

NUM_TRIALS = 11
NUM_EPOCHS = 4
KILL_AT = sorted(random.Random(11).sample(range(3, 40), 3))


def test_a_search_killed_three_times_ends_with_each_proposal_once_and_every_state_right(
    tmp_path: Path, terminal: Terminal
) -> None:
    storage = terminal.storage
    file = write_search(tmp_path / "hunted.py", trials=NUM_TRIALS, epochs=NUM_EPOCHS, seconds=0.15)
    ended: dict[str, list[int]] = {}
    for count in KILL_AT:
        enough = max(count, num_reported_epochs(storage) + 1)
        command = terminal.start("run", str(file))
        command.wait_until(lambda enough=enough: num_reported_epochs(storage) >= enough)
        command.kill_all()
        expect_not_restarted(storage, ended)
        ended = finished_cells(storage)
    last = terminal.run("run", str(file))
    assert last.code == 0, last.explained()

    expect_not_restarted(storage, ended)
    expect_search_settled(storage, "hunted", num_trials=NUM_TRIALS, num_epochs=NUM_EPOCHS)
    facts = search_facts(storage, "hunted")
    assert 0 < len(facts.stopped) < NUM_TRIALS
    assert len(facts.manifest["search"]["confirmation"]["arms"]) == 2
    assert any(reported.went_on() for reported in outboxes(storage).values())


def finished_cells(storage: Path) -> dict[str, list[int]]:
    """Return the starts of each cell that has its final record, by trial key."""
    return {
        key: reported.starts
        for key, reported in outboxes(storage).items()
        if (storage / "cells" / key / "final.json").exists()
    }


def expect_not_restarted(storage: Path, finished: dict[str, list[int]]) -> None:
    """Check that cells that were filled have not been started again."""
    now = outboxes(storage)
    assert {key: now[key].starts for key in finished} == finished
