"""The queue of a launch's cells: which is trained next, and what follows when one ends.

The cells' folders decide, not the engine's report: a cell is filled when its final record exists,
failed when its outbox says so, and anything else means that its process was killed.
"""

import math
import re
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Protocol

from search_spaces.neighbours import neighbours_in
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.engine.cell_source import CellSource
from sweeps.execution.engine.cgroup import num_oom_kills
from sweeps.execution.engine.engine import (
    CannotGoOn,
    EpochEnded,
    Event,
    Job,
    Next,
    Stop,
    TrialEnded,
    TrialStarted,
)
from sweeps.execution.engine.failure_policy import (
    FailedAttempt,
    Failure,
    FailurePolicy,
    GiveUp,
    GpuShare,
    restart_blameless,
    why_restarted,
)
from sweeps.execution.engine.packing import CardPacker, Choice, Wanted
from sweeps.execution.engine.placement import Share
from sweeps.execution.last_line import last_line
from sweeps.execution.worker.trial import TrialJob
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import duration_text
from sweeps.records.trial_record import Json, Outcome

MOST_ARMS = 3
_MINUTE = 60.0
_MOST_NAMED = 5
_MOST_COMPARED = 256  # of the trials that wait, for one that fits on a GPU
_MOST_PASSED = 8  # times that a later trial is dispatched before one for which no GPU has room
_NUMBER = re.compile(r"\d+")


class CircuitBreaker:
    """Ends a launch in which several arms fail for the same reason and none has finished.

    A fault that every trial meets is not worth a hundred attempts.
    """

    def __init__(self) -> None:
        self._arms = defaultdict[str, set[str]](set)
        self._has_finished = False

    def record_finished(self) -> None:
        """Record that a trial went well."""
        self._has_finished = True

    def record_failed(self, spec: TrialSpec, reason: str) -> None:
        """Record that a trial failed for good.

        Args:
            spec: Spec of the trial, whose key may be part of the reason, as in the path of a file.
            reason: Why.

        Raises:
            CannotGoOn: If it is the third arm with this reason, and no trial has finished.
        """
        arms = self._arms[_NUMBER.sub("#", reason.replace(spec.trial_key, "#"))]
        arms.add(spec.arm)
        if len(arms) >= MOST_ARMS and not self._has_finished:
            raise CannotGoOn(
                f"{len(arms)} arms failed alike and no trial has finished, so the launch ends: "
                f"{reason}."
            )


class ProgressListener(Protocol):
    """Follows the progress of a launch, as the live view and the log do."""

    def dispatched(self, trial_key: str) -> None:
        """A trial was dispatched, and waits for a process."""
        ...

    def started(self, trial_key: str) -> None:
        """A process has begun with a trial."""
        ...

    def progressed(self, trial_key: str, epoch: int, validation_error: float) -> None:
        """A trial finished an epoch. The error is that of the epoch that would be tested now."""
        ...

    def restarted(self, trial_key: str, why: str) -> None:
        """A trial will resume from its checkpoint, because its process was killed, say."""
        ...

    def paused(self, trial_key: str, epoch: int) -> None:
        """A trial has no process any more. It waits at an epoch, or will resume if that is 0."""
        ...

    def ended(self, trial_key: str, outcome: Outcome, reason: str) -> None:
        """A trial was filled, or failed."""
        ...


class _Waiting(NamedTuple):
    job: TrialJob
    not_before: float = 0.0
    is_alone: bool = False
    gpu: GpuShare = "usual"
    num_passed: int = 0  # how many later trials were dispatched before it, for want of a GPU


class _RunningJob(NamedTuple):
    waited: _Waiting
    outbox_size: int  # at its dispatch: what comes after it is of this attempt
    log_size: int  # likewise
    num_oom_kills: int  # at its dispatch
    share: Share


class ClusterShares(Protocol):
    """Returns what share of a machine a trial gets."""

    def __call__(self, config: Json, *, is_alone: bool = False, gpu: GpuShare = "usual") -> Share:
        """Return the share; all of a machine for a trial that runs alone."""
        ...


def _one_core(config: Json, *, is_alone: bool = False, gpu: GpuShare = "usual") -> Share:
    del config, is_alone, gpu
    return Share()


