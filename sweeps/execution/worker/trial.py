"""One trial: from its cell's folder back to its cell's folder, wherever it is killed on the way.

An epoch is kept in three steps: the checkpoint is written, then the outbox told, then the engine. A
trial that goes on tells what its checkpoint holds and its outbox does not, so no epoch is told
twice and none is lost. Where nobody judges epochs, those that take a fraction of a second are kept
together, once a second: one by one that would take a tenth of their time.
An epoch whose losses are not finite is told, not saved: it is the last one, and trained once more
to find where its numbers went wrong.
A trial never talks to the tracking store.
"""

import io
import logging
import math
import os
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict

from capsmodel.whole_file import write_whole
from sweeps.execution.cells.folder import CellFolder, now_milliseconds, reason_of
from sweeps.execution.cells.sealed_files import sealed
from sweeps.execution.worker.provenance import hardware, package_versions
from sweeps.execution.worker.worker_process import (
    PeakMemory,
    is_out_of_memory,
    recorded_peak_memory,
    training_config,
    warm_up,
)
from sweeps.records.cell_contents import EpochLine, FinalRecord, OutboxLine, TrialHead
from sweeps.records.trial_record import Outcome
from sweeps.storage.disk_room import is_full, wait_for_room, when_there_is_room

if TYPE_CHECKING:
    from capsmodel.training.training import EpochMetrics, Training

R = TypeVar("R")


class Disk:
    """The disk of one cell."""

    def __init__(self, cell: CellFolder) -> None:
        self._cell = cell
        self._largest = 0

    def wait(self) -> None:
        """Return when there is room to begin."""
        wait_for_room(self._cell.path)

    def keep(self, write: Callable[[], R]) -> R:
        """Do a write that may be repeated, as soon as there is room for it."""
        cell = self._cell
        return when_there_is_room(write, cell.path, self._wanted(), cell.stats.note_wanted_disk)

    def _wanted(self) -> int:
        """Return the size of the largest file that was written: what is next is about as large."""
        size = self._cell.checkpoint.stat().st_size if self._cell.checkpoint.exists() else 0
        self._largest = max(self._largest, size)
        return self._largest


_FIRST_LINE = "# log of a capsweep trial, schema_version 1\n"


class LogStream(io.TextIOBase):
    """A text stream that keeps nothing back, and drops what a full disk does not take.

    A trial would else fail of what it prints.
    """

    encoding = "utf-8"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, text: str, /) -> int:
        """Write a text, or none of it where there is no room."""
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
def log_of(cell: CellFolder) -> Generator[None]:
    """Send what the trial prints and logs to its own file."""
    descriptor = cell.open_log()
    stream = LogStream(descriptor)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    try:
        if not os.fstat(descriptor).st_size:
            stream.write(_FIRST_LINE)
        logging.getLogger().addHandler(handler)
        with redirect_stdout(stream), redirect_stderr(stream):
            yield
    finally:
        logging.getLogger().removeHandler(handler)
        sys.stdout.flush()
        os.close(descriptor)


Report = Callable[[Sequence[dict[str, Any]]], None]
_KEPT_SECONDS = 1.0  # of short epochs at most that wait to be kept, where nobody judges them


