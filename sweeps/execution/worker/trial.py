"""One trial: a worker trains it and stores all in its cell's folder, wherever it is killed.

An epoch is stored in three steps: the checkpoint is written, then a line of the outbox, then it is
reported to the engine. A trial that resumes reports what its checkpoint has and its outbox lacks,
so no epoch is lost or reported twice. If nobody may stop the trial, epochs that take a fraction of
a second are stored together, once a second: one by one that would take a tenth of their time.
An epoch whose losses are not finite is reported but not saved: it is the last one, and it is
trained once more to find where its numbers went wrong.
A trial never talks to the tracking store.
"""

import io
import logging
import math
import os
import sys
import time
import traceback
from bdb import BdbQuit
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict

from capsmodel.metrics import EpochMetrics, non_finite_words
from search_spaces.user_code import line_in_sweep_file
from sweeps.execution.cells.folder import (
    CHECKPOINT,
    PREDICTIONS,
    WEIGHTS,
    CellFolder,
    now_milliseconds,
    reason_of,
)
from sweeps.execution.cells.kept_states import KeptStates, machine_of
from sweeps.execution.cells.sealed_files import sealed
from sweeps.execution.interruption import Interrupted
from sweeps.execution.last_line import crashes_to
from sweeps.execution.safe_output import safe_output
from sweeps.execution.worker.provenance import hardware, package_versions
from sweeps.execution.worker.stack_watch import StackWatch, stack_watch
from sweeps.execution.worker.worker_process import (
    PeakMemory,
    is_deterministic,
    is_out_of_gpu_memory,
    is_out_of_memory,
    name_of_gpu,
    peak_of_gpu,
    recorded_peak_memory,
    refuse_other_code,
    training_config,
    warm_up,
)
from sweeps.records.cell_contents import FinalRecord, OutboxLine, TrialSpec
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Json, Outcome
from sweeps.storage.disk_room import (
    RESERVE_BYTES,
    free_bytes,
    is_full,
    retry_when_full,
    wait_for_room,
)

if TYPE_CHECKING:
    from capsmodel.config import TrainingConfig
    from capsmodel.data import DataFacts
    from capsmodel.training.training import Training

R = TypeVar("R")


class Disk:
    """The disk of one cell. A write to it waits until there is room."""

    def __init__(self, cell: CellFolder) -> None:
        self._cell = cell
        self._largest = 0

    def wait(self) -> None:
        """Return when there is room to begin."""
        wait_for_room(self._cell.path)

    def keep(self, write: Callable[[], R]) -> R:
        """Write as soon as there is room; the write may be tried several times."""
        cell = self._cell
        return retry_when_full(write, cell.path, self._wanted(), cell.stats.note_wanted_disk)

    def _wanted(self) -> int:
        """Return the size of the largest file so far, as the next is about as large."""
        with suppress(FileNotFoundError):
            self._largest = max(self._largest, self._cell.checkpoint.stat().st_size)
        return self._largest


_FIRST_LINE = "# log of a capsweep trial, schema_version 1\n"


class LogStream(io.TextIOBase):
    """A text stream without a buffer, which drops what a full disk does not take.

    A full disk would otherwise make a trial fail because of what it prints.
    """

    encoding = "utf-8"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str, /) -> int:
        """Write a text, or nothing if there is no room."""
        try:
            os.write(self._descriptor, text.encode(errors="backslashreplace"))
        except OSError as error:
            if not is_full(error):
                raise
        return len(text)

    def writable(self) -> bool:
        """Return that it is."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor


@contextmanager
def log_of(cell: CellFolder, *, takes_prints: bool = True) -> Generator[LogStream]:
    """Send what the trial logs to its file, and what it prints unless that stays where it is.

    Yields the file as a stream.
    """
    descriptor = cell.open_log()
    stream = LogStream(descriptor)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    try:
        if not os.fstat(descriptor).st_size:
            stream.write(_FIRST_LINE)
        logging.getLogger().addHandler(handler)
        with ExitStack() as redirected:
            redirected.enter_context(crashes_to(descriptor))
            if not takes_prints:
                redirected.enter_context(safe_output())
            else:
                redirected.enter_context(redirect_stdout(stream))
                redirected.enter_context(redirect_stderr(stream))
            yield stream
    finally:
        logging.getLogger().removeHandler(handler)
        sys.stdout.flush()
        os.close(descriptor)


def print_traceback(log: LogStream) -> None:
    """Print the traceback of the error that is handled, and write it to a trial's log."""
    traceback.print_exc()
    if sys.stderr is not log:
        traceback.print_exc(file=log)


Report = Callable[[Sequence[EpochMetrics]], None]
_SAVE_SECONDS = 1.0  # at most between two saves, if nobody may stop the trial