class CellQueue:
    """The cells of one launch. An engine takes its jobs here and reports their events.

    Not thread-safe: one loop calls it.

    Args:
        source: Gives the cells to train.
        onlooker: Follows the progress.
        failure_policy: Decides what follows an attempt that left its cell empty.
        share_of: Returns what share of a machine a trial gets.
        packer: Binds trials to GPUs; None leaves that to the engine.
        clock: In seconds, for trials that are retried later.
        oom_kills: Counts the processes that the kernel has killed for memory.
        say: Shows a sentence in the live view.
    """

    def __init__(
        self,
        source: CellSource,
        onlooker: ProgressListener,
        *,
        failure_policy: FailurePolicy = restart_blameless,
        share_of: ClusterShares = _one_core,
        packer: CardPacker | None = None,
        clock: Callable[[], float] = time.monotonic,
        oom_kills: Callable[[], int] = num_oom_kills,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._tested_errors: dict[str, float] = {}  # validation errors by trial key
        self._source = source
        self._onlooker = onlooker
        self._failure_policy = failure_policy
        self._share_of = share_of
        self._packer = packer
        self._clock = clock
        self._oom_kills = oom_kills
        self._say = say
        self._busy_since: dict[str, float] = {}  # cells that another process holds
        self._reported_at = -math.inf  # which they are
        self._num_explained = 0  # of the kills for memory, from the first one counted
        self._circuit_breaker = CircuitBreaker()
        self._waiting = deque[_Waiting]()
        self._running: dict[str, _RunningJob] = {}
        self._stopped: set[str] = set()  # of the running ones, those that end after their epoch
        self._attempts = defaultdict[str, list[FailedAttempt]](list)

    def next(self) -> Job | Next:
        """Dispatch a cell that nobody trains. It waits for one that another sweep trains."""
        while not (job := self._dispatched()):
            more = self._source.more()
            if not more:
                self._report_busy()
                return Next.WAIT if self._waiting or self._running else Next.DONE
            self._waiting.extend(_Waiting(job) for job in more)
        return job

    def tell(self, event: Event) -> Stop | None:
        """Handle an event; return a stop for an epoch after which its trial ends.

        Raises:
            CannotGoOn: If several arms fail for the same reason.
        """
        if isinstance(event, TrialEnded):
            self._end_attempt(event)
            return None
        if isinstance(event, TrialStarted):
            self._onlooker.started(event.trial_key)
            return None
        return self._judge(event)

    def _judge(self, epoch: EpochEnded) -> Stop | None:
        key, result = epoch.trial_key, epoch.result
        if self._packer and (running := self._running.get(key)):
            self._packer.observe_peak(key, _folder(running.waited.job).stats.peak_gpu_bytes())
        is_stopped = self._source.judge(key, result)
        self._stopped |= {key} if is_stopped else set()
        if result.tested_epoch == result.epoch:
            self._tested_errors[key] = result.validation_error
        error = self._tested_errors.get(key, result.validation_error)
        self._onlooker.progressed(key, result.epoch, error)
        return Stop(trial_key=key) if is_stopped else None

    def _dispatched(self) -> Job | None:
        """Dispatch the first trial that nobody trains and that has room, None if there is none."""
        num_left = len(self._waiting)
        while num_left and (choice := self._choice(num_left)):
            waiting = self._waiting[choice.place]
            del self._waiting[choice.place]
            num_left -= 1
            folder = _folder(waiting.job)
            if folder.is_filled():
                self._busy_since.pop(folder.trial_key, None)
                self._end_filled(folder, waiting.job.spec)
            elif waiting.not_before > self._clock() or self._is_busy(folder):
                self._waiting.append(waiting)
            else:
                return self._dispatch(waiting, choice)
        return None

    def _choice(self, num: int) -> Choice | None:
        """Return which of the first `num` that wait comes next, by the GPUs if they are packed."""
        if not self._packer:
            return Choice(0)
        packer, num = self._packer, min(num, _MOST_COMPARED)
        first = islice(self._waiting, num)
        return packer.choose([self._wanted(waiting, packer) for waiting in first])

    def _dispatch(self, waiting: _Waiting, choice: Choice) -> Job:
        for place in range(choice.place):
            passed = self._waiting[place]
            self._waiting[place] = passed._replace(num_passed=passed.num_passed + 1)
        key, folder = waiting.job.spec.trial_key, _folder(waiting.job)
        share = self._share_of(waiting.job.spec.config, is_alone=waiting.is_alone, gpu=waiting.gpu)
        if self._packer and choice.card is not None:
            card = self._packer.give(self._wanted(waiting, self._packer), choice.card)
            share = share.model_copy(update={"card": card})
        self._busy_since.pop(key, None)
        self._running[key] = _RunningJob(
            waiting, folder.outbox_size(), folder.log_size(), self._oom_kills(), share
        )
        self._onlooker.dispatched(key)
        return Job(trials=(waiting.job,), share=share)

    def _wanted(self, waiting: _Waiting, packer: CardPacker) -> Wanted:
        spec = waiting.job.spec
        return Wanted(
            spec.trial_key,
            packer.shape(spec.trial_key, spec.config),
            is_alone=waiting.gpu == "whole",
            is_retry=waiting.gpu != "usual",
            has_waited=waiting.num_passed >= _MOST_PASSED,
        )

    def _is_busy(self, folder: CellFolder) -> bool:
        """Return whether a cell is being trained, or a process of this launch still has to end."""
        if folder.trial_key in self._running:
            return True
        if folder.is_busy():
            self._busy_since.setdefault(folder.trial_key, self._clock())
            return True
        return False

    def _report_busy(self) -> None:
        """Report once a minute which cells another process has held for a minute or longer."""
        now, since = self._clock(), self._busy_since
        specs = [waiting.job.spec for waiting in self._waiting]
        busy = [
            f"{spec.arm}, seed {spec.seed} ({duration_text(now - since[spec.trial_key])})"
            for spec in specs
            if now - since.get(spec.trial_key, now) >= _MINUTE
        ]
        if busy and now - self._reported_at >= _MINUTE:
            self._reported_at = now
            more = f" and {len(busy) - _MOST_NAMED} more" if len(busy) > _MOST_NAMED else ""
            self._say(
                f"waiting for cells that another process still holds, perhaps of another sweep or "
                f"on a machine that is cut off: {'; '.join(busy[:_MOST_NAMED])}{more}."
            )

    def _end_attempt(self, event: TrialEnded) -> None:
        """Decide what follows after the process of a trial has ended, in whatever way."""
        key = event.trial_key
        running = self._running.pop(key)
        is_stopped = key in self._stopped
        self._stopped.discard(key)
        waited, outbox_size = running.waited, running.outbox_size
        folder = _folder(waited.job)
        has_whole_gpu = self._give_back(folder, running)
        if folder.is_filled():
            self._end_filled(folder, waited.job.spec)
            return
        if event.is_taken_back:
            self._waiting.appendleft(waited)
            self._onlooker.paused(key, 0)
            return
        attempt = self._attempt(folder, event, running)
        attempt = attempt.model_copy(update={"has_whole_gpu": has_whole_gpu})
        if reason := self._source.why_stopped(key):
            folder.append_pruned(waited.job.spec, reason, outbox_size)
            self._end(waited.job.spec, Outcome.PRUNED, reason)
        elif (epoch := self._source.let_go(key)) or is_stopped:
            self._onlooker.paused(key, epoch)
        elif folder.failed_since(outbox_size) is None and folder.is_busy():
            self._waiting.append(waited)  # another sweep trains it, or its process has yet to die
        else:
            self._attempts[key].append(attempt)
            self._retry(waited.job, outbox_size)

    def _give_back(self, folder: CellFolder, running: _RunningJob) -> bool:
        """Give back the GPU of a trial that has ended; return whether it had a whole one."""
        if not self._packer:
            return not 0 < running.share.gpus < 1
        line = folder.failed_since(running.outbox_size)
        return self._packer.take_back(
            folder.trial_key,
            folder.stats.peak_gpu_bytes(),
            ended_well=folder.is_filled(),
            ran_out=line is not None and line.is_out_of_gpu_memory,
        )

    def _attempt(
        self, folder: CellFolder, event: TrialEnded, running: _RunningJob
    ) -> FailedAttempt:
        """Return how an attempt failed, by its folder, or else by the engine or the kernel."""
        if line := folder.failed_since(running.outbox_size):
            failure = Failure.BUG if line.is_deterministic else Failure.RAISED
            failure = Failure.OUT_OF_MEMORY if line.is_out_of_memory else failure
            failure = Failure.OUT_OF_GPU_MEMORY if line.is_out_of_gpu_memory else failure
            return FailedAttempt(failure=failure, reason=line.reason)
        failure = event.failure or Failure.KILLED
        # a kill explains one trial, and none that was dispatched after it
        num_explained = max(self._num_explained, running.num_oom_kills)
        if failure is Failure.KILLED and self._oom_kills() > num_explained:
            self._num_explained = num_explained + 1
            failure = Failure.OUT_OF_MEMORY
        reason = event.reason
        if failure is Failure.OUT_OF_MEMORY:
            reason = _memory_reason(folder.stats.peak_memory_bytes())
        line = _last_line(folder, running) if failure is Failure.KILLED else ""
        return FailedAttempt(failure=failure, reason=reason, last_line=line)

    def _retry(self, job: TrialJob, outbox_size: int) -> None:
        key, folder = job.spec.trial_key, _folder(job)
        next_try = self._failure_policy(tuple(self._attempts[key]))
        if isinstance(next_try, GiveUp):
            if folder.failure_since(outbox_size) != next_try.reason:
                _write_failure(job, next_try.reason)
            self._end(job.spec, Outcome.FAILED, next_try.reason)
            return
        self._onlooker.restarted(key, why_restarted(self._attempts[key]))
        not_before = self._clock() + next_try.after_seconds if next_try.after_seconds else 0.0
        self._waiting.appendleft(_Waiting(job, not_before, next_try.is_alone, next_try.gpu))

    def _end_filled(self, folder: CellFolder, spec: TrialSpec) -> None:
        try:
            final = folder.read_final()
        except BadInput as error:
            self._end(spec, Outcome.FAILED, str(error))
            return
        assert final is not None
        self._end(spec, final.outcome, final.reason)

    def _end(self, spec: TrialSpec, outcome: Outcome, reason: str) -> None:
        self._source.ended(spec.trial_key, outcome)
        self._onlooker.ended(spec.trial_key, outcome, reason)
        if outcome is Outcome.FAILED:
            self._circuit_breaker.record_failed(spec, reason)
        else:
            self._circuit_breaker.record_finished()


def _folder(job: TrialJob) -> CellFolder:
    return CellFolder(Path(job.cells), job.spec.trial_key)


def _write_failure(job: TrialJob, reason: str) -> None:
    """Write into a cell's folder why its trial failed, where the trial itself could not."""
    folder = _folder(job)
    # a cell that somebody holds, or that cannot be written to, is no reason to end the others
    with suppress(OSError), folder.lease(wait_seconds=1.0) as fence:
        folder.append_failure(job.spec, fence, reason)


def _last_line(folder: CellFolder, running: _RunningJob) -> str:
    """Return the line at which a killed trial crashed, or was seen last; "" if unknown."""
    crash, spec = folder.end_of_log(running.log_size), running.waited.job.spec
    user_files = (spec.source_name, *neighbours_in(spec.source or "").files)
    return str(last_line(crash, user_files) or folder.stats.line())


def _memory_reason(peak_bytes: int | None) -> str:
    peak = "" if peak_bytes is None else f": its process held {peak_bytes / 2**30:.2f} GiB at most"
    return f"out of memory{peak}"


class EpochBudget:
    """A queue that dispatches no more jobs once so many epochs are trained.

    What runs then is trained to its end.

    Args:
        queue: Gives the jobs.
        epochs: How many may be trained, None for any number.
        taken_over: Trial key -> its first epochs that a shorter training has done, so not counted.
    """

    def __init__(
        self, queue: CellQueue, epochs: int | None, taken_over: Mapping[str, int] | None = None
    ) -> None:
        self._queue = queue
        self._epochs = epochs
        self._taken_over = taken_over or {}
        self._num_trained = 0
        self._running: set[str] = set()

    def next(self) -> Job | Next:
        """Return the next job while the budget lasts."""
        if self.is_spent:
            return Next.WAIT if self._running else Next.DONE
        job = self._queue.next()
        if isinstance(job, Job):
            self._running |= set(job.trial_keys)
        return job

    def tell(self, event: Event) -> Stop | None:
        """Count an epoch and pass the event on to the queue."""
        if isinstance(event, EpochEnded):
            self._num_trained += event.result.epoch > self._taken_over.get(event.trial_key, 0)
        elif isinstance(event, TrialEnded):
            self._running.discard(event.trial_key)
        return self._queue.tell(event)

    @property
    def is_spent(self) -> bool:
        """Whether that many epochs were trained."""
        return self._epochs is not None and self._num_trained >= self._epochs

    @property
    def sentence(self) -> str:
        """A sentence about the budget and what was trained."""
        return f"The budget of {self._epochs} epochs is spent: {self._num_trained} were trained."