class TrialOrder(BaseModel):
    """What a worker needs to train a trial: plain values that travel as JSON.

    Attributes:
        cells: Folder of all cells.
        head: What to train.
        is_judged: Whether somebody may stop it after any epoch, so that each is kept at once.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cells: str
    head: TrialHead
    is_judged: bool = True


def run_trial(order: TrialOrder, report: Report) -> Outcome:
    """Train a trial from its last checkpoint to its final record.

    Args:
        order: The cell and what to train in it.
        report: Told of epochs as they are kept, of each its trial_key, epoch, and metrics.

    Returns:
        Finished or diverged.

    Raises:
        Exception: Whatever the training raised, after it has been written to the outbox and log.
        TimeoutError: If another process holds the cell.
    """
    cell = CellFolder(Path(order.cells), order.head.trial_key)
    with _begun(cell) as fence, recorded_peak_memory(cell.stats):
        try:
            if final := cell.read_final():
                cell.remove_scratch()
                return final.outcome
            warm_up(order.head)
            head = _as_found_here(order.head)
            return _Attempt(cell, head, fence, report, is_judged=order.is_judged).run()
        except Exception as error:
            traceback.print_exc()
            is_memory = is_out_of_memory(error)
            reason = reason_of(error)
            Disk(cell).keep(
                lambda: cell.tell_failure(order.head, fence, reason, is_out_of_memory=is_memory)
            )
            raise


@contextmanager
def _begun(cell: CellFolder) -> Generator[int]:
    """Hold a cell and send what is printed to its log, as soon as the disk has room for both."""
    disk = Disk(cell)
    disk.wait()
    with ExitStack() as held:
        fence = disk.keep(lambda: held.enter_context(cell.lease()))
        cell.stats.note_wanted_disk(0)  # an attempt that was killed may have waited
        disk.keep(lambda: held.enter_context(log_of(cell)))
        yield fence


def _as_found_here(head: TrialHead) -> TrialHead:
    """Return a head with what only the worker knows: the driver may be another machine."""
    facts = {"hardware": hardware(head.device), "versions": package_versions()}
    return head.model_copy(update=facts)


class _Attempt:
    """One attempt at a trial, under one lease."""

    def __init__(
        self, cell: CellFolder, head: TrialHead, fence: int, report: Report, *, is_judged: bool
    ) -> None:
        self.cell = cell
        self.head = head
        self.fence = fence
        self.report = report
        self.is_judged = is_judged
        self.started_at = time.perf_counter()
        self.memory = PeakMemory(head.device)
        self.disk = Disk(cell)
        self.told, _ = cell.read_outbox()
        self.last_told = max((line.epoch.epoch for line in self.told if line.epoch), default=0)
        self.kept_at = -math.inf
        self.waiting: list[tuple[EpochLine, OutboxLine]] = []  # trained, and not kept yet

    def run(self) -> Outcome:
        self._tell(self._said("start", head=self.head))  # first, as it closes off a torn line
        training = self._training()
        self.started_at -= sum(metrics.duration_seconds for metrics in training.history)
        place = f"{self.head.arm}, seed {self.head.seed}, on {self.head.hardware}"
        sys.stdout.write(f"{place}: going on after epoch {training.epoch}\n")
        for metrics in self._epochs(training):
            if not _is_finite(metrics):
                return self._finish(training, Outcome.DIVERGED, self._why_diverged(training))
        return self._finish(training, Outcome.FINISHED)

    def _epochs(self, training: "Training") -> "Iterator[EpochMetrics]":
        """Yield every epoch, those of the checkpoint too; each is told once."""
        for metrics in training.history:
            if metrics.epoch > self.last_told:  # killed before it was told: a verdict may wait
                self._note(training, metrics)
                self._keep()
            yield metrics
        for metrics in training:
            self._note(training, metrics)
            # One that is not finite is not saved: its origin is sought from one before.
            if not _is_finite(metrics):
                self._keep()
            elif training.is_done or self._is_due(metrics):
                self.disk.keep(lambda: training.save(self.cell.checkpoint))
                self._keep()
            yield metrics

    def _is_due(self, metrics: "EpochMetrics") -> bool:
        """Return whether an epoch is to be kept now, not with the next: that would be too late."""
        seconds = time.monotonic() - self.kept_at + metrics.duration_seconds
        return self.is_judged or seconds >= _KEPT_SECONDS

    def _note(self, training: "Training", metrics: "EpochMetrics") -> None:
        epoch = _line(training, metrics)
        line = self._said("epoch", epoch=epoch, peak_memory_bytes=self.memory.bytes())
        self.waiting.append((epoch, line))

    def _keep(self) -> None:
        """Tell outbox and engine of the epochs that wait: the outbox of those that it has not."""
        waiting, self.waiting = self.waiting, []
        self._tell(*(line for epoch, line in waiting if self._is_new(epoch)))
        # one told before that is not finite ends the trial: nobody has to hear of it again
        told = [epoch for epoch, _ in waiting if self._is_new(epoch) or _is_finite(epoch)]
        if told:
            self.report([self._reported(epoch) for epoch in told])
        self.kept_at = time.monotonic()

    def _is_new(self, epoch: EpochLine) -> bool:
        return epoch.epoch > self.last_told

    def _reported(self, line: EpochLine) -> dict[str, Any]:
        return {"trial_key": self.head.trial_key, **line.model_dump(exclude={"health"})}

    def _said(self, kind: str, **fields: Any) -> OutboxLine:
        line = {"type": kind, "time": now_milliseconds(), "fence": self.fence, **fields}
        return OutboxLine.model_validate(line)

    def _tell(self, *lines: OutboxLine) -> None:
        if lines:
            self.disk.keep(lambda: self.cell.append(*lines))

    def _training(self) -> "Training":
        """Return the training of the checkpoint, a new one where there is none or it is damaged."""
        from capsmodel.training.training import Training

        config = training_config(self.head.config, self.head.source)
        seed, device = self.head.seed, self.head.device
        checkpointing = self.head.gradient_checkpointing
        if not self.cell.checkpoint.exists():
            return Training(config, seed, device, checkpointing=checkpointing)
        try:
            path = self.cell.checkpoint
            return Training.restore(path, config, seed, device, checkpointing=checkpointing)
        except ValueError as error:
            # a new one first, as the fault may be the config's
            training = Training(config, seed, device, checkpointing=checkpointing)
            self.cell.set_checkpoint_aside()
            sys.stdout.write(f"starting over, as the checkpoint is damaged: {error}\n")
            return training

    def _finish(self, training: "Training", outcome: Outcome, reason: str = "") -> Outcome:
        results = self._found(training) if outcome is Outcome.FINISHED else {}
        curve = tuple(_line(training, metrics) for metrics in training.history)
        record = FinalRecord(
            head=self.head,
            outcome=outcome,
            reason=reason,
            curve=curve,
            **results,
            duration_seconds=time.perf_counter() - self.started_at,
            peak_memory_bytes=self._peak_memory(),
            time=now_milliseconds(),
            fence=self.fence,
        )
        self.disk.keep(lambda: self.cell.write_final(record))
        return outcome

    def _why_diverged(self, training: "Training") -> str:
        """Return what became of the last epoch's loss, and where, found by training it anew."""
        metrics = training.history[-1]
        name = "training" if not math.isfinite(metrics.train_loss) else "validation"
        value = metrics.train_loss if name == "training" else metrics.validation_loss
        reason = f"the {name} loss became {value} in epoch {metrics.epoch}"
        before = self.cell.checkpoint if self.cell.checkpoint.exists() else None
        origin = training.find_origin(before)
        return f"{reason}, {origin}" if origin else reason

    def _peak_memory(self) -> int | None:
        """Return the largest of all attempts."""
        peaks = [line.peak_memory_bytes for line in self.told] + [self.memory.bytes()]
        return max((peak for peak in peaks if peak is not None), default=None)

    def _found(self, training: "Training") -> dict[str, Any]:
        """Test a training that is done; return what its record says of it."""
        from safetensors.torch import save

        result = training.test()
        validated = training.validate().tensors()
        tensors = result.tensors() | {f"validation_{name}": t for name, t in validated.items()}
        predictions, trained = save(tensors, metadata={"schema_version": "1"}), training.trained()
        self.disk.keep(lambda: write_whole(self.cell.predictions, predictions))
        self.disk.keep(lambda: trained.save(self.cell.weights))
        return {
            "files": sealed(self.cell.predictions, self.cell.weights),
            "test_error": result.error,
            "extra_test_errors": dict(result.extra_errors),
            "target": training.target,
            "warnings": training.warnings(),
        }


def _line(training: "Training", metrics: "EpochMetrics") -> EpochLine:
    return EpochLine(
        epoch=metrics.epoch,
        train_loss=metrics.train_loss,
        validation_loss=metrics.validation_loss,
        validation_error=metrics.validation_error,
        duration_seconds=metrics.duration_seconds,
        reaches_target=training.is_ended_by(metrics.epoch),
        health=dict(metrics.health),
        metrics=dict(metrics.metrics),
    )


def _is_finite(metrics: "EpochMetrics | EpochLine") -> bool:
    return math.isfinite(metrics.train_loss) and math.isfinite(metrics.validation_loss)
