"""Evaluations on their way: one that raises or is killed costs itself alone."""

from pathlib import Path

import pytest

from capsmodel.evaluation import Confidence, Evaluation, ShiftedTestError
from capsmodel.training.training import Training
from search_spaces.evaluation_key import evaluation_key
from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.engine import Job, Next, TrialEnded
from sweeps.execution.engine.failure_policy import MAX_RESTARTS, Failure, GpuShare, Retry
from sweeps.execution.engine.packing import CardPacker, MemoryNeeds, Wanted
from sweeps.execution.engine.placement import Share
from sweeps.execution.launch.evaluating.evaluation_queue import EvaluationQueue, TrialToEvaluate
from sweeps.execution.worker.evaluation import run_evaluations
from sweeps.records.manifest import ManifestCell
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.trial_record import Json
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.engine.simulated_cards import GIB, card
from tests.sweeps.execution.worker.test_evaluation import KEY, job_of

EVALUATIONS = (Confidence(), ShiftedTestError(pixels=1))


class Shares:
    """Notes who was to have a machine alone."""

    def __init__(self) -> None:
        self.alone: list[bool] = []

    def __call__(self, config: Json, *, is_alone: bool = False, gpu: GpuShare = "usual") -> Share:
        del gpu
        self.alone.append(is_alone)
        return Share(cpus=2)


def trial_of(cells: Path, *evaluations: Evaluation) -> TrialToEvaluate:
    folder = CellFolder(cells, KEY)
    folder.path.mkdir()
    Training(small_config(), seed=0).trained().save(folder.weights)
    missing = tuple(
        ManifestEvaluation(
            kind=evaluation.kind,
            settings=evaluation.model_dump(mode="json", exclude={"kind"}),
            evaluation_key=evaluation_key(evaluation),
            looks_at=evaluation.looks_at,
        )
        for evaluation in evaluations
    )
    cell = ManifestCell(arm="base", seed=0, trial_key=KEY)
    return TrialToEvaluate(cell, job_of(cells, *evaluations), missing)


@pytest.fixture
def trial(tmp_path: Path) -> TrialToEvaluate:
    return trial_of(tmp_path, *EVALUATIONS)


def next_job(queue: EvaluationQueue) -> Job:
    job = queue.next()
    assert isinstance(job, Job)
    assert queue.next() is Next.WAIT, "a trial has one process at a time"
    return job


def kinds(job: Job) -> list[str]:
    return [
        str(evaluation["kind"]) for trial in job.evaluations for evaluation in trial.evaluations
    ]


def test_a_job_that_is_taken_back_is_the_next_one_again(trial: TrialToEvaluate) -> None:
    queue = EvaluationQueue(lambda: [trial], Shares(), failure_policy=lambda _: GiveUp(reason="no"))
    first = next_job(queue)
    queue.tell(TrialEnded(trial_key=KEY, is_taken_back=True))
    assert next_job(queue) == first
    assert queue.failures == []


def test_a_trials_evaluations_are_two_jobs_one_after_the_other(trial: TrialToEvaluate) -> None:
    said: list[str] = []
    queue = EvaluationQueue(lambda: [trial], Shares(), say=said.append)
    for kind in ("confidence", "shifted_test_error"):
        job = next_job(queue)
        assert kinds(job) == [kind]
        assert job.share == Share(cpus=2)
        run_evaluations(job.evaluations[0])
        queue.tell(TrialEnded(trial_key=KEY))
    assert queue.next() is Next.DONE
    assert (queue.num_made, queue.failures) == (2, [])
    assert said == ["evaluating: 0 of 2", "evaluating: 1 of 2", "evaluating: 2 of 2"]


def test_those_that_trainings_have_made_count_among_all(trial: TrialToEvaluate) -> None:
    said: list[str] = []
    queue = EvaluationQueue(lambda: [trial], Shares(), say=said.append)
    queue.num_made = 4  # as a launch counts what the processes of its trainings make
    next_job(queue)
    assert said == ["evaluating: 4 of 6"]