class TrialJob(BaseModel):
    """What a worker needs to train a trial: plain values that travel as JSON.

    Attributes:
        cells: Folder of all cells.
        spec: What to train.
        evaluations: Kind and settings of those to make once it is trained.
        is_judged: Whether somebody may stop it after any epoch, so that each is saved at once.
        states: Folder of what longer trainings go on from; "" for none.
        takes_shorter: Whether it may go on from one of them.
        most_state_bytes: The largest of these that is kept of this trial; None for any size.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cells: str
    spec: TrialSpec
    evaluations: tuple[Json, ...] = ()
    is_judged: bool = True
    states: str = ""
    takes_shorter: bool = True
    most_state_bytes: int | None = 0


def run_trial(job: TrialJob, report: Report, *, has_own_process: bool = True) -> Outcome:
    """Train a trial from its last checkpoint to its final record.

    Args:
        job: The cell and what to train in it.
        report: Called with the epochs that were saved.
        has_own_process: Whether what is printed goes to the trial's log; else it stays where the
            process prints, and a debugger can be used.

    Returns:
        Finished or diverged.

    Raises:
        Exception: Whatever the training raised, after it has been written to the outbox and log.
        CellBusyError: If another process has locked the cell.
    """
    cell = CellFolder(Path(job.cells), job.spec.trial_key)
    with (
        _begun(cell, prints_to_log=has_own_process) as (fence, log),
        recorded_peak_memory(cell.stats, job.spec.device),
        stack_watch(cell.stats, log) as watch,
    ):
        try:
            if final := cell.read_final():
                cell.remove_scratch(final)
                return final.outcome
            warm_up(job.spec)
            spec = _with_worker_facts(job.spec)
            job = job.model_copy(update={"spec": spec})
            attempt = _Attempt(cell, job, fence, report)
            return attempt.run(watch)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if isinstance(error, (Interrupted, BdbQuit)):
                raise
            if not isinstance(error, Exception) and not line_in_sweep_file(error):
                raise  # Tune stops a trial that way
            if final := _final_of_another(cell, fence):  # which removed this attempt's files
                return final.outcome
            print_traceback(log)
            reason = reason_of(error)
            kind = {
                "is_out_of_memory": is_out_of_memory(error),
                "is_out_of_gpu_memory": is_out_of_gpu_memory(error),
                "is_deterministic": is_deterministic(error),
            }
            Disk(cell).keep(lambda: cell.append_failure(job.spec, fence, reason, **kind))
            if isinstance(error, Exception):
                raise
            raise RuntimeError(reason) from error  # else it would end the worker's process


@contextmanager
def _begun(cell: CellFolder, *, prints_to_log: bool) -> Generator[tuple[int, LogStream]]:
    """Lock a cell and open its log, as soon as the disk has room for both."""
    disk = Disk(cell)
    disk.wait()
    with ExitStack() as resources:
        fence = disk.keep(lambda: resources.enter_context(cell.lease()))
        cell.stats.note_wanted_disk(0)  # an attempt that was killed may have waited
        log = disk.keep(lambda: resources.enter_context(log_of(cell, takes_prints=prints_to_log)))
        yield fence, log


def _final_of_another(cell: CellFolder, fence: int) -> FinalRecord | None:
    """Return the final record if another attempt has filled the cell meanwhile."""
    with suppress(BadInput):
        final = cell.read_final()
        return final if final and final.fence != fence else None
    return None


def _with_worker_facts(spec: TrialSpec) -> TrialSpec:
    """Return a spec with what only the worker knows, as the driver may be another machine."""
    facts = {"hardware": hardware(spec.device), "versions": package_versions()}
    return spec.model_copy(update=facts)


class _Attempt:
    """One attempt at a trial, under one lease."""

    def __init__(self, cell: CellFolder, job: TrialJob, fence: int, report: Report) -> None:
        self.cell = cell
        self.job = job
        self.spec = spec = job.spec
        self.fence = fence
        self.report = report
        self.started_at = time.perf_counter()
        self.memory = PeakMemory(spec.device)
        self.last_checkpoint = cell.checkpoint  # an earlier attempt's, until this one has its own
        self.checkpoint = cell.attempt_file(CHECKPOINT, fence)
        self.disk = Disk(cell)
        self.outbox, _ = cell.read_outbox()
        self.last_reported = max(
            (line.epoch.epoch for line in self.outbox if line.epoch), default=0
        )
        self.saved_at = -math.inf
        self.data_facts: DataFacts
        self.num_taken_over = 0  # epochs of a shorter training
        self.waiting: list[tuple[EpochMetrics, OutboxLine]] = []  # trained and not saved yet

    def run(self, watch: StackWatch) -> Outcome:
        from search_spaces.data_fingerprint import check_unchanged

        self._tell(self._said("start", head=self.spec))  # first, since it ends a torn line
        refuse_other_code(self.spec.source, self.spec.code)
        training = self._training()
        watch.num_batches = lambda: training.num_batches
        fingerprint = self.spec.data_fingerprint
        self.data_facts = check_unchanged(training.config.data, training.data, fingerprint)
        self.started_at -= sum(metrics.duration_seconds for metrics in training.history)
        place = f"{self.spec.arm}, seed {self.spec.seed}, on {self.spec.hardware}"
        if self.spec.device.startswith("cuda"):  # cards of one machine may have the same name
            place += f" (GPU {name_of_gpu()})"
        done = f"going on after epoch {training.epoch}" if training.epoch else "starting"
        sys.stdout.write(f"{place}: {done}\n")
        for metrics in self._epochs(training):
            if not _is_finite(metrics):
                return self._finish(training, Outcome.DIVERGED, self._why_diverged(training))
        return self._finish(training, Outcome.FINISHED)

    def _epochs(self, training: "Training") -> Iterator[EpochMetrics]:
        """Yield every epoch, also those of the checkpoint; each is reported once."""
        for metrics in training.history:
            if metrics.epoch > self.last_reported:  # killed before it was reported
                self._note(metrics, training)
                self._keep()
            yield metrics
        for metrics in training:
            self._note(metrics, training)
            # One that is not finite is not saved: its origin is sought from one before.
            if not _is_finite(metrics):
                self._keep()
            elif training.is_done or self._is_due(metrics):
                self._save(training)
                self._keep()
            yield metrics

    def _save(self, training: "Training") -> None:
        self._write(self.checkpoint, training.encoded())
        if self.last_checkpoint != self.checkpoint:
            self.last_checkpoint = self.checkpoint
            self.cell.drop_checkpoints_before(self.fence)

    def _write(self, file: Path, content: bytes) -> None:
        self.disk.keep(lambda: self.cell.files.write(file.name, content))

    def _is_due(self, metrics: EpochMetrics) -> bool:
        """Return whether an epoch is saved now, because the next one would be too late."""
        seconds = time.monotonic() - self.saved_at + metrics.duration_seconds
        return self.job.is_judged or seconds >= _SAVE_SECONDS

    def _note(self, metrics: EpochMetrics, training: "Training") -> None:
        facts: dict[str, Any] = {"epoch": metrics, "peak_memory_bytes": self.memory.bytes()}
        if metrics is training.history[-1]:
            facts["warnings"] = training.warnings()
        line = self._said("epoch", **facts)
        self.waiting.append((metrics, line))

    def _keep(self) -> None:
        """Write the waiting epochs to the outbox, if they are new to it, and report them."""
        waiting, self.waiting = self.waiting, []
        if peak := peak_of_gpu(self.spec.device):  # known when the epoch is reported
            self.cell.stats.note_peak_gpu(peak)
        self._tell(*(line for epoch, line in waiting if self._is_new(epoch)))
        # an old one that is not finite ends the trial and need not be reported twice
        reported = [epoch for epoch, _ in waiting if self._is_new(epoch) or _is_finite(epoch)]
        if reported:
            self.report(reported)
        self.saved_at = time.monotonic()

    def _is_new(self, epoch: EpochMetrics) -> bool:
        return epoch.epoch > self.last_reported

    def _said(self, kind: str, **fields: Any) -> OutboxLine:
        line = {"type": kind, "time": now_milliseconds(), "fence": self.fence, **fields}
        return OutboxLine.model_validate(line)

    def _tell(self, *lines: OutboxLine) -> None:
        if lines:
            self.disk.keep(lambda: self.cell.append(*lines))

    def _training(self) -> "Training":
        """Return the training of the checkpoint; a new one if it is missing or damaged."""
        from capsmodel.training.training import Training

        config = training_config(self.spec.config, self.spec.source, self.spec.source_name)
        seed, device = self.spec.seed, self.spec.device
        checkpointing = self.spec.gradient_checkpointing
        if not self.last_checkpoint.exists():
            self._take_shorter(config)
        if not self.last_checkpoint.exists():
            return Training(config, seed, device, checkpointing=checkpointing)
        try:
            path = self.last_checkpoint
            return Training.restore(path, config, seed, device, checkpointing=checkpointing)
        except ValueError as error:
            # a new one first, as the fault may be the config's
            training = Training(config, seed, device, checkpointing=checkpointing)
            self.cell.archive_checkpoint(self.last_checkpoint)
            sys.stdout.write(f"starting over, as the checkpoint is damaged: {error}\n")
            return training

    def _take_shorter(self, config: "TrainingConfig") -> None:
        """Begin with the state of a shorter training, as if this one had been killed there."""
        if not (self.job.states and self.job.takes_shorter):
            return
        states = self._states(config)
        try:
            state, reason = states.to_go_on_from(machine_of(self.spec))
            content = states.read(state) if state else None
        except (OSError, BadInput) as error:
            state, reason, content = None, str(error), None
        if reason:
            sys.stdout.write(f"not going on from a shorter training: {reason}\n")
        if state and content:
            self._write(self.checkpoint, content)
            self.last_checkpoint, self.num_taken_over = self.checkpoint, state.num_epochs

    def _states(self, config: "TrainingConfig") -> KeptStates:
        states, fingerprint = Path(self.job.states), self.spec.data_fingerprint
        return KeptStates(states, config, self.spec.seed, fingerprint)

    def _keep_state(self, training: "Training") -> None:
        """Keep the last checkpoint for longer trainings, unless nothing new or no room is there.

        It is not kept where attempts on machines of several kinds have trained, as no longer
        training would be that of one machine. A fault costs nothing but the state.
        """
        most = self.job.most_state_bytes
        size = self.last_checkpoint.stat().st_size if self.last_checkpoint.exists() else 0
        if not self.job.states or (most is not None and size > most):
            return
        heads = (line.head for line in self.outbox if line.type == "start" and line.head)
        is_of_one_machine = {machine_of(head) for head in heads} <= {machine_of(self.spec)}
        if training.epoch == self.num_taken_over or not is_of_one_machine:
            return
        if free_bytes(self.cell.path) < 3 * size + RESERVE_BYTES:  # the results come first
            sys.stdout.write("nothing is kept for a longer training, as the disk is nearly full\n")
            return
        steps = math.ceil(len(training.data.train) / training.config.batch_size)
        facts = {"num_epochs": training.epoch, "steps_per_epoch": steps}
        try:
            self._states(training.config).keep(training.encoded(), self.spec, **facts)
        except (OSError, BadInput) as error:
            sys.stdout.write(f"nothing is kept for a longer training: {error}\n")

    def _finish(self, training: "Training", outcome: Outcome, reason: str = "") -> Outcome:
        results = self._results(training) if outcome is Outcome.FINISHED else {}
        if outcome is Outcome.FINISHED:
            self._keep_state(training)
        record = FinalRecord(
            head=self.spec,
            outcome=outcome,
            reason=reason,
            curve=training.history,
            **results,
            num_images=dict(self.data_facts.num_images),
            data_notes=self.data_facts.notes,
            duration_seconds=time.perf_counter() - self.started_at,
            peak_memory_bytes=self._peak_memory(training.epoch),
            time=now_milliseconds(),
            fence=self.fence,
        )
        return self.disk.keep(lambda: self.cell.write_final(record)).outcome

    def _why_diverged(self, training: "Training") -> str:
        """Return which loss is not finite and where that began, by training the epoch once more."""
        metrics = training.history[-1]
        name = "training" if not math.isfinite(metrics.train_loss) else "validation"
        value = metrics.train_loss if name == "training" else metrics.validation_loss
        reason = f"the {name} loss became {non_finite_words(value)} in epoch {metrics.epoch}"
        before = self.last_checkpoint if self.last_checkpoint.exists() else None
        origin = training.find_origin(before)
        return f"{reason}, {origin}" if origin else reason

    def _peak_memory(self, num_epochs: int) -> int | None:
        """Return the largest of all attempts; None where a shorter training did all epochs."""
        if num_epochs and num_epochs == self.num_taken_over:
            return None
        peaks = [line.peak_memory_bytes for line in self.outbox] + [self.memory.bytes()]
        return max((peak for peak in peaks if peak is not None), default=None)

    def _results(self, training: "Training") -> dict[str, Any]:
        """Test a finished training; return the fields of its final record."""
        from safetensors.torch import save

        from capsmodel.evaluation.base import encoded_names

        result = training.test()
        validated = training.validate().tensors()
        tensors = result.tensors() | {f"validation_{name}": t for name, t in validated.items()}
        tensors |= encoded_names(training.config.data)
        contents = {
            PREDICTIONS: save(tensors, metadata={"schema_version": "1"}),
            WEIGHTS: training.trained().encoded(),
        }
        files = [self.cell.attempt_file(kind, self.fence) for kind in contents]
        for file, content in zip(files, contents.values(), strict=True):
            self._write(file, content)
        return {
            "files": sealed(self.cell, *files),
            "test_error": result.error,
            "extra_test_errors": result.extra_errors,
            "target": training.target,
            "warnings": training.warnings(),
        }


def _is_finite(metrics: EpochMetrics) -> bool:
    return math.isfinite(metrics.train_loss) and math.isfinite(metrics.validation_loss)
