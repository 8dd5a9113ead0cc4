"""Files that somebody else may have put there, opened so that nobody is led elsewhere or held up.

On shared storage a link in place of a file would have a process read, write over or delete what
lies behind it, a FIFO would have it wait for ever, and a file without end would fill its memory. So
links are not followed, only regular files are opened, none is read beyond a limit, and what belongs
to a stranger is refused. What has a second name elsewhere, a hard link, is read but not written to
in place: a copy made of such links would otherwise write into its original.

No stranger is who runs the process, root, and who owns the folder around it. Where its group may
write to that folder and nobody else may, what bears the folder's group is no stranger's either:
`chmod g+rwxs` lets a group share a storage folder.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sweeps.records.errors import BadInput

MOST_BYTES = 64 * 2**20
"""What is read of a file at most, unless it says otherwise: a curve of 100,000 epochs."""

_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITING = os.O_WRONLY | os.O_RDWR
_IRREGULAR = {errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENOTDIR, errno.ENODEV}


def open_regular(
    path: Path, flags: int = os.O_RDONLY, folder: int | None = None, mode: int = 0o644
) -> int:
    """Open a regular file and return its descriptor.

    Args:
        path: The file; the folders above it are followed wherever they lead.
        flags: Flags of `os.open`.
        folder: Descriptor of the file's folder. With it a stranger's file is refused.
        mode: Permissions of a file that is made, from which the umask takes.

    Raises:
        BadInput: If it is a link, a folder, a FIFO or a device, may not be opened, or is to be
            written to and has another name.
        OSError: If it is not there, or the disk fails.
    """
    name = path if folder is None else path.name
    try:
        descriptor = os.open(name, flags | _SAFELY, mode, dir_fd=folder)
    except PermissionError as error:
        raise _closed(path, error) from error
    except OSError as error:
        if error.errno not in _IRREGULAR:
            raise
        raise _irregular(path) from error
    with ExitStack() as refused:
        refused.callback(os.close, descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _irregular(path)
        if flags & _WRITING:
            _check_single_name(path, status)
        if folder is not None:
            _check_owner(path, status, os.fstat(folder))
        refused.pop_all()
    return descriptor


@contextmanager
def opened_folder(path: Path) -> Generator[int]:
    """Hold a folder open: what is opened by its descriptor lies in it, whatever its name becomes.

    Raises:
        BadInput: If it is a link or no folder, or a stranger's.
        FileNotFoundError: If it is not there.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _SAFELY)
    except PermissionError as error:
        raise _closed(path, error) from error
    except OSError as error:
        if error.errno not in _IRREGULAR:
            raise
        raise BadInput(
            f"{path} is a link or not a folder, and is not followed: move it away."
        ) from error
    try:
        _check_owner(path, os.fstat(descriptor), path.parent.stat())
        yield descriptor
    finally:
        os.close(descriptor)


def read_regular(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return what a regular file holds.

    Raises:
        BadInput: If it is none, may not be read, or is larger than allowed.
        OSError: If it is not there, or the disk fails.
    """
    return read_descriptor(open_regular(path), path, most_bytes)


def read_descriptor(descriptor: int, path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return what an open file holds from where it stands to where it now ends, and close it.

    Raises:
        BadInput: If that is more than allowed.
    """
    with os.fdopen(descriptor, "rb") as file:
        num_bytes = max(os.fstat(descriptor).st_size - file.tell(), 0)
        if num_bytes > most_bytes:
            raise BadInput(
                f"{path} is too large to be read: it has {num_bytes:,} bytes, where "
                f"{most_bytes:,} are allowed. Move it away."
            )
        return file.read(num_bytes)


def check_owner(folder: Path) -> None:
    """Refuse a folder that leads elsewhere or is a stranger's. One that is not there passes.

    Raises:
        BadInput: Saying what it is.
    """
    if os.path.lexists(folder):
        with opened_folder(folder):
            return


def check_regular(path: Path, *, is_written: bool = False) -> None:
    """Refuse what another library is to open if it is not a regular file. One not there passes.

    Args:
        path: The file.
        is_written: Whether it is written to in place. Then one that has another name is refused.

    Raises:
        BadInput: Saying what it is.
    """
    try:
        status = path.lstat()
    except OSError:  # it is not there, or cannot be
        return
    if not stat.S_ISREG(status.st_mode):
        raise _irregular(path)
    if is_written:
        _check_single_name(path, status)


def _check_single_name(path: Path, status: os.stat_result) -> None:
    """Refuse a file that would change somewhere else as well."""
    if status.st_nlink > 1:
        raise BadInput(
            f"{path} is known by another name elsewhere (a hard link), where it would change too, "
            f"and is not written to: put a copy in its place."
        )


def _check_owner(path: Path, status: os.stat_result, around: os.stat_result) -> None:
    """Refuse what neither the owner of the folder around it nor its group has put there."""
    is_shared = around.st_mode & stat.S_IWGRP and not around.st_mode & stat.S_IWOTH
    is_of_group = is_shared and status.st_gid == around.st_gid
    if status.st_uid not in {os.geteuid(), 0, around.st_uid} and not is_of_group:
        raise BadInput(
            f"{path} belongs to user {status.st_uid}, who is neither you nor root nor the owner of "
            f"{path.parent}, and is not used: move it away, or share that folder with a group by "
            f"chmod g+rwxs."
        )


def _irregular(path: Path) -> BadInput:
    return BadInput(
        f"{path} is not a regular file but a link, a folder or a pipe, and is not followed: move "
        f"it "
        f"away."
    )


def _closed(path: Path, error: OSError) -> BadInput:
    return BadInput(
        f"{path} cannot be opened ({error.strerror}): have its owner, user {_owner(path)}, let you "
        f"read and write it, or move it away."
    )


def _owner(path: Path) -> str:
    try:
        return str(path.lstat().st_uid)
    except OSError:
        return "unknown"