def test_one_that_raises_is_given_up_at_once_and_the_next_is_made(trial: TrialToEvaluate) -> None:
    queue = EvaluationQueue(lambda: [trial], Shares())
    next_job(queue)
    queue.tell(TrialEnded(trial_key=KEY, failure=Failure.RAISED, reason="ValueError: no"))
    job = next_job(queue)
    assert kinds(job) == ["shifted_test_error"]
    run_evaluations(job.evaluations[0])
    queue.tell(TrialEnded(trial_key=KEY))
    assert queue.next() is Next.DONE
    (failed,) = queue.failures
    assert (failed.kind, failed.reason) == ("confidence", "ValueError: no")
    assert failed.log == trial.folder.log
    assert queue.num_made == 1


def test_a_killed_process_is_retried_with_what_it_had_not_made(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, *EVALUATIONS, *(ShiftedTestError(pixels=n) for n in (2, 3)))
    queue = EvaluationQueue(lambda: [trial], Shares())
    first = next_job(queue).evaluations[0]
    assert len(first.evaluations) == 2
    run_evaluations(first.model_copy(update={"evaluations": first.evaluations[:1]}))
    queue.tell(TrialEnded(trial_key=KEY))
    for _ in range(MAX_RESTARTS):
        assert next_job(queue).evaluations[0].evaluations == first.evaluations[1:]
        queue.tell(TrialEnded(trial_key=KEY))
    assert [(failure.kind, failure.reason) for failure in queue.failures] == [
        ("shifted_test_error", "its process was killed 4 times")
    ]
    assert len(next_job(queue).evaluations[0].evaluations) == 2
    assert len(CellEvaluations(trial.folder.path).keys()) == 1


def test_one_without_memory_gets_a_machine_of_its_own_once(trial: TrialToEvaluate) -> None:
    shares = Shares()
    queue = EvaluationQueue(lambda: [trial], shares)
    next_job(queue)
    reason = "RuntimeError: [enforce fail at alloc_cpu.cpp] out of memory"
    queue.tell(TrialEnded(trial_key=KEY, failure=Failure.RAISED, reason=reason))
    assert kinds(next_job(queue)) == ["confidence"]
    assert shares.alone == [False, True]


def test_one_that_fits_on_no_card_waits_and_one_that_runs_out_of_its_part_gets_more(
    trial: TrialToEvaluate,
) -> None:
    packer = CardPacker([card("A", 24)], MemoryNeeds())
    packer.give(Wanted("another trial", "a"), 0)
    shares = Shares()
    queue = EvaluationQueue(lambda: [trial], shares, packer=packer)
    assert queue.next() is Next.WAIT
    packer.observe_peak("another trial", 2 * GIB)
    job = queue.next()
    assert isinstance(job, Job)
    assert job.share.card
    reason = "OutOfMemoryError: CUDA out of memory"
    queue.tell(TrialEnded(trial_key=KEY, failure=Failure.RAISED, reason=reason))
    assert queue.next() is Next.WAIT, "it wants the whole card now"
    packer.take_back("another trial", None, ended_well=True, ran_out=False)
    assert isinstance(queue.next(), Job)
    assert not any(shares.alone), "another machine would have no larger GPU"


def test_a_trial_that_another_process_holds_is_waited_for(trial: TrialToEvaluate) -> None:
    queue = EvaluationQueue(lambda: [trial], Shares())
    with trial.folder.lease():
        assert queue.next() is Next.WAIT
    next_job(queue)


def test_without_anything_to_make_it_is_done() -> None:
    said: list[str] = []
    assert EvaluationQueue(list, Shares(), say=said.append).next() is Next.DONE
    assert said == []


def test_a_policy_may_have_it_retried_later(trial: TrialToEvaluate) -> None:
    times = [0.0]
    queue = EvaluationQueue(
        lambda: [trial],
        Shares(),
        failure_policy=lambda _: Retry(after_seconds=60),
        clock=lambda: times[0],
    )
    next_job(queue)
    queue.tell(TrialEnded(trial_key=KEY))
    assert queue.next() is Next.WAIT
    times[0] = 61.0
    assert kinds(next_job(queue)) == ["confidence"]
