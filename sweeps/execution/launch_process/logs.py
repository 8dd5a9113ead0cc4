"""The logs of trials and launches, also while they are written."""

import codecs
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.sweep_log import is_launching, known_sweeps
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import showable
from sweeps.storage.folder import in_storage
from sweeps.storage.locations import Storage, resolve_storage
from sweeps.tracking.opening import open_store
from sweeps.tracking.validation import unknown_name, valid_names

POLL_SECONDS = 0.25
_BLOCK_BYTES = 1 << 16
_BEGINNING_OF_A_KEY = re.compile(r"[0-9a-f]{1,32}")
_STYLES = re.compile(r"\x1b\[[0-9;:]*m")


@dataclass(frozen=True)
class LaunchLog:
    """A log that may still be growing.

    Attributes:
        open: Returns a descriptor for reading.
        is_written: Whether the trial or the launch that writes it is running.
    """

    open: Callable[[], int]
    is_written: Callable[[], bool]

    def texts(self, num_lines: int | None = None, *, is_followed: bool = False) -> Iterator[str]:
        """Yield its text in pieces of bounded length, safe for a terminal.

        Colours are removed, a carriage return ends a line, and other control characters become a
        replacement character.

        Args:
            num_lines: Only the last lines; None for all of it.
            is_followed: Whether to wait for more until its writer has ended.
        """
        descriptor = self.open()
        try:
            if num_lines is not None:
                os.lseek(descriptor, _start_of_last(num_lines, descriptor), os.SEEK_SET)
            yield from map(_plain, _whole_lines(self._decoded(descriptor, is_followed)))
        finally:
            os.close(descriptor)

    def _decoded(self, descriptor: int, is_followed: bool) -> Iterator[str]:
        """Yield what is read; "" when everything so far has been read."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            is_written = is_followed and self.is_written()  # asked before its last words are read
            while block := os.read(descriptor, _BLOCK_BYTES):
                yield decoder.decode(block)
            if not is_written:
                yield decoder.decode(b"", final=True)
                return
            yield ""
            time.sleep(POLL_SECONDS)


def find_log(
    name: str, storage_folder: str | Path | None = None, tracking_uri: str | None = None
) -> LaunchLog:
    """Return the log of the launched sweep of that name, else that of a trial.

    Args:
        name: The name of a sweep, the first characters of a trial key, or a record's id.
        storage_folder: The folder with the logs; by default that of the command line.
        tracking_uri: The tracking store.

    Raises:
        BadInput: If there is no such sweep or trial, several match, or it has no log here.
        StoreUnreachable: If the tracking store is needed and does not answer.
    """
    storage = resolve_storage(storage_folder)
    if not storage.root.is_dir():
        raise BadInput(f"There is no storage folder {storage.root}: name it with --storage.")
    path = storage.logs / f"{name}.log"
    if valid_names([name]) and path.exists():
        logs = in_storage(storage.logs)
        return LaunchLog(lambda: logs.open(path.name), lambda: is_launching(storage.journals, name))
    cell = CellFolder(storage.cells, _trial_key(name, storage, tracking_uri))
    if not cell.log.exists():
        raise BadInput(
            f"Trial {cell.trial_key} has no log in {storage.root}: it was not started there."
        )
    return LaunchLog(cell.read_log, cell.is_busy)


def _trial_key(name: str, storage: Storage, tracking_uri: str | None) -> str:
    """Return the key of the one trial that a name matches, from the folders if possible."""
    beginning, store = name.strip().lower(), open_store(tracking_uri, storage.root)
    if not _BEGINNING_OF_A_KEY.fullmatch(beginning):
        known = known_sweeps(None, storage, store)
        if name not in known:
            raise unknown_name(name, known)
        raise BadInput(
            f"The sweep '{name}' has no log of its own in {storage.root}: no launch has trained "
            f"there through Ray. Its trials' logs are shown by their keys."
        )
    cells = [cell.name for cell in storage.cells.glob(f"{beginning}*") if cell.is_dir()]
    if not cells:
        return store.find(name).trial_key
    if len(cells) > 1:
        several = ", ".join(sorted(cells)[:3])
        raise BadInput(
            f"{len(cells)} trials begin with '{name}' ({several} ...): give more characters."
        )
    return cells[0]


def _start_of_last(num_lines: int, descriptor: int) -> int:
    """Return the position at which the last lines of a file begin."""
    place = os.fstat(descriptor).st_size
    is_ended = place > 0 and os.pread(descriptor, 1, place - 1) == b"\n"
    num_left = num_lines + is_ended
    while place > 0:
        start = max(place - _BLOCK_BYTES, 0)
        block = os.pread(descriptor, place - start, start)
        for line_end in reversed([match.start() for match in re.finditer(b"\n", block)]):
            num_left -= 1
            if not num_left:
                return start + line_end + 1
        place = start
    return 0


def _whole_lines(texts: Iterator[str]) -> Iterator[str]:
    """Yield whole lines, so that no escape sequence is cut; very long ones in pieces."""
    pending, last = "", "\n"
    for text in texts:
        pending += text
        end = len(pending) if len(pending) > _BLOCK_BYTES else pending.rfind("\n") + 1
        if end:
            last = pending[:end]
            yield last
            pending = pending[end:]
    if pending or not last.endswith("\n"):
        yield pending + "\n"


def _plain(text: str) -> str:
    return showable(_STYLES.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))
