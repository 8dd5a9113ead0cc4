"""A watch on the stack of a trial, which cannot say where it is when it hangs or is killed."""

import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from io import TextIOBase

from search_spaces.user_code import line_of_frame
from sweeps.execution.cells.worker_stats import WorkerStats
from sweeps.execution.periodic import every

STALL_SECONDS = 60.0
_NOTE_SECONDS = 2.0  # each is a write to a disk that many machines may share
_LONGER = 3.0  # than the longest batch so far, where that takes minutes


@contextmanager
def stack_watch(stats: WorkerStats, log: TextIOBase) -> Generator["StackWatch"]:
    """Yield a watch on the stack of this thread, which notes it every two seconds in the block."""
    watch = StackWatch(stats, log)
    stats.note_line("")  # of an earlier attempt
    with every(_NOTE_SECONDS, watch.note):
        yield watch


class StackWatch:
    """Notes at which line the thread that makes it is, and since when no batch has ended.

    The first stall is written to the log with the stack. It is no error: a batch may take
    longer than a minute, and so may data that are read. Time in which the whole process was stopped
    does not count.

    Args:
        stats: Takes the line and the seconds.
        log: Takes a sentence and the stack.

    Attributes:
        num_batches: Returns how many batches have begun.
    """

    def __init__(self, stats: WorkerStats, log: TextIOBase) -> None:
        self.num_batches: Callable[[], int] = lambda: 0
        self._stats = stats
        self._log = log
        self._thread = threading.get_ident()
        self._num_seen = 0
        self._noted_at = time.monotonic()
        self._seconds = self._longest_seconds = 0.0
        self._has_warned = False

    def note(self) -> None:
        """Note where the thread is."""
        frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage] - there is no public way
        frame = frames.get(self._thread)
        if frame is None:
            return
        seconds, line = self._stalled_seconds(), str(line_of_frame(frame))
        self._stats.note_line(line, int(seconds))
        if seconds and not self._has_warned:
            self._has_warned = True
            stack = "".join(traceback.format_stack(frame))
            self._log.write(f"{stall_text(int(seconds), line)}\n{stack}")

    def _stalled_seconds(self) -> float:
        """Return how long no batch has ended, 0 unless that is unusually long."""
        now, num = time.monotonic(), self.num_batches()
        if num != self._num_seen:
            self._longest_seconds = max(self._longest_seconds, self._seconds)
            self._num_seen, self._seconds = num, 0.0
        self._seconds += min(now - self._noted_at, 2 * _NOTE_SECONDS)
        self._noted_at = now
        usual_seconds = max(STALL_SECONDS, _LONGER * self._longest_seconds)
        is_usual = self._seconds < usual_seconds or self._stats.wanted_disk_bytes()
        return 0.0 if is_usual else self._seconds


def stall_text(seconds: int, line: str) -> str:
    """Return in words that no batch has ended, and where the trial is."""
    return f"no batch has ended for {seconds} s: the trial is at {line}"
