"""The queue of a launch's evaluations: which trial is evaluated next, and what follows a failure.

The cells' folders decide, not the engine's report: an evaluation is made when its record is there.
"""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.cell_queue import ClusterShares
from sweeps.execution.engine.engine import Event, Job, Next, Stop, TrialEnded, TrialStarted
from sweeps.execution.engine.failure_policy import (
    FailedAttempt,
    Failure,
    FailurePolicy,
    GiveUp,
    Retry,
    restart_blameless,
)
from sweeps.execution.engine.packing import CardPacker, Wanted
from sweeps.execution.launch.result import FailedEvaluation
from sweeps.execution.worker.evaluation import EvaluationJob
from sweeps.records.manifest import ManifestCell
from sweeps.records.manifest_evaluation import ManifestEvaluation


class TrialToEvaluate(NamedTuple):
    """A finished trial that lacks evaluations.

    Attributes:
        cell: Its first cell in the sweep.
        job: What evaluates it, with all of `missing`.
        missing: In the order of `job.evaluations`.
    """

    cell: ManifestCell
    job: EvaluationJob
    missing: tuple[ManifestEvaluation, ...]

    def still_missing(self) -> "TrialToEvaluate":
        """Return it with the evaluations that its folder lacks now."""
        made = CellEvaluations(self.folder.path).keys()
        return self.only([evaluation.evaluation_key not in made for evaluation in self.missing])

    def only(self, wanted: Sequence[bool]) -> "TrialToEvaluate":
        """Return it with some of its evaluations."""
        pairs = zip(self.missing, self.job.evaluations, wanted, strict=True)
        kept = [(evaluation, settings) for evaluation, settings, is_wanted in pairs if is_wanted]
        job = self.job.model_copy(update={"evaluations": tuple(settings for _, settings in kept)})
        return self._replace(job=job, missing=tuple(evaluation for evaluation, _ in kept))

    def halves(self) -> tuple["TrialToEvaluate", "TrialToEvaluate"]:
        """Return it with the first half of its evaluations, and with the others."""
        num, first = len(self.missing), (len(self.missing) + 1) // 2
        is_first = [place < first for place in range(num)]
        return self.only(is_first), self.only([place >= first for place in range(num)])

    def is_busy(self) -> bool:
        """Return whether a process holds its folder."""
        return self.folder.is_busy()

    @property
    def folder(self) -> CellFolder:
        """The trial's folder."""
        return CellFolder(Path(self.job.cells), self.job.trial_key)


