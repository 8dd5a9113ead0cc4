"""Files that are written atomically."""

import errno
import os
import platform
import zlib
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

UNFINISHED = "unfinished"
"""What the name of a file ends in while it is written."""
_NO_HARD_LINKS = {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK}


def write_whole(
    path: Path, content: bytes | memoryview, folder: int | None = None, mode: int = 0o666
) -> None:
    """Write a file atomically: readers and crashes leave the old or the new file, complete.

    It is written to the same folder under a name of this process, flushed to the disk, then moved.
    A process that is killed meanwhile leaves `NAME.MACHINE-PID.unfinished`. No link is
    followed.

    Args:
        path: The file.
        content: What it is to hold.
        folder: Descriptor of its folder, by which it is reached whatever the path has become; None
            takes the path.
        mode: Its permissions, from which the umask takes.

    Raises:
        OSError: If it cannot be written. The old file is left as it was.
    """
    with _unfinished(path, content, folder, mode) as (unfinished, final):
        os.replace(unfinished, final, src_dir_fd=folder, dst_dir_fd=folder)


def write_first(path: Path, content: bytes | memoryview, folder: int | None = None) -> bool:
    """Write a file atomically unless it exists; of several writers at once the first one wins.

    Args:
        path: As of `write_whole`, like the rest.
        content: What it is to hold.
        folder: Descriptor of its folder.

    Returns:
        Whether this call wrote it.

    Raises:
        OSError: If it cannot be written.
    """
    with _unfinished(path, content, folder, 0o666) as (unfinished, final):
        try:
            folders = {"src_dir_fd": folder, "dst_dir_fd": folder}
            os.link(unfinished, final, **folders, follow_symlinks=False)
        except FileExistsError:
            # NFS also says so where its answer to the first request was lost
            states = [os.lstat(name, dir_fd=folder) for name in (final, unfinished)]
            return os.path.samestat(*states)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            with suppress(FileNotFoundError):
                os.lstat(final, dir_fd=folder)
                return False
            os.replace(unfinished, final, src_dir_fd=folder, dst_dir_fd=folder)
            # the best that such a disk can do
    return True


@contextmanager
def _unfinished(
    path: Path, content: bytes | memoryview, folder: int | None, mode: int
) -> Generator[tuple[str, str]]:
    """Write content to the disk under a name of this process, which is gone afterwards.

    Yields that name and the file's own: by the descriptor of its folder, else by their paths.
    """
    writer = f"{this_machine()}-{os.getpid()}"
    unfinished, final = f"{path.name}.{writer}.{UNFINISHED}", path.name
    if folder is None:
        unfinished, final = str(path.with_name(unfinished)), str(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        _unlink(unfinished, folder)  # of a killed process of this number, or planted
        descriptor = os.open(unfinished, flags, mode, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield unfinished, final
    finally:
        _unlink(unfinished, folder)


def _unlink(name: str, folder: int | None) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def this_machine() -> str:
    """Return a short name of this machine, to qualify a process id."""
    return f"{zlib.crc32(platform.node().encode()):08x}"
