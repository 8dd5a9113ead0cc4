"""Files that are written atomically."""

import errno
import os
import platform
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

UNFINISHED = "unfinished"
"""What the name of a file ends in while it is written."""
_NO_HARD_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK}


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write a file atomically: readers and crashes leave the old or the new file, complete.

    It is written to the same folder under a name of this process, flushed to the disk, then moved.
    A process that is killed meanwhile leaves `NAME.MACHINE-PID.unfinished`. No link is
    followed.

    Raises:
        OSError: If it cannot be written. The old file is left as it was.
    """
    with _unfinished(path, content) as unfinished:
        unfinished.replace(path)


def write_first(path: Path, content: bytes | memoryview) -> bool:
    """Write a file atomically unless it exists; of several writers at once the first one wins.

    Returns:
        Whether this call wrote it.

    Raises:
        OSError: If it cannot be written.
    """
    with _unfinished(path, content) as unfinished:
        try:
            os.link(unfinished, path)
        except FileExistsError:
            # NFS also says so where its answer to the first request was lost
            return os.path.samestat(path.lstat(), unfinished.lstat())
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            if os.path.lexists(path):
                return False
            unfinished.replace(path)  # the best that such a disk can do
    return True


@contextmanager
def _unfinished(path: Path, content: bytes | memoryview) -> Generator[Path]:
    """Write content to the disk under a name of this process, which is gone afterwards."""
    writer = f"{this_machine()}-{os.getpid()}"
    unfinished = path.with_name(f"{path.name}.{writer}.{UNFINISHED}")
    try:
        unfinished.unlink(missing_ok=True)  # of a killed process of this number, or planted
        with unfinished.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield unfinished
    finally:
        unfinished.unlink(missing_ok=True)


def this_machine() -> str:
    """Return a short name of this machine, to qualify a process id."""
    return f"{zlib.crc32(platform.node().encode()):08x}"
