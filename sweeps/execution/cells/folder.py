"""A cell's folder: the lease, the checkpoint, the outbox and the final record of one trial.

The folder is the truth about a trial. Its record is filled from it. Only this module knows its
layout, so that object storage can replace a shared disk later.

    lock                        one writer at a time, and its fence number
    checkpoint-F.safetensors    the last one: weights, optimiser, generators, the whole curve so far
    checkpoint.damaged          one that could not be read, archived
    outbox.jsonl                what was reported, append-only: start, epoch, failed, pruned
    pulse.txt                   what the attempt uses and waits for, and the line that it is at
    log.txt                     what the trial printed, and the traceback if it raised
    predictions-F.safetensors   of a finished trial, as are the weights
    weights-F.safetensors
    weights.deleted             empty: the weights were not to be kept
    final.json                  written last and once: the cell is filled. It names the files
    evaluations/                later evaluations of the trial

F is the fence of the attempt that wrote the file. An attempt whose machine was cut off from a
shared disk has lost its lock and may not know it, while the next attempt trains. Neither overwrites
the other's files. The first to write `final.json` fills the cell. A name without a fence is from an
earlier store and counts as fence 0.

Other users may have put files there. So no link is followed, only regular files are opened, and
a file of another owner is refused, as `sweeps.storage.folder` says.
"""

import os
import re
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from capsmodel.spelling import words_of
from search_spaces.user_code import line_in_sweep_file
from sweeps.execution.cells.worker_stats import WorkerStats
from sweeps.records.cell_contents import FinalRecord, OutboxLine, TrialSpec
from sweeps.records.errors import BadInput
from sweeps.storage.appended import append_whole
from sweeps.storage.disk_room import retry_when_full
from sweeps.storage.file_lock import FileLock, is_locked
from sweeps.storage.folder import Folder, read_descriptor

CHECKPOINT, PREDICTIONS, WEIGHTS = "checkpoint", "predictions", "weights"
"""What an attempt writes besides its lines of the outbox."""
_OF_ATTEMPT = re.compile(rf"({CHECKPOINT}|{PREDICTIONS}|{WEIGHTS})(?:-(\d{{1,18}}))?\.safetensors")
_LEFT_OVER = (".tmp", ".unfinished", ".damaged")
_LOG_END_BYTES = 2**16  # more than any stack
_MOST_LINES = 200_000  # of an outbox: an epoch is one


class CellBusyError(TimeoutError):
    """Another process has locked a cell."""


