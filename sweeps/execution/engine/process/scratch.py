"""A scratch folder for Ray, removed with its session, or by a later one if it was killed."""

import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock, is_locked

_PREFIX = "capsweep-"
_LOCK = "in-use.lock"
_YOUNG_SECONDS = 60.0  # its process may be about to take the lock


@contextmanager
def scratch_folder() -> Generator[Path]:
    """Yield a private folder that goes with the block, after removing those of killed processes."""
    # Ray's sockets lie below it, and their paths may have about 100 characters at most
    parent = Path("/tmp") if Path("/tmp").is_dir() else Path(tempfile.gettempdir())
    _remove_abandoned(parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    try:
        with FileLock(folder / _LOCK) as lock:
            lock.acquire()
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path) -> None:
    for lock in parent.glob(f"{_PREFIX}*/{_LOCK}"):
        try:
            is_young = time.time() - lock.stat().st_mtime < _YOUNG_SECONDS
            is_abandoned = not is_young and not is_locked(lock)
        except (OSError, BadInput):  # another user's, or none of ours at all
            continue
        if is_abandoned:
            shutil.rmtree(lock.parent, ignore_errors=True)
