"""A scratch folder for Ray, removed with its session, or by a later one if it was killed."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.storage.disk_room import free_bytes, size_text
from sweeps.storage.file_lock import FileLock, is_locked
from sweeps.storage.folder import Folder, in_storage

_PREFIX = "capsweep-"
_LOCK = "in-use.lock"
_YOUNG_SECONDS = 60.0  # its process may be about to take the lock
_PARENTS = ("/tmp", "/var/tmp")
_SOCKET = "/capsweep-12345678/ray/session_2026-12-31_23-59-59_123456_1234567/sockets/plasma_store"
_LONGEST_PATH = (103 if sys.platform == "darwin" else 107) - len(_SOCKET)  # the kernel's, in bytes
_ROOM_BYTES = 32 * 2**20  # a session writes a few MiB


@contextmanager
def scratch_folder() -> Generator[Path]:
    """Yield a private folder that goes with the block, after removing those of killed processes.

    It lies in the first of TMPDIR, /tmp and /var/tmp that is writable, has room and a path short
    enough for Ray's sockets, which lie below it.

    Raises:
        BadInput: If none is.
    """
    folder = _new_folder()
    try:
        with FileLock(Folder(folder), _LOCK) as lock:
            lock.acquire()
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _new_folder() -> Path:
    chosen = os.environ.get("TMPDIR")
    parents = [Path(chosen).absolute()] if chosen else []
    reasons: dict[Path, str] = {}
    for parent in [*parents, *map(Path, _PARENTS)]:
        _remove_abandoned(parent)
        if len(os.fsencode(parent)) > _LONGEST_PATH:
            reasons[parent] = f"longer than {_LONGEST_PATH} bytes"
        elif (free := free_bytes(parent)) < _ROOM_BYTES:
            reasons[parent] = f"{size_text(free)} free"
        else:
            try:
                return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            except OSError as error:
                reasons[parent] = error.strerror or str(error)
    tried = ", ".join(f"{parent} ({reason})" for parent, reason in reasons.items())
    raise BadInput(
        f"Ray has no scratch folder for its sockets and logs; tried were {tried}. Set TMPDIR to a "
        f"writable folder with {size_text(_ROOM_BYTES)} free and a path of at most {_LONGEST_PATH} "
        f"bytes, as the kernel allows no longer paths of sockets below it."
    )


def _remove_abandoned(parent: Path) -> None:
    for lock in parent.glob(f"{_PREFIX}*/{_LOCK}"):
        try:
            is_young = time.time() - lock.stat().st_mtime < _YOUNG_SECONDS
            is_abandoned = not is_young and not is_locked(in_storage(lock.parent), _LOCK)
        except (OSError, BadInput):  # another user's, or none of ours at all
            continue
        if is_abandoned:
            with suppress(OSError, BadInput):
                Folder(parent).remove_all(lock.parent.name)
