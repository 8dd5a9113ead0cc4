"""A full disk is waited for: what is written is whole, and goes on by itself when there is room."""

import errno
import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar

RESERVE_BYTES = 2 * 2**20
"""Below this a disk counts as full: outboxes and logs need a little all the time."""
PAUSE_SECONDS = 0.5
_FULL = {errno.ENOSPC, errno.EDQUOT}
_UNWRITTEN = {sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC}
_PROBE_BYTES = 1 << 16

R = TypeVar("R")


def retry_when_full(
    write: Callable[[], R],
    folder: Path,
    wanted_bytes: int = 0,
    waiting: Callable[[int], None] = lambda _: None,
) -> R:
    """Do a write that may be repeated, and do it again while the disk is full.

    Args:
        write: Leaves things as they were where it raises.
        folder: On the disk.
        wanted_bytes: That it takes.
        waiting: Told how many bytes are wanted when waiting begins, and 0 when it is over.
    """
    is_waiting = False
    try:
        while True:
            try:
                return write()
            except (OSError, sqlite3.Error) as error:
                if not is_full(error) and not _is_refused(error, folder):
                    raise
            if not is_waiting:
                is_waiting = True
                waiting(wanted_bytes + RESERVE_BYTES)
            time.sleep(PAUSE_SECONDS)  # it may be a quota, which nobody can ask for
            wait_for_room(folder, wanted_bytes)
    finally:
        if is_waiting:
            waiting(0)


def wait_for_room(folder: Path, wanted_bytes: int = 0) -> None:
    """Return when a disk has room for so much and the reserve besides, and for another file."""
    while free_bytes(folder) < wanted_bytes + RESERVE_BYTES or is_out_of_files(folder):
        time.sleep(PAUSE_SECONDS)


def free_bytes(folder: Path) -> int:
    """Return what is free on a folder's disk, for one who is not its administrator."""
    status = _status(folder)
    return status.f_bavail * status.f_frsize


def is_out_of_files(folder: Path) -> bool:
    """Return whether a folder's disk holds as many files as it can, where it counts them."""
    status = _status(folder)
    return status.f_files > 0 and status.f_favail == 0


def _status(folder: Path) -> os.statvfs_result:
    return os.statvfs(next(path for path in (folder, *folder.parents) if path.exists()))


def size_text(num_bytes: float) -> str:
    """Return a number of bytes as people read it: 3.4 GiB, 12.0 MiB, 0.5 KiB."""
    units = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10}
    unit = next((name for name, size in units.items() if num_bytes >= size), "KiB")
    return f"{num_bytes / units[unit]:,.1f} {unit}"


def is_full(error: Exception) -> bool:
    """Return whether a write failed as the disk, or the user's share of it, is full."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL
    return isinstance(error, OSError) and error.errno in _FULL


def _is_refused(error: Exception, folder: Path) -> bool:
    """Return whether SQLite could not write, and nobody else can here: it tells of no quota."""
    if getattr(error, "sqlite_errorcode", 0) not in _UNWRITTEN:
        return False
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(b"0" * _PROBE_BYTES)
            file.flush()
            os.fsync(file.fileno())
    except OSError as refusal:
        return is_full(refusal)
    return False