class CellFolder:
    """The folder of one trial key."""

    def __init__(self, cells: Path, trial_key: str) -> None:
        self.trial_key = trial_key
        self.files = Folder(cells.parent, cells.name, trial_key)
        self.path = self.files.path
        self.log = self.path / "log.txt"
        self.stats = WorkerStats(self.files)
        self._outbox = self.path / "outbox.jsonl"
        self._final = self.path / "final.json"
        self.lock = self.path / "lock"

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the last attempt that has written one."""
        return self._newest(CHECKPOINT)

    @property
    def predictions(self) -> Path:
        """The predictions that belong to the final record; before it, the newest."""
        return self._final_file(PREDICTIONS)

    @property
    def weights(self) -> Path:
        """The weights that belong to the final record; before it, the newest."""
        return self._final_file(WEIGHTS)

    def attempt_file(self, kind: str, fence: int) -> Path:
        """Return where an attempt writes its checkpoint, predictions or weights."""
        return self.path / f"{kind}-{fence}.safetensors"

    def attempt_files(self, *kinds: str) -> dict[Path, int]:
        """Return the files of these kinds that attempts have written, with their fences."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return {
                path: int(match[2] or 0)
                for path in self.path.iterdir()
                if (match := _OF_ATTEMPT.fullmatch(path.name)) and match[1] in kinds
            }
        return {}

    def _newest(self, kind: str) -> Path:
        """Return the file of the highest fence, by default the name without one."""
        files = self.attempt_files(kind)
        return max(files, key=files.__getitem__, default=self.path / f"{kind}.safetensors")

    def _final_file(self, kind: str) -> Path:
        with suppress(BadInput):
            final = self.read_final()
            for name in final.files if final else ():
                if (match := _OF_ATTEMPT.fullmatch(name)) and match[1] == kind:
                    return self.path / name
        return self._newest(kind)

    @contextmanager
    def lease(self, wait_seconds: float = 20.0) -> Generator[int]:
        """Lock the cell for its only writer. Yields the fence number, which grows with every lease.

        Raises:
            CellBusyError: If another process has it for longer than `wait_seconds`.
            BadInput: If the folder, or a file that goes with it, is a link or a stranger's.
        """
        self.files.make()
        names = [path.name for path in self.attempt_files(CHECKPOINT, PREDICTIONS, WEIGHTS)]
        self.files.check_files(*names)
        deadline = time.monotonic() + wait_seconds
        with self.new_lock() as lock:
            while not lock.acquire():
                if time.monotonic() > deadline:
                    raise CellBusyError(f"cell {self.trial_key} is locked by another process")
                time.sleep(0.05)
            fence = self._last_fence(lock.descriptor) + 1
            os.pwrite(lock.descriptor, b"%d\n" % fence, 0)
            os.fsync(lock.descriptor)
            yield fence

    def _last_fence(self, descriptor: int) -> int:
        """Return the fence in the lock file, or the outbox's if a crash tore the lock file."""
        try:
            return int(os.pread(descriptor, 40, 0))
        except ValueError:
            lines, _ = self.read_outbox()
            return max((line.fence for line in lines), default=0)

    def new_lock(self) -> FileLock:
        """Return its lock, which is not taken yet."""
        return FileLock(self.files, self.lock.name)

    def is_busy(self) -> bool:
        """Return whether another process is training it now."""
        return is_locked(self.files, self.lock.name)

    def open_log(self) -> int:
        """Open the log to add to it, and return its descriptor."""
        return self.files.append(self.log.name)

    def read_log(self) -> int:
        """Open the log to read it, and return its descriptor."""
        return self.files.open(self.log.name)

    def log_size(self) -> int:
        """Return the length of the log in bytes, 0 where there is none."""
        with suppress(FileNotFoundError):
            return self.log.lstat().st_size
        return 0

    def end_of_log(self, offset: int) -> str:
        """Return the end of what the log holds after an offset, "" where there is no log."""
        try:
            descriptor = self.read_log()
        except (OSError, BadInput):
            return ""
        with os.fdopen(descriptor, "rb") as file:
            file.seek(max(offset, os.fstat(descriptor).st_size - _LOG_END_BYTES))
            return file.read(_LOG_END_BYTES).decode(errors="replace")

    def append(self, *lines: OutboxLine) -> None:
        """Append lines to the outbox, all of them or none.

        Raises:
            OSError: If not all could be written, for instance on a full disk. The outbox is then as
                before.
        """
        data = b"".join(
            line.model_dump_json(exclude_defaults=True).encode() + b"\n" for line in lines
        )
        with self._open_outbox(os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
            append_whole(file, data)

    def spec_under(self, plan: str) -> TrialSpec | None:
        """Return the spec with which a plan started the trial; None if this plan did not start it.

        Args:
            plan: Hash of the plan, as in `TrialSpec.plan`.
        """
        try:
            content = self.files.read(self._outbox.name)
        except (OSError, BadInput):
            return None
        if plan.encode() not in content:
            return None
        specs = (line.head for line in map(_outbox_line, content.splitlines()) if line)
        return next((spec for spec in specs if spec and spec.plan == plan), None)

    def read_outbox(
        self, offset: int = 0, fence: int | None = None
    ) -> tuple[list[OutboxLine], int]:
        """Return the lines after an offset, and the offset after them.

        Left out are torn lines, and those of a lower fence than one before them: their writer had
        lost its lease and did not know.

        Args:
            offset: One that an earlier call has returned, or a size of the outbox.
            fence: Fence of the last line that an earlier call returned before the offset. With it
                only what follows is read, without it the whole outbox, to know it.

        Raises:
            BadInput: If it is not a regular file, too large, or has too many lines.
        """
        if self.outbox_size() <= offset:
            return [], offset
        begin = 0 if fence is None else offset
        descriptor = self.files.open(self._outbox.name)
        os.lseek(descriptor, begin, os.SEEK_SET)
        data = read_descriptor(descriptor, self._outbox)
        end = data.rfind(b"\n") + 1
        if (num_lines := data.count(b"\n")) > _MOST_LINES:
            raise BadInput(
                f"The outbox {self._outbox} has {num_lines:,} lines, where {_MOST_LINES:,} are "
                f"allowed: move the folder {self.path} away to train its cell again."
            )
        fence, lines = fence or 0, list[OutboxLine]()
        for start, raw in _pieces(data[:end]):
            line = _outbox_line(raw)
            if line and line.fence >= fence:
                fence = line.fence
                if begin + start >= offset:
                    lines.append(line)
        return lines, max(offset, begin + end)

    def outbox_size(self) -> int:
        """Return the length of the outbox in bytes, 0 where there is none."""
        try:
            with self._open_outbox(os.O_RDONLY) as file:
                return os.fstat(file.fileno()).st_size
        except FileNotFoundError:
            return 0

    def read_final(self) -> FinalRecord | None:
        """Return the final record, None while the cell is empty.

        Raises:
            BadInput: If it is damaged, or of a later version.
        """
        try:
            return FinalRecord.model_validate_json(self.files.read(self._final.name))
        except FileNotFoundError:
            return None
        except ValidationError as error:
            raise BadInput(
                f"The final record {self._final} cannot be read: it is damaged, or of a later "
                f"version. Move the folder {self.path} away to train its cell again."
            ) from error

    def is_filled(self) -> bool:
        """Return whether the final record is there."""
        return self._final.exists()

    def has_reported(self) -> bool:
        """Return whether there is more than the start of a trial, or something unreadable."""
        with suppress(BadInput):
            return self.is_filled() or any(line.type != "start" for line in self.read_outbox()[0])
        return True

    def write_final(self, record: FinalRecord) -> FinalRecord:
        """Fill the cell unless it is filled: write the final record, then remove what it leaves.

        Returns:
            The record that fills the cell: another attempt's if that was first.

        Raises:
            BadInput: If another attempt has written one that cannot be read.
        """
        if not self.files.write_first(self._final.name, record.model_dump_json().encode()):
            record = self.read_final() or record
        self.remove_scratch(record)
        return record

    def remove_scratch(self, final: FinalRecord) -> None:
        """Remove what a filled cell does not need, and what other attempts have written."""
        names = [path.name for path in (*self.unneeded_files(final), self.stats.path)]
        names += [name for name in self.files.names() if name.endswith(_LEFT_OVER)]
        for name in names:
            self.files.remove(name)

    def unneeded_files(self, final: FinalRecord) -> list[Path]:
        """Return all checkpoints, and files of attempts that the final record does not name."""
        results = self.attempt_files(PREDICTIONS, WEIGHTS)
        lost = [path for path, fence in results.items() if fence and path.name not in final.files]
        return [*self.attempt_files(CHECKPOINT), *lost]

    def drop_checkpoints_before(self, fence: int) -> None:
        """Remove the checkpoints of earlier attempts, now that this one has written its own."""
        for path, other in self.attempt_files(CHECKPOINT).items():
            if other < fence:
                self.files.remove(path.name)

    def delete_weights(self) -> int:
        """Delete the trained weights, and return how many bytes there were."""
        self.files.check()
        paths = self.attempt_files(WEIGHTS)
        size = sum(path.lstat().st_size for path in paths)
        for path in paths:
            self.files.remove(path.name)
        return size

    def archive_checkpoint(self, path: Path) -> None:
        """Rename a damaged checkpoint, so that no attempt resumes from it."""
        self.files.rename(path.name, self.files, f"{CHECKPOINT}.damaged")

    def append_failure(self, spec: TrialSpec, fence: int, reason: str, **kind: bool) -> None:
        """Append a failure with the spec of the trial, as no start may be in the outbox.

        Args:
            spec: Spec of the trial.
            fence: Number of the lease.
            reason: Why it failed.
            **kind: `is_out_of_memory`, `is_out_of_gpu_memory`, `is_deterministic` of `OutboxLine`.
        """
        facts = {"head": spec, "reason": reason, **kind}
        moment = {"time": now_milliseconds(), "fence": fence}
        self.append(OutboxLine.model_validate({"type": "failed", **moment, **facts}))

    def append_pruned(self, spec: TrialSpec, reason: str, since: int = 0) -> None:
        """Append that a scheduler stopped the trial; another sweep may resume it.

        This is the only line that is written without the lease, which the trial may have for a
        while, although it writes no more. It has the fence of the attempt that was stopped, so that
        readers drop it if another attempt has begun since. It waits for room on the disk.

        Args:
            spec: Spec of the trial.
            reason: Why it was stopped.
            since: Size of the outbox when the attempt began; by default the attempt is the last
                one that has reported an epoch.
        """
        lines, _ = self.read_outbox(since)
        fences = [line.fence for line in lines if line.type == ("start" if since else "epoch")]
        fence = (fences[0] if since else fences[-1]) if fences else 0
        time = now_milliseconds()
        line = OutboxLine(type="pruned", time=time, fence=fence, head=spec, reason=reason)
        retry_when_full(lambda: self.append(line), self.path)

    def is_pruned(self) -> bool:
        """Return whether the last line of the outbox says pruned."""
        lines, _ = self.read_outbox()
        return bool(lines) and lines[-1].type == "pruned"

    def stopped_by(self, plan: str) -> int:
        """Return the epoch after which a plan's scheduler stopped the trial, 0 if it trains on.

        Args:
            plan: Hash of the plan, as in `TrialSpec.plan`.
        """
        lines, _ = self.read_outbox()
        head = lines[-1].head if lines and lines[-1].type == "pruned" else None
        return self.epochs_done() if head and head.plan == plan else 0

    def failed_since(self, offset: int = 0) -> OutboxLine | None:
        """Return the failure line of the last attempt after an offset; None if it did not fail."""
        lines, _ = self.read_outbox(offset)
        return lines[-1] if lines and lines[-1].type == "failed" else None

    def failure_since(self, offset: int = 0) -> str | None:
        """Return why the last attempt after an offset failed, None if it did not."""
        failed = self.failed_since(offset)
        return failed.reason if failed else None

    def epochs_done(self) -> int:
        """Return the last epoch in the outbox, 0 if there is none."""
        lines, _ = self.read_outbox()
        return max((line.epoch.epoch for line in lines if line.epoch), default=0)

    def warnings(self) -> tuple[str, ...]:
        """Return what was unsound in the training after the last epoch in the outbox."""
        lines, _ = self.read_outbox()
        return next((line.warnings for line in reversed(lines) if line.epoch), ())

    def _open_outbox(self, flags: int) -> BinaryIO:
        descriptor = self.files.open(self._outbox.name, flags)
        return os.fdopen(descriptor, "r+b" if flags else "rb", buffering=0)


def _pieces(data: bytes) -> Generator[tuple[int, bytes]]:
    """Yield lines and where each starts."""
    start = 0
    for raw in data.splitlines(keepends=True):
        yield start, raw
        start += len(raw)


def _outbox_line(raw: bytes) -> OutboxLine | None:
    try:
        return OutboxLine.model_validate_json(raw)
    except ValidationError:
        return None


def reason_of(error: BaseException) -> str:
    """Return an exception as one line of a record, with the line of the user's file it passed."""
    text = f"{type(error).__name__}: {words_of(error)}".replace("\n", " ")[:500]
    if line := line_in_sweep_file(error):
        text = f"{text} ({line})"
    return text.encode(errors="backslashreplace").decode()  # file names may hold lone surrogates


def now_milliseconds() -> int:
    """Return the time as records hold it."""
    return int(time.time() * 1000)
