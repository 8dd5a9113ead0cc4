"""Another engine is one class, handed in by argument: here one that trains in threads."""

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Self

import pytest

from capsmodel.data import DataSplits
from capsmodel.evaluation import Confidence, Findings
from capsmodel.metrics import EpochMetrics
from capsmodel.training.trained import Trained
from search_spaces import ListedArms
from search_spaces.sweep import Sweep
from sweeps.execution.engine.engine import (
    EngineSetting,
    EpochEnded,
    Events,
    Job,
    Jobs,
    Next,
    TrialEnded,
    TrialStarted,
)
from sweeps.execution.engine.failure_policy import Failure
from sweeps.execution.engine.placement import Machine
from sweeps.execution.engine.policies import Policies
from sweeps.execution.launch.launch import launch
from sweeps.execution.launch.result import EvaluationsMade
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.worker.evaluation import run_evaluations, train_and_evaluate
from tests.capsmodel.small_config import small_config, small_model
from tests.sweeps.execution.engine.engine_contract import check_engine


class _Stopped(SystemExit):
    """The trial is to stop."""


class ThreadEngine:
    """Trains in threads of the launch's process."""

    def __init__(self, setting: EngineSetting) -> None:
        del setting
        self._said: SimpleQueue[tuple[EpochEnded, SimpleQueue[bool]]] = SimpleQueue()

    @property
    def machines(self) -> Sequence[Machine]:
        """This one, with two cores."""
        return [Machine(cpus=2)]

    def __enter__(self) -> Self:
        self._threads = ThreadPoolExecutor(2)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._threads.shutdown()

    def run(self, jobs: Jobs, events: Events, num_concurrent: int) -> None:
        """Train until there are no more jobs."""
        running: dict[Future[TrialEnded], None] = {}
        while True:
            job = jobs.next() if len(running) < num_concurrent else Next.WAIT
            if job is Next.DONE and not running:
                return
            if not isinstance(job, Next):
                running[self._threads.submit(self._done, job)] = None
                for key in job.trial_keys:
                    events.tell(TrialStarted(trial_key=key))
            while not self._said.empty():
                epoch, answers = self._said.get()
                answers.put(events.tell(epoch) is not None)
            ended, _ = wait([*running], timeout=0.01, return_when=FIRST_COMPLETED)
            for future in ended:
                running.pop(future)
                events.tell(future.result())

    def _done(self, job: Job) -> TrialEnded:
        (key,) = job.trial_keys
        answers: SimpleQueue[bool] = SimpleQueue()

        def report(epochs: Sequence[EpochMetrics]) -> None:
            for epoch in epochs:
                self._said.put((EpochEnded(trial_key=key, result=epoch), answers))
            if sum(answers.get() for _ in epochs):  # all are taken
                raise _Stopped

        try:
            for trial in job.trials:
                train_and_evaluate(trial, report, has_own_process=False)
            for evaluation in job.evaluations:
                run_evaluations(evaluation, has_own_process=False)
        except _Stopped:
            pass
        except Exception as error:  # noqa: BLE001 - whatever a trial raises
            return TrialEnded(trial_key=key, failure=Failure.RAISED, reason=str(error))
        return TrialEnded(trial_key=key)


def test_it_keeps_the_contract(tmp_path: Path) -> None:
    check_engine(ThreadEngine, tmp_path)


def small_sweep(tmp_path: Path) -> tuple[Sweep, LaunchOptions]:
    sweep = Sweep(
        name="threads",
        base=small_config(model=small_model(), stopping={"kind": "fixed_epochs", "epochs": 1}),
        plan=ListedArms(baseline="a", arms={"a": {}, "b": {"loss": "cross_entropy"}}),
        seeds=(0,),
        evaluations=(Confidence(),),
    )
    return sweep, LaunchOptions(storage=tmp_path / "storage", reports=tmp_path / "reports")


def test_a_sweep_is_trained_by_it(tmp_path: Path) -> None:
    sweep, options = small_sweep(tmp_path)
    result = launch(sweep, options, Policies(engine=ThreadEngine))
    assert (result.exit_code, result.num_filled) == (0, 2)
    assert result.evaluations is not None
    assert result.evaluations.num_made == 2
    assert (tmp_path / "reports" / "threads" / "ablation.csv").exists()


def test_an_evaluation_that_fails_where_its_trial_was_trained_is_retried_and_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate, calls = Confidence.evaluate, count()

    def failing_once(self: Confidence, trained: Trained, data: DataSplits) -> Findings:
        if next(calls) == 0:
            raise ConnectionError("a network disk")
        return evaluate(self, trained, data)

    monkeypatch.setattr(Confidence, "evaluate", failing_once)
    sweep, options = small_sweep(tmp_path)
    result = launch(sweep, options, Policies(engine=ThreadEngine))
    assert result.exit_code == 0
    assert result.evaluations == EvaluationsMade(num_made=2, num_existing=2, num_wanted=2)
    assert next(calls) == 3
