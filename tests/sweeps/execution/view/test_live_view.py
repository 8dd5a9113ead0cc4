"""What is shown live is drawn from the board alone: what starts, a bar, a pace, curves."""

import io
import math
import time
from pathlib import Path

import pytest
from rich.console import Console

from sweeps.execution.survey.surveyed_cells import CellState, SurveyedCell
from sweeps.execution.sweep_log import SweepLog
from sweeps.execution.view import live_view
from sweeps.execution.view.board import Board
from sweeps.execution.view.live_view import (
    REDRAWS_A_SECOND,
    bar,
    render,
    settings_text,
    show_in_terminal,
    sparkline,
)
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.examples import manifest
from tests.sweeps.execution.view.test_board import begin
from tests.waiting import PATIENCE_SECONDS

NUM_CELLS = 500


class Watch:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def board(log: SweepLog, watch: Watch) -> Board:
    """A board of four new cells, ten epochs each."""
    cells = manifest(arms=("base", "other")).cells
    planned = [SurveyedCell(cell, CellState.NEW, epochs=0) for cell in cells]
    return Board(planned, {"base": 10, "other": 10}, log, watch)


def keys(board: Board) -> list[str]:
    return [cell.cell.trial_key for cell in board.cells]


def drawn(board: Board, width: int = 120) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None).print(render(board, "example"))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def train(board: Board, watch: Watch, key: str, errors: list[float]) -> None:
    begin(board, key)
    for epoch, error in enumerate(errors, start=1):
        watch.now += 2.0
        board.progressed(key, epoch, error)


def test_without_a_terminal_a_failure_is_printed_once_when_it_happens(board: Board) -> None:
    terminal = io.StringIO()
    lines = live_view._Lines(board, "example", terminal)
    begin(board, keys(board)[0])
    reason = "NameError: name 'x' is not defined (mine.py, line 30: x)"
    board.ended(keys(board)[0], Outcome.FAILED, reason)
    lines.tell_new()
    lines.tell_new()
    assert terminal.getvalue() == f"example: failed: base, seed 0: {reason}\n"


def test_what_starts_now_is_shown_with_how_long_it_has_taken(board: Board, watch: Watch) -> None:
    watch.now += 3
    board.say_now("starting Ray")
    watch.now += 20
    assert drawn(board)[1] == f"{'░' * 30}  starting Ray, 20 s"
    board.say_now("")
    begin(board, keys(board)[0])
    assert drawn(board)[1].endswith("  waiting for the first epoch")
    assert drawn(board)[-1].split() == ["base", "0", "0/10", "starts"]


def test_a_dispatched_trial_is_pending_until_a_process_begins_with_it(board: Board) -> None:
    for key in keys(board)[:2]:
        board.dispatched(key)
    assert "0 running, 2 pending, 0 s" in drawn(board)[0]
    assert drawn(board)[1].endswith("  waiting for room on a machine")
    board.started(keys(board)[1])
    assert "1 running, 1 pending, 0 s" in drawn(board)[0]
    assert drawn(board)[1].endswith("  waiting for the first epoch")
    assert [line.split()[-1] for line in drawn(board)[-2:]] == ["starts", "pending"]


def test_the_bar_grows_with_epochs_and_the_pace_is_told(board: Board, watch: Watch) -> None:
    train(board, watch, keys(board)[0], [0.5] * 5)
    assert board.share_done == 0.125
    assert drawn(board)[1] == f"███▊{'░' * 26}  1,800 epochs an hour"
    train(board, watch, keys(board)[1], [0.5] * 10)
    board.ended(keys(board)[1], Outcome.FINISHED, "")
    assert board.share_done == 0.375


def test_the_best_of_a_search_is_shown_with_its_settings(board: Board, watch: Watch) -> None:
    board.changes = {"base": {"model.routing": "dynamic", "optimiser.learning_rate": 0.088412}}
    for key in keys(board):
        train(board, watch, key, [0.2 if key in keys(board)[::2] else 0.3])
        board.ended(key, Outcome.FINISHED, "")
    best = "best validation error 20.00 % (base, mean of 2 seeds)"
    assert drawn(board)[2] == f"{best}: routing dynamic, learning_rate 0.0884"
    board.changes = {}
    assert drawn(board)[2] == best, "an arm of a design says it by its name"


def test_a_running_trial_is_shown_with_its_curve(board: Board, watch: Watch) -> None:
    train(board, watch, keys(board)[0], [0.8, 0.4, 0.1, 0.1, 0.2])
    assert drawn(board)[-2].split()[-2:] == ["its", "curve"]
    assert drawn(board)[-1].split() == ["base", "0", "5/10", "20.00", "%", "█▄▁▁▂"]


@pytest.mark.parametrize(
    ("values", "curve"),
    [
        ([], ""),
        ([0.3], "▁"),
        ([0.3, 0.3], "▁▁"),
        ([1.0, 0.0], "█▁"),
        ([1.0, math.nan, 0.0, math.inf], "█x▁x"),
        ([math.nan], "x"),
        ([float(n) for n in range(8)], "▁▂▃▄▅▆▇█"),
        ([1.0] * 100 + [0.0] * 100, "████████▁▁▁▁▁▁▁▁"),
    ],
    ids=["none", "one", "level", "two", "no numbers", "only none", "steps", "many"],
)
def test_a_curve_fits_into_a_line(values: list[float], curve: str) -> None:
    assert sparkline(values) == curve


@pytest.mark.parametrize("share", [-1.0, 0.0, 0.01, 0.49, 0.5, 1.0, 7.0])
def test_a_bar_is_as_long_as_it_is_asked_to_be(share: float) -> None:
    assert len(bar(share, 10)) == 10
    assert bar(share, 10).count("█") == min(max(int(share * 10), 0), 10)


def test_settings_have_short_names_and_are_told_to_three_digits() -> None:
    words = settings_text({"a.rate": 0.123456, "b.rate": 3, "model.routing": "em"})
    assert words == "a.rate 0.123, b.rate 3, routing em"


def test_curves_of_long_trainings_stay_short(board: Board, watch: Watch) -> None:
    train(board, watch, keys(board)[0], [0.5] * 2000)
    (trial,) = board.snapshot()
    assert len(trial.errors) == 256


def test_a_search_of_500_cells_costs_little_to_show(log: SweepLog, watch: Watch) -> None:
    cells = manifest(arms=tuple(map(str, range(NUM_CELLS))), seeds=(0,)).cells
    planned = [SurveyedCell(cell, CellState.NEW, epochs=0) for cell in cells]
    board = Board(planned, {str(n): 50 for n in range(NUM_CELLS)}, log, watch)
    for key in keys(board)[:64]:
        train(board, watch, key, [1 / epoch for epoch in range(1, 31)])
    before = time.process_time()
    shown, *_ = [drawn(board) for _ in range(10)]
    seconds = (time.process_time() - before) / 10
    assert "20 of 64 trials:" in shown
    assert len(shown) == 24
    assert seconds * REDRAWS_A_SECOND < 0.2, "of a processor, and far less on a quiet machine"


def test_the_live_view_is_in_the_file_that_the_environment_names_while_the_launch_lasts(
    board: Board, watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "example.view"
    monkeypatch.setenv(live_view.VIEW_VARIABLE, str(file))
    monkeypatch.setattr(live_view, "_FILE_SECONDS", 0.01)
    train(board, watch, keys(board)[0], [0.5, 0.25])
    with show_in_terminal(board, "example", io.StringIO()):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not file.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        lines = [line.rstrip() for line in file.read_text(encoding="utf-8").splitlines()]
    assert lines == drawn(board, width=100)
    assert not file.exists()
