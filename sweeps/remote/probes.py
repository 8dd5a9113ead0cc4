"""The agent's part in the check of a cluster."""

import shutil
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line
from sweeps.remote import node
from sweeps.remote.messages import HoldLock, Probe, Probed, Send, ServicesEnded, Text
from sweeps.remote.services import answers
from sweeps.storage.file_lock import FileLock, is_locked
from sweeps.storage.folder import Folder

_LONGEST_SECONDS = 10.0  # that a file may take until another machine sees it
_POLL_SECONDS = 0.02
_MOST_NAMES = 1000


def hold_lock(request: HoldLock, send: Send) -> ServicesEnded:
    """Lock a new file in the storage folder until the connection ends, and remove it then.

    Raises:
        BadInput: If it cannot be written.
    """
    folder = Folder(Path(request.storage))
    try:
        with FileLock(folder, request.name) as lock:
            lock.acquire()
            node.AT_END.append(lambda: folder.remove(request.name))
            send(Text(text=request.name))
            threading.Event().wait()  # the end of the connection ends this process
    except OSError as error:
        raise BadInput(
            f"The storage folder {request.storage} cannot be written to ({error.strerror})."
        ) from error
    raise AssertionError


def probe(request: Probe, _send: Send) -> Probed:
    """Return what this machine shares with the head."""
    storage, port = Path(request.storage), request.mlflow_port
    seen, sees_lock = _seen(Folder(storage), request.name) if request.name else (None, None)
    return Probed(
        seen_after_seconds=seen,
        sees_lock=sees_lock,
        is_writable=_is_writable(storage),
        clock=time.time(),
        data=_names(Path(request.data)),
        free_bytes=_free(storage),
        free_scratch_bytes=_free(Path(tempfile.gettempdir())),
        mlflow=answers(f"http://127.0.0.1:{port}/health") if port else None,
    )


def _seen(folder: Folder, name: str) -> tuple[float | None, bool | None]:
    """Return after how many seconds a file was seen, and whether its lock was; None if not."""
    started = time.monotonic()
    while time.monotonic() - started < _LONGEST_SECONDS:
        if (folder.path / name).exists():
            seconds = time.monotonic() - started
            try:
                return seconds, is_locked(folder, name)
            except (BadInput, OSError):  # of another user, say
                return seconds, None
        time.sleep(_POLL_SECONDS)
    return None, None


def _is_writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _names(folder: Path) -> tuple[str, ...] | None:
    try:
        return tuple(sorted(one_line(path.name) for path in folder.iterdir())[:_MOST_NAMES])
    except OSError:
        return None


def _free(folder: Path) -> int:
    with suppress(OSError):
        return shutil.disk_usage(folder).free
    return 0
