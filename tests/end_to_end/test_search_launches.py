"""A search that is run, run again, made longer, and protected from what would spoil it."""

from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_search_settled
from tests.end_to_end.storage_view import num_starts, search_facts
from tests.end_to_end.sweep_file import write_search, write_sweep

pytestmark = pytest.mark.slow

NUM_EPOCHS = 2


def test_a_search_run_one_by_one_is_whole_made_longer_and_protected(
    tmp_path: Path, terminal: Terminal
) -> None:
    file = write_search(tmp_path / "search.py", trials=6, epochs=NUM_EPOCHS)
    storage = terminal.storage
    arguments = ("run", str(file), "--engine", "inline")

    first = terminal.run("run", str(file), "--max-concurrent", "1")
    assert first.code == 0, first.explained()
    expect_search_settled(storage, "search", num_trials=6, num_epochs=NUM_EPOCHS)
    before = search_facts(storage, "search")
    starts = num_starts(storage)

    second = terminal.run(*arguments)
    assert second.code == 0, second.explained()
    assert "0 trained now" in second.output
    expect_refused(terminal, *arguments, "--sampler", "random", message="its sampler would change")
    expect_refused(terminal, *arguments, "--trials", "5", message="it proposed 6, and 5 are asked")
    assert num_starts(storage) == starts
    assert search_facts(storage, "search") == before

    longer = terminal.run(*arguments, "--trials", "8")
    assert longer.code == 0, longer.explained()
    expect_search_settled(storage, "search", num_trials=8, num_epochs=NUM_EPOCHS)
    after = search_facts(storage, "search")
    assert after.proposals[:6] == before.proposals
    assert after.stopped.items() >= before.stopped.items()


def test_trials_of_a_design_are_refused_in_one_sentence(tmp_path: Path, terminal: Terminal) -> None:
    file = write_sweep(tmp_path / "design.py")
    expect_refused(terminal, "run", str(file), "--trials", "3", message="only a search has trials")
    assert not terminal.storage.exists()


def expect_refused(terminal: Terminal, *arguments: str, message: str) -> None:
    """Check that a launch is refused in one sentence."""
    ended = terminal.run(*arguments)
    assert ended.code == 2, ended.explained()
    assert message in ended.errors
    assert len(ended.errors.strip().splitlines()) == 1
