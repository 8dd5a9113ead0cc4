"""A trial whose process evaluates it is shown so, and the time left has what is known of it."""

from pathlib import Path

import pytest

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.survey.surveyed_cells import CellState, SurveyedCell
from sweeps.execution.sweep_log import SweepLog
from sweeps.execution.view.board import Board
from sweeps.execution.view.evaluation_watch import EvaluationWatch
from sweeps.execution.view.live_view import summary
from sweeps.execution.view.notebook_view import board_html
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.records.trial_record import Outcome
from sweeps.storage.locations import Storage
from tests.sweeps.execution.examples import final, manifest, spec
from tests.sweeps.execution.view.test_board import Watch, begin
from tests.sweeps.execution.view.test_live_view import drawn, keys, train

LONG, SHORT = "a" * 20, "b" * 20


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def board(log: SweepLog, watch: Watch) -> Board:
    """A board of four new cells, ten epochs each, that get two evaluations."""
    cells = [SurveyedCell(cell, CellState.NEW) for cell in manifest().cells]
    epochs = {"base": 10, "other": 10}
    return Board(cells, epochs, log, watch, evaluations=(LONG, SHORT))


def evaluate(board: Board, watch: Watch, key: str) -> None:
    """Make both evaluations of a trial."""
    for kind, seconds in ((LONG, 20.0), (SHORT, 10.0)):
        watch.now += seconds
        board.evaluated(key, {kind: seconds})


def test_a_trial_that_is_evaluated_is_shown_with_how_many_are_made(
    board: Board, watch: Watch
) -> None:
    first, second, *_ = keys(board)
    train(board, watch, first, [0.5] * 10)
    assert drawn(board)[-1].split()[:3] == ["base", "0", "10/10"]
    board.evaluating(first, 1, 2)
    assert " evaluating, 1 of 2 " in drawn(board)[-1]
    assert "evaluating, 1 of 2" in board_html(board, "example")
    assert "0 of 4 cells done, 1 evaluating, 20 s elapsed" in summary(board, "example")
    begin(board, second)
    board.dispatched(keys(board)[2])
    assert "done, 1 running, 1 evaluating, 1 pending, 20 s" in summary(board, "example")
    board.evaluating("of no trial that runs", 1, 2)


def test_the_time_left_has_evaluations_as_soon_as_one_of_each_has_ended(
    board: Board, watch: Watch
) -> None:
    first, second, *_ = keys(board)
    train(board, watch, first, [0.5] * 10)
    assert board.remaining_seconds() == pytest.approx(30 * 2.0)
    assert summary(board, "example").endswith("about 1 min of training left")
    board.evaluated(first, {LONG: 20.0})
    assert board.evaluation_seconds() is None, "of the other nothing is known"
    watch.now += 20.0
    board.evaluated(first, {LONG: 20.0, SHORT: 10.0})
    board.ended(first, Outcome.FINISHED, "")
    assert board.remaining_seconds() == pytest.approx(30 * 2.0 + 3 * 30.0)
    assert summary(board, "example").endswith("about 2 min left")

    train(board, watch, second, [0.5] * 10)
    board.num_concurrent = 3
    assert board.evaluation_seconds() == pytest.approx(3 * 30.0 / 3)
    board.ended(keys(board)[2], Outcome.DIVERGED, "")
    assert board.evaluation_seconds() == pytest.approx(2 * 30.0 / 2), "it is not evaluated"


def test_the_time_of_evaluations_is_not_that_of_epochs(board: Board, watch: Watch) -> None:
    for key in keys(board)[:3]:
        train(board, watch, key, [0.5] * 10)
        evaluate(board, watch, key)
        board.ended(key, Outcome.FINISHED, "")
    assert board.seconds_an_epoch() == pytest.approx(2.0)
    assert board.remaining_seconds() == pytest.approx(10 * 2.0 + 30.0)


def test_two_processes_that_take_turns_have_the_pace_of_both(board: Board, watch: Watch) -> None:
    first, second, *_ = keys(board)
    begin(board, first)
    begin(board, second)
    for epoch in range(1, 11):
        for key in (first, second):
            watch.now += 1.0
            board.progressed(key, epoch, 0.5)
    board.ended(second, Outcome.FINISHED, "")
    begin(board, keys(board)[2])
    for epoch in range(1, 11):  # the first is evaluated meanwhile: half as many epochs
        watch.now += 2.0
        board.progressed(keys(board)[2], epoch, 0.5)
    board.evaluated(first, {LONG: 20.0})
    watch.now += 1.0
    board.progressed(keys(board)[2], 11, 0.5)
    assert board.seconds_an_epoch() == pytest.approx(1.0)


def test_a_search_has_evaluations_to_come(log: SweepLog, watch: Watch) -> None:
    board = Board([], {"base": 10}, log, watch, num_expected=4, evaluations=(LONG, SHORT))
    assert board.evaluation_seconds() is None
    board.add([SurveyedCell(cell, CellState.NEW) for cell in manifest().cells[:1]], {"base": 10})
    board.evaluated(keys(board)[0], {LONG: 20.0, SHORT: 10.0})
    assert board.evaluation_seconds() == pytest.approx(3 * 30.0)


def test_trials_of_before_are_evaluated_too(log: SweepLog, watch: Watch) -> None:
    cells = [SurveyedCell(cell, CellState.RECORDED, 10) for cell in manifest().cells]
    lacking = {cell.cell.trial_key: {LONG} for cell in cells}
    board = Board(cells, {"base": 10}, log, watch, evaluations=(LONG,), unevaluated=lacking)
    assert board.remaining_seconds() is None
    board.evaluated(keys(board)[0], {LONG: 20.0})
    assert board.remaining_seconds() == pytest.approx(3 * 20.0)


def test_folders_say_which_trials_are_evaluated(board: Board, tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    trained, training, *_ = keys(board)
    for key in (trained, training):
        begin(board, key)
    cell = CellFolder(storage.cells, trained)
    cell.path.mkdir(parents=True)
    watched = EvaluationWatch(storage, board, {LONG, SHORT})
    watched.look()
    assert not any(trial.is_evaluating for trial in board.snapshot()), "it is tested"
    cell.write_final(final(10, key=trained, head=spec(trained)))
    watched.look()
    assert " evaluating, 0 of 2 " in "\n".join(drawn(board))
    known = {"evaluation_key": LONG, "trial_key": trained, "looks_at": "test"}
    moment = {"time": 1, "fence": 1, "duration_seconds": 7.0, "evaluation": {"kind": "look"}}
    record = EvaluationRecord.model_validate(known | moment)
    CellEvaluations(cell.path).write(record, b"", {})
    watched.look()
    assert [trial.num_evaluated for trial in board.snapshot()] == [1, None]
    assert board.unevaluated[trained] == {SHORT}
    EvaluationWatch(storage, board, set()).look()
