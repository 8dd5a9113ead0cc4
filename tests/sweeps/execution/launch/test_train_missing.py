"""Training: a launch loads what its report takes meanwhile, and watches disk and recorder."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.engine.capacity import Resources, Room
from sweeps.execution.engine.engine import Event, Job, Next, TrialEnded, TrialStarted
from sweeps.execution.launch import train_missing
from sweeps.execution.launch.evaluating.evaluation_queue import EvaluationQueue, TrialToEvaluate
from sweeps.execution.launch.train_missing import (
    TrainThenEvaluate,
    load_for_report,
    watching,
)
from sweeps.execution.survey.surveyed_cells import CellState, SurveyedCell
from sweeps.execution.sweep_log import SweepLog
from sweeps.execution.view.board import Board
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.examples import manifest
from tests.sweeps.execution.launch.launches import Launches, design, falling_with_the_rate
from tests.sweeps.execution.worker import trials
from tests.waiting import wait_until


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """A board of new cells."""
    cells = [SurveyedCell(cell, CellState.NEW, epochs=0) for cell in manifest().cells]
    return Board(cells, {"base": 1, "other": 1}, SweepLog(tmp_path, "example"))


def test_nothing_is_loaded_while_the_first_trials_start(
    board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[bool] = []
    monkeypatch.setattr(train_missing, "load_libraries", lambda: loads.append(True))
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

    monkeypatch.setattr(train_missing, "load_libraries", missing)
    board.num_done = 1
    load_for_report(board)


def test_a_look_that_fails_is_logged_and_ends_neither_itself_nor_the_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(train_missing, "_WATCH_SECONDS", 0.01)
    looked = {"stale": 0, "sound": 0}

    def stale() -> None:
        looked["stale"] += 1
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))

    def sound() -> None:
        looked["sound"] += 1

    with watching(stale, sound):
        wait_until(lambda: min(looked.values()) > 1)
    assert "will retry: [Errno" in caplog.text


class Ended:
    """Trainings of which none is left, by a budget or not."""

    def __init__(self, *, is_spent: bool) -> None:
        self.is_spent = is_spent

    def next(self) -> Next:
        return Next.DONE


@pytest.mark.parametrize(
    ("is_spent", "num_left", "is_evaluated"),
    [(False, 3, True), (True, 0, True), (True, 3, False)],
)
def test_nothing_is_evaluated_where_a_budget_left_cells_empty(
    is_spent: bool, num_left: int, is_evaluated: bool
) -> None:
    asked: list[str] = []

    def find() -> list[TrialToEvaluate]:
        asked.append("for trials")
        return []

    training: Any = Ended(is_spent=is_spent)
    evaluations = EvaluationQueue(find, Room(Resources()).share)
    assert TrainThenEvaluate(training, evaluations, lambda: num_left).next() is Next.DONE
    assert bool(asked) == is_evaluated


class OneTraining:
    """One training, whose process has made an evaluation when it ends."""

    is_spent = False

    def __init__(self, trial: TrialJob) -> None:
        self._jobs = [Job(trials=(trial,))]
        self._folder = Path(trial.cells) / trial.spec.trial_key / "evaluations"

    def next(self) -> Job | Next:
        """Return it once."""
        return self._jobs.pop() if self._jobs else Next.DONE

    def tell(self, event: Event) -> None:
        """Write what the folder has of the evaluation."""
        if isinstance(event, TrialStarted):
            self._folder.mkdir(parents=True)
            (self._folder / f"{'a' * 20}.json").write_text("{}")


def test_evaluations_made_with_a_training_are_counted_and_queued_for_the_recorder(
    tmp_path: Path,
) -> None:
    trial = trials.job_of(tmp_path).model_copy(update={"evaluations": ({"kind": "confidence"},)})
    key, evaluated = trial.spec.trial_key, list[str]()
    evaluations = EvaluationQueue(list, Room(Resources()).share)
    training: Any = OneTraining(trial)
    jobs = TrainThenEvaluate(training, evaluations, lambda: 0, evaluated.append)
    assert isinstance(jobs.next(), Job)
    jobs.tell(TrialStarted(trial_key=key))
    assert not evaluated
    jobs.tell(TrialEnded(trial_key=key))
    assert (evaluations.num_made, evaluated) == (1, [key])
    assert jobs.next() is Next.DONE


def test_the_result_of_a_launch_names_each_trial_that_failed_with_its_reason_and_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def score(spec: TrialSpec, epoch: int) -> float:
        if spec.arm == "rate 2" and spec.seed == 1:
            raise ValueError("the loss has no gradient")
        return falling_with_the_rate(spec, epoch)

    launches = Launches(tmp_path, design(), monkeypatch)
    launches.score = score
    result = launches.run()
    (failed,) = result.failures
    assert (failed.arm, failed.seed) == ("rate 2", 1)
    assert failed.reason == "ValueError: the loss has no gradient"
    assert failed.log.parent.parent == launches.storage.cells
    assert (result.num_cells, result.num_filled, result.exit_code) == (6, 5, 3)
