"""A launch loads what its report will take while trials run, and not before one has ended."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeps.execution.cells.journal import Journal
from sweeps.execution.driver.view.board import Board
from sweeps.execution.launch import training
from sweeps.execution.launch.training import load_for_report
from sweeps.execution.plan.planner import Standing, SurveyedCell
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.examples import manifest


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    """A board of new cells."""
    journal = Journal(tmp_path, "example")
    cells = [SurveyedCell(cell, Standing.NEW, epochs=0) for cell in manifest().cells]
    yield Board(cells, {"base": 1, "other": 1}, journal)
    journal.close()


def test_nothing_is_loaded_while_the_first_trials_start(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[bool] = []
    monkeypatch.setattr(training, "load_libraries", lambda: loads.append(True))
    load_for_report(board)
    assert not loads
    board.ended(manifest().cells[0].trial_key, Outcome.FINISHED, "")
    load_for_report(board)
    assert loads


def test_a_library_that_cannot_be_loaded_is_left_for_the_report_to_complain_of(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise ImportError

    monkeypatch.setattr(training, "load_libraries", missing)
    board.num_done = 1
    load_for_report(board)