class EvaluationQueue:
    """The evaluations of one launch. An engine takes its jobs here and reports their ends.

    A trial's evaluations are two jobs, one after the other: each loads the data once, and no
    machine is idle for long while the last trial is evaluated. One that fails does not hold back
    those after it.

    Args:
        find: Returns the trials that lack evaluations; called when the first job is asked for.
        share_of: Returns what share of a machine a job gets.
        packer: Binds jobs to GPUs; None leaves that to the engine.
        failure_policy: Decides what follows an attempt that left an evaluation unmade.
        say: Shows how far it is.
        clock: In seconds, for what is retried later.

    Attributes:
        failures: Those that were given up.
        num_made: In this launch.
    """

    def __init__(
        self,
        find: Callable[[], Sequence[TrialToEvaluate]],
        share_of: ClusterShares,
        *,
        packer: CardPacker | None = None,
        failure_policy: FailurePolicy = restart_blameless,
        say: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.failures: list[FailedEvaluation] = []
        self.num_made = 0
        self._find = find
        self._share_of = share_of
        self._packer = packer
        self._failure_policy = failure_policy
        self._say = say
        self._waiting: deque[TrialToEvaluate] | None = None
        self._num_all = 0
        self._running: dict[str, TrialToEvaluate] = {}
        self._attempts = defaultdict[tuple[str, str], list[FailedAttempt]](list)
        self._retries: dict[str, Retry] = {}
        self._clock = clock
        self._not_before: dict[str, float] = {}

    def next(self) -> Job | Next:
        """Return the next trial's evaluations; wait for a trial that another process holds."""
        if self._waiting is None:
            trials = [trial.halves() for trial in self._find()]
            self._waiting = deque(half for halves in zip(*trials, strict=True) for half in halves)
            num_missing = sum(len(half.missing) for half in self._waiting)
            self._num_all = self.num_made + num_missing if num_missing else 0
            self._show()
        for _ in range(len(self._waiting)):
            trial = self._waiting.popleft()
            if self._is_to_wait(trial):
                self._waiting.append(trial)
            elif remainder := self._without_made(trial):
                if job := self._dispatched(remainder):
                    return job
                self._waiting.append(remainder)
        return Next.WAIT if self._waiting or self._running else Next.DONE

    def find_again(self) -> None:
        """Look for trials that lack evaluations when the next job is asked for."""
        self._waiting = None

    def _dispatched(self, trial: TrialToEvaluate) -> Job | None:
        """Dispatch the evaluations of a trial, or return None if no GPU has room for them."""
        key, retry = trial.job.trial_key, self._retries.get(trial.job.trial_key, Retry())
        share = self._share_of(trial.job.config, is_alone=retry.is_alone, gpu=retry.gpu)
        if self._packer:
            shape = f"evaluation {self._packer.shape(key, trial.job.config)}"
            wanted = Wanted(key, shape, is_alone=retry.gpu == "whole", is_retry=retry != Retry())
            choice = self._packer.choose([wanted])
            if choice is None or choice.card is None:
                return None
            share = share.model_copy(update={"card": self._packer.give(wanted, choice.card)})
        self._running[key] = trial
        job = trial.job.model_copy(update={"device": share.device})
        return Job(evaluations=(job,), share=share)

    def tell(self, event: Event) -> Stop | None:
        """Take the end of a job: what it left unmade is retried or given up."""
        if isinstance(event, TrialStarted):
            return None
        assert isinstance(event, TrialEnded)
        assert self._waiting is not None
        attempt = _attempt(event)
        trial = self._running.pop(event.trial_key)
        if self._packer:
            is_whole = self._packer.take_back(
                event.trial_key,
                trial.folder.stats.peak_gpu_bytes(),
                ended_well=event.failure is None,
                ran_out=attempt.failure is Failure.OUT_OF_GPU_MEMORY,
            )
            attempt = attempt.model_copy(update={"has_whole_gpu": is_whole})
        trial = self._without_made(trial)
        if trial and event.is_taken_back:
            self._waiting.appendleft(trial)
        elif trial and trial.is_busy() and event.failure is None:
            self._waiting.append(trial)  # another process holds it
        elif trial:
            self._retry(trial, attempt)
        self._show()
        return None

    def _is_to_wait(self, trial: TrialToEvaluate) -> bool:
        key = trial.job.trial_key
        is_early = self._clock() < self._not_before.get(key, 0.0)
        return key in self._running or is_early or trial.is_busy()

    def _retry(self, trial: TrialToEvaluate, attempt: FailedAttempt) -> None:
        """Retry the evaluations of a trial; without the first one if that is given up."""
        assert self._waiting is not None
        key, first = trial.job.trial_key, trial.missing[0]
        attempts = self._attempts[key, first.evaluation_key]
        attempts.append(attempt)
        next_try = self._failure_policy(tuple(attempts))
        if isinstance(next_try, GiveUp):
            arm, seed = trial.cell.arm, trial.cell.seed
            reason, log = next_try.reason, trial.folder.log
            self.failures.append(FailedEvaluation(arm, seed, first.kind, reason, log))
            trial = trial.only([False, *[True] * (len(trial.missing) - 1)])
        else:
            self._retries[key] = next_try
            self._not_before[key] = self._clock() + next_try.after_seconds
        if trial.missing:
            self._waiting.appendleft(trial)

    def _without_made(self, trial: TrialToEvaluate) -> TrialToEvaluate | None:
        """Return what is left of a trial's evaluations; None where all are made."""
        remainder = trial.still_missing()
        self.num_made += len(trial.missing) - len(remainder.missing)
        return remainder if remainder.missing else None

    def _show(self) -> None:
        if self._num_all:
            done = self.num_made + len(self.failures)
            self._say(f"evaluating: {done} of {self._num_all}")


def _attempt(event: TrialEnded) -> FailedAttempt:
    """Return how an attempt failed. An evaluation that raised would raise again."""
    failure = event.failure or Failure.KILLED
    if failure is Failure.RAISED:
        is_memory = "out of memory" in event.reason.lower()
        failure = Failure.OUT_OF_MEMORY if is_memory else Failure.BUG
        failure = Failure.OUT_OF_GPU_MEMORY if "CUDA out of memory" in event.reason else failure
    return FailedAttempt(failure=failure, reason=event.reason)
