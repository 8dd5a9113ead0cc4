"""A cell's folder: the lease, the checkpoint, the outbox and the final record of one trial.

The folder is the truth about a trial; MLflow is filled from it. This is the only module that knows
its layout, so that object storage can stand in for a shared disk later.

    lock                        one writer at a time, and its fence number
    checkpoint.safetensors      the last one: weights, optimiser, generators, the whole curve so far
    outbox.jsonl                what the trial has told, append-only: start, epoch, failed
    log.txt                     what the trial printed, and the traceback if it raised
    predictions.safetensors     of a finished trial, as are the weights
    weights.safetensors
    final.json                  written last: the cell is filled
"""

import json
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sweeps.execution.files import FileLock, is_locked, write_atomically
from sweeps.records import SCHEMA_VERSION, Json, Outcome


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class TrialHead(_Frozen):
    """What is known of a trial when it starts."""

    schema_version: Literal[1] = SCHEMA_VERSION
    trial_key: str
    sweep: str
    arm: str
    seed: int
    config: Json
    source: str | None = None
    data_fingerprint: str = ""
    num_parameters: int = 0
    device: str = "cpu"
    threads: int = 1
    git_revision: str = ""
    versions: dict[str, str] = {}


class EpochLine(_Frozen):
    """One epoch of the curve. Errors are fractions; non-finite numbers survive as JSON's NaN."""

    epoch: int
    train_loss: float
    validation_loss: float
    validation_error: float
    duration_seconds: float = 0.0


class OutboxLine(_Frozen):
    """One line of the outbox.

    Attributes:
        time: Milliseconds since 1970; a re-sent metric keeps it, so that MLflow drops the copy.
        fence: Number of the lease it was written under.
    """

    type: Literal["start", "epoch", "failed"]
    time: int
    fence: int
    head: TrialHead | None = None
    epoch: EpochLine | None = None
    reason: str = ""


class FinalRecord(_Frozen):
    """What fills a cell."""

    head: TrialHead
    outcome: Outcome
    reason: str = ""
    curve: tuple[EpochLine, ...]
    test_error: float | None = None
    duration_seconds: float
    peak_memory_bytes: int | None = None
    time: int
    fence: int


class CellFolder:
    """The folder of one trial key."""

    def __init__(self, cells: Path, trial_key: str) -> None:
        self.trial_key = trial_key
        self.path = cells / trial_key
        self.checkpoint = self.path / "checkpoint.safetensors"
        self.predictions = self.path / "predictions.safetensors"
        self.weights = self.path / "weights.safetensors"
        self.log = self.path / "log.txt"
        self._outbox = self.path / "outbox.jsonl"
        self._final = self.path / "final.json"
        self._lock = self.path / "lock"

    @contextmanager
    def lease(self, wait_seconds: float = 20.0) -> Generator[int]:
        """Be the cell's one writer. Yields the fence number, which grows with every lease.

        Raises:
            TimeoutError: If another process holds it for longer than `wait_seconds`.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + wait_seconds
        with FileLock(self._lock) as lock:
            while not lock.acquire():
                if time.monotonic() > deadline:
                    raise TimeoutError(f"cell {self.trial_key} is held by another process")
                time.sleep(0.05)
            fence = int(os.pread(lock.descriptor, 40, 0) or 0) + 1
            os.pwrite(lock.descriptor, b"%d" % fence, 0)
            yield fence

    def is_busy(self) -> bool:
        """Return whether another process is training it now."""
        return is_locked(self._lock)

    def append(self, line: OutboxLine) -> None:
        """Add a line to the outbox by one write; a line torn by a crash is closed off first."""
        data = line.model_dump_json(exclude_defaults=True).encode() + b"\n"
        with self._outbox.open("a+b", buffering=0) as file:
            if file.seek(0, os.SEEK_END) and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n":
                data = b"\n" + data
            file.write(data)

    def read_outbox(self, offset: int = 0) -> tuple[list[OutboxLine], int]:
        """Return the lines after an offset, and the offset after them. Torn ones are left out."""
        if not self._outbox.exists():
            return [], offset
        with self._outbox.open("rb") as file:
            file.seek(offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        lines = [line for raw in whole.splitlines() if (line := _outbox_line(raw))]
        return lines, offset + len(whole)

    def outbox_size(self) -> int:
        """Return the length of the outbox in bytes, 0 where there is none."""
        return self._outbox.stat().st_size if self._outbox.exists() else 0

    def read_final(self) -> FinalRecord | None:
        """Return the final record, None while the cell is empty."""
        if not self._final.exists():
            return None
        return FinalRecord.model_validate_json(self._final.read_bytes())

    def is_filled(self) -> bool:
        """Return whether the final record is there."""
        return self._final.exists()

    def write_final(self, record: FinalRecord) -> None:
        """Fill the cell: the final record, then without the checkpoint."""
        write_atomically(self._final, record.model_dump_json().encode())
        self.remove_scratch()

    def remove_scratch(self) -> None:
        """Remove what a filled cell needs no more: the checkpoint, and files of killed writes."""
        for path in (self.checkpoint, *self.path.glob("*.tmp"), *self.path.glob("*.unfinished")):
            path.unlink(missing_ok=True)

    def failure_since(self, offset: int = 0) -> str | None:
        """Return why the last attempt told of after an offset failed, None if none did."""
        lines, _ = self.read_outbox(offset)
        return lines[-1].reason if lines and lines[-1].type == "failed" else None

    def epochs_done(self) -> int:
        """Return how many epochs the outbox tells of."""
        lines, _ = self.read_outbox()
        return max((line.epoch.epoch for line in lines if line.epoch), default=0)


def _outbox_line(raw: bytes) -> OutboxLine | None:
    try:
        return OutboxLine.model_validate(json.loads(raw))
    except (ValueError, ValidationError):
        return None


def now_milliseconds() -> int:
    """Return the time as records hold it."""
    return int(time.time() * 1000)
