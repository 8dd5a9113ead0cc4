"""One trial: from its cell's folder back to its cell's folder, wherever it is killed on the way.

After every epoch the checkpoint is written first and the outbox told second. A trial that goes on
tells what its checkpoint holds and its outbox does not, so no epoch is told twice and none is lost.
A trial never talks to MLflow.
"""

import logging
import math
import sys
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from sweeps.execution.cells import (
    CellFolder,
    EpochLine,
    FinalRecord,
    OutboxLine,
    TrialHead,
    now_milliseconds,
)
from sweeps.execution.process import PeakMemory, warm_up
from sweeps.records import Outcome

if TYPE_CHECKING:
    from capsmodel.config import TrainingConfig
    from capsmodel.training import EpochMetrics, Training

Report = Callable[[dict[str, Any]], None]


class TrialOrder(BaseModel):
    """What a worker needs to train a trial: plain values that travel as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cells: str
    head: TrialHead


def run_trial(order: TrialOrder, report: Report) -> Outcome:
    """Train a trial from its last checkpoint to its final record.

    Args:
        order: The cell and what to train in it.
        report: Told after each epoch: trial_key, epoch, and the epoch's metrics.

    Returns:
        Finished or diverged.

    Raises:
        Exception: Whatever the training raised, after it has been written to the outbox and log.
        TimeoutError: If another process holds the cell.
    """
    warm_up()
    cell = CellFolder(Path(order.cells), order.head.trial_key)
    with cell.lease() as fence:
        if final := cell.read_final():
            cell.remove_scratch()
            return final.outcome
        with _log_of(cell):
            attempt = _Attempt(cell, order.head, fence)
            try:
                return attempt.run(report)
            except Exception as error:
                traceback.print_exc()
                attempt.tell("failed", reason=_one_line(error))
                raise


class _Attempt:
    """One attempt at a trial, under one lease."""

    def __init__(self, cell: CellFolder, head: TrialHead, fence: int) -> None:
        self.cell = cell
        self.head = head
        self.fence = fence
        self.memory = PeakMemory(head.device)

    def run(self, report: Report) -> Outcome:
        self.tell("start", head=self.head)  # first, as it closes off a line that a crash tore
        last_told = self.cell.epochs_done()
        training = self._training()
        place = f"{self.head.arm}, seed {self.head.seed}, on {self.head.device}"
        sys.stdout.write(f"{place}: going on after epoch {training.epoch}\n")
        for metrics in self._epochs(training, last_told, report):
            if not _is_finite(metrics):
                return self._finish(training, Outcome.DIVERGED, _why_diverged(metrics))
        return self._finish(training, Outcome.FINISHED)

    def _epochs(
        self, training: "Training", last_told: int, report: Report
    ) -> "Iterator[EpochMetrics]":
        """Yield every epoch, those of the checkpoint too, after it has been told once."""
        for metrics in training.history:
            if metrics.epoch > last_told:
                self.tell("epoch", epoch=_line(metrics))
            yield metrics
        for metrics in training:
            training.save(self.cell.checkpoint)
            self.tell("epoch", epoch=_line(metrics))
            report({"trial_key": self.head.trial_key, **_line(metrics).model_dump()})
            yield metrics

    def tell(self, kind: str, **fields: Any) -> None:
        line = {"type": kind, "time": now_milliseconds(), "fence": self.fence, **fields}
        self.cell.append(OutboxLine.model_validate(line))

    def _training(self) -> "Training":
        from capsmodel.training import Training

        config = config_of(self.head)
        if self.cell.checkpoint.exists():
            return Training.restore(
                self.cell.checkpoint, config, seed=self.head.seed, device=self.head.device
            )
        return Training(config, seed=self.head.seed, device=self.head.device)

    def _finish(self, training: "Training", outcome: Outcome, reason: str = "") -> Outcome:
        test_error = None
        if outcome is Outcome.FINISHED:
            test_error = self._test(training)
        curve = tuple(_line(metrics) for metrics in training.history)
        record = FinalRecord(
            head=self.head,
            outcome=outcome,
            reason=reason,
            curve=curve,
            test_error=test_error,
            duration_seconds=sum(line.duration_seconds for line in curve),
            peak_memory_bytes=self.memory.bytes(),
            time=now_milliseconds(),
            fence=self.fence,
        )
        self.cell.write_final(record)
        return outcome

    def _test(self, training: "Training") -> float:
        from safetensors.torch import save_file

        result = training.test()
        save_file(
            {"predictions": result.predictions.cpu(), "labels": result.labels.cpu()},
            str(self.cell.predictions),
            metadata={"schema_version": "1"},
        )
        training.trained().save(self.cell.weights)
        return result.error


def config_of(head: TrialHead) -> "TrainingConfig":
    """Return a trial's training config, with a user's own parts from the source beside it."""
    from capsmodel.config import TrainingConfig
    from search_spaces.sweep_file import module_from_text, own_parts

    parts = own_parts(module_from_text(head.source)) if head.source else ()
    return TrainingConfig.model_validate(head.config, context={"parts": parts})


def _line(metrics: "EpochMetrics") -> EpochLine:
    return EpochLine(
        epoch=metrics.epoch,
        train_loss=metrics.train_loss,
        validation_loss=metrics.validation_loss,
        validation_error=metrics.validation_error,
        duration_seconds=metrics.duration_seconds,
    )


def _is_finite(metrics: "EpochMetrics") -> bool:
    return math.isfinite(metrics.train_loss) and math.isfinite(metrics.validation_loss)


def _why_diverged(metrics: "EpochMetrics") -> str:
    name = "training" if not math.isfinite(metrics.train_loss) else "validation"
    value = metrics.train_loss if name == "training" else metrics.validation_loss
    return f"the {name} loss became {value} in epoch {metrics.epoch}"


def _one_line(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}".replace("\n", " ")[:500]
    return text.encode(errors="backslashreplace").decode()  # file names may hold lone surrogates


@contextmanager
def _log_of(cell: CellFolder) -> Generator[None]:
    """Send what the trial prints and logs to its own file."""
    with cell.log.open("a", encoding="utf-8", errors="backslashreplace", buffering=1) as file:
        if not file.tell():
            file.write("# log of a capsweep trial, schema_version 1\n")
        handler = logging.StreamHandler(file)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.getLogger().addHandler(handler)
        try:
            with redirect_stdout(file), redirect_stderr(file):
                yield
        finally:
            logging.getLogger().removeHandler(handler)
            sys.stdout.flush()
