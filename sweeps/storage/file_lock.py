"""Locks on files that die with their process."""

import fcntl
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from sweeps.storage.folder import Folder

# The kernel counts these locks by process: it would grant a second one of a file to the process
# that holds the first, and drop both when any descriptor of the file is closed. So the process has
# to remember its locks, and no thread may open a file here while another one locks it.
_LOCKED_HERE: dict[Path, int] = {}  # the descriptor of each
_MUTEX = threading.Lock()


def is_locked(folder: Folder, name: str) -> bool:
    """Return whether the lock on a file is held. Never takes it, not for a moment.

    Another user's lock is checked like one's own, as long as it may be read.

    Raises:
        BadInput: If it is not a regular file, or may not be read.
    """
    with _MUTEX:
        if folder.path / name in _LOCKED_HERE:
            return True
        try:
            descriptor = folder.open(name)
        except FileNotFoundError:
            return False
        try:
            os.lockf(descriptor, os.F_TEST, 0)
        except OSError:
            return True
        finally:
            os.close(descriptor)
    return False


def read_lock(folder: Folder, name: str, most_bytes: int) -> bytes:
    """Return what is written in the file of a lock, which this process may hold itself.

    Raises:
        OSError: If it cannot be read.
        BadInput: If it is not a regular file, or is larger.
    """
    with _MUTEX:
        if (descriptor := _LOCKED_HERE.get(folder.path / name)) is not None:
            return os.pread(descriptor, most_bytes, 0)
        return folder.read(name, most_bytes)


def _is_same_file(path: Path, descriptor: int) -> bool:
    """Return whether an open file is the one at a path."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


class FileLock:
    """An exclusive lock on a file that the kernel frees when its process dies, however it dies.

    POSIX record locks: children do not inherit them, and closing any descriptor of the file drops
    them, so nothing in the process may open it but this module.
    """

    def __init__(self, folder: Folder, name: str) -> None:
        """Name the file, which need not exist, and its folder."""
        self._folder = folder
        self.path = folder.path / name
        self._descriptor: int | None = None

    @property
    def descriptor(self) -> int:
        """The open lock file, for a number kept in it."""
        assert self._descriptor is not None
        return self._descriptor

    def acquire(self) -> bool:
        """Take the lock if it is free. Never waits.

        Raises:
            BadInput: If the file is no regular one, or may not be written.
        """
        with _MUTEX:
            if self.path in _LOCKED_HERE:
                return False
            descriptor = self._folder.open(self.path.name, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                return False
            if not _is_same_file(self.path, descriptor):  # its last holder has deleted it
                os.close(descriptor)
                return False
            self._descriptor = _LOCKED_HERE[self.path] = descriptor
            return True

    def release(self) -> None:
        """Free the lock, if it is held."""
        with _MUTEX:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None
                _LOCKED_HERE.pop(self.path, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
