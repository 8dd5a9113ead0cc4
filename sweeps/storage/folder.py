"""The one door to files in folders that others may write to.

On shared storage a link in place of a file would have a process read, write over or delete what
lies behind it, a FIFO would have it wait for ever, and a file without end would fill its memory. So
links are not followed, only regular files are opened, none is read beyond a limit, and what belongs
to a stranger is refused. What has a second name elsewhere, a hard link, is read but not written to
in place: a copy made of such links would otherwise write into its original.

A `Folder` begins at one that the user has named: the storage folder, that of the reports, the
user's own cache. Its path may have links, as the user chose it. Each folder below is opened by the
descriptor of the one around it, so that nothing can be put in between.

No stranger is who runs the process, root, and who owns the folder around a file. Where its group
may write to that folder and nobody else may, what has the folder's group is no stranger's either:
`chmod g+rwxs` lets a group share a storage folder. New files and folders have the permissions that
the umask leaves them, so that a group's folder stays the group's.
"""

import errno
import os
import shutil
import stat
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from capsmodel.whole_file import write_first, write_whole
from sweeps.records.errors import BadInput

MOST_BYTES = 64 * 2**20
"""What is read of a file at most, unless it says otherwise: a curve of 100,000 epochs."""
BY_UMASK = 0o666
PRIVATE = 0o600
"""Permissions of a file that may hold a password or a token."""

_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITING = os.O_WRONLY | os.O_RDWR
_PASSING = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_IRREGULAR = {errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENOTDIR, errno.ENODEV}


class Folder:
    """A folder and its files, at or below one that the user has named.

    Every method that opens something raises `BadInput` where it is a link, a folder or a pipe in
    place of a file, or a stranger's, and `OSError` where it is not there or the disk fails.

    Args:
        root: The folder that the user has named; it may be reached through links.
        *names: The names of the folders that lead down from it.

    Attributes:
        path: Where it lies.

    Raises:
        BadInput: If a name is none, such as "..".
    """

    def __init__(self, root: Path, *names: str) -> None:
        self._root = root
        self._names = tuple(map(checked_name, names))
        self.path = root.joinpath(*names)

    def __truediv__(self, name: str) -> "Folder":
        return Folder(self._root, *self._names, name)

    @contextmanager
    def opened(self) -> Generator[int]:
        """Hold it open: what is opened by its descriptor lies in it, whatever its name becomes."""
        descriptor = self._descended()
        try:
            yield descriptor
        except OSError as error:  # what is opened by a descriptor has no path of its own
            if isinstance(error.filename, str):
                error.filename = str(self.path / error.filename)
            raise
        finally:
            os.close(descriptor)

    def make(self, mode: int = 0o777) -> Self:
        """Make it, and those around it, where they are missing.

        Args:
            mode: Permissions of what is made, from which the umask takes.
        """
        try:
            self._root.mkdir(mode, parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise _no_folder(self._root) from error
        os.close(self._descended(mode))
        return self

    def _descended(self, making: int | None = None, *, is_closed: bool = False) -> int:
        """Return a descriptor of it, after going down to it from the root.

        Args:
            making: Permissions of the folders that are made where one is missing; None makes none.
            is_closed: Whether to refuse a folder on the way to which everybody may write.
        """
        path = str(self._root)  # a Path for each folder would take as long as all the rest
        descriptor = _passing(path, path, None)
        with ExitStack() as refused:
            refused.callback(lambda: os.close(descriptor))  # the one that is open by then
            around = os.fstat(descriptor)
            for name in self._names:
                if is_closed:
                    _check_closed(path, around)
                if making is not None:
                    with suppress(FileExistsError):
                        os.mkdir(name, making, dir_fd=descriptor)
                path = f"{path}/{name}"
                inner = _passing(path, name, descriptor)
                os.close(descriptor)
                descriptor, outer, around = inner, around, os.fstat(inner)
                _check_owner(path, around, outer)
            if is_closed:
                _check_closed(path, around)
            refused.pop_all()
        return descriptor

    def check(self) -> None:
        """Refuse one that leads elsewhere or is a stranger's. One that is not there passes."""
        with suppress(FileNotFoundError), self.opened():
            return

    def names(self) -> list[str]:
        """Return the names of what lies in it, sorted; none where it is not there."""
        try:
            with self.opened() as passing:
                descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | _SAFELY, dir_fd=passing)
        except FileNotFoundError:
            return []
        except PermissionError as error:
            raise _closed(self.path, error) from error
        try:
            return sorted(os.listdir(descriptor))  # noqa: PTH208 - a path may lead elsewhere by now
        finally:
            os.close(descriptor)

    def open(self, name: str, flags: int = os.O_RDONLY, mode: int = BY_UMASK) -> int:
        """Open a regular file and return its descriptor.

        Args:
            name: The file's.
            flags: Flags of `os.open`.
            mode: Permissions of a file that is made, from which the umask takes.

        Raises:
            BadInput: Also if it is to be written to and has another name.
        """
        path = self.path / checked_name(name)
        with self.opened() as folder, ExitStack() as refused:
            descriptor = _regular(path, flags, mode, folder)
            refused.callback(os.close, descriptor)
            _check_owner(path, os.fstat(descriptor), os.fstat(folder))
            refused.pop_all()
            return descriptor

    def read(self, name: str, most_bytes: int = MOST_BYTES) -> bytes:
        """Return what a file holds.

        Raises:
            BadInput: Also if it is larger than allowed.
        """
        return read_descriptor(self.open(name), self.path / name, most_bytes)

    def append(self, name: str, mode: int = BY_UMASK) -> int:
        """Open a file to add to it, as to a log; return its descriptor."""
        return self.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, mode)

    def write(self, name: str, content: bytes | memoryview, mode: int = BY_UMASK) -> None:
        """Write a file whole, in place of one of that name."""
        path = self.path / checked_name(name)
        with self.opened() as folder:
            try:
                write_whole(path, content, folder, mode)
            except IsADirectoryError as error:
                raise _irregular(path) from error

    def write_first(self, name: str, content: bytes) -> bool:
        """Write a file whole unless there is one; return whether this call wrote it."""
        path = self.path / checked_name(name)
        with self.opened() as folder:
            return write_first(path, content, folder)

    def remove(self, name: str) -> None:
        """Delete a file or a link. One that is not there, or whose folder is not, passes."""
        with suppress(FileNotFoundError), self.opened() as folder:
            os.unlink(checked_name(name), dir_fd=folder)

    def remove_all(self, name: str) -> None:
        """Delete a file, or a folder and all in it. What is not there, or not any more, passes."""
        with suppress(FileNotFoundError), self.opened() as folder:
            status = os.stat(checked_name(name), dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                shutil.rmtree(name, dir_fd=folder, onerror=_unless_gone)
            else:
                os.unlink(name, dir_fd=folder)

    def rename(self, name: str, other: "Folder", new_name: str) -> None:
        """Move a file or a folder to another folder of the same disk, in place of what is there."""
        names = checked_name(name), checked_name(new_name)
        with self.opened() as source, other.opened() as target:
            os.replace(*names, src_dir_fd=source, dst_dir_fd=target)

    def check_own(self) -> None:
        """Refuse a folder whose files others may replace: what lies in it is to be executed.

        Raises:
            BadInput: If it is another user's, or others may write to it.
        """
        with self.opened() as folder:
            status = os.fstat(folder)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise BadInput(
                f"What lies in {self.path} is executed, and user {status.st_uid} or others may "
                f"write to it: chmod go-w {self.path} if it is yours, else choose another name."
            )

    def check_files(self, *names: str, is_written: bool = False) -> None:
        """Refuse what is then opened by its path, if it is no regular file or a stranger's.

        Those that are not there pass.

        Args:
            *names: Of the files.
            is_written: Whether they are written to in place. Then one with another name is refused.
        """
        with suppress(FileNotFoundError), self.opened() as folder:
            self._check_files(folder, names, is_written=is_written)

    def check_closed(self, *names: str, is_written: bool = False) -> None:
        """Refuse the same for a library, which may open what was put there meanwhile.

        So it refuses folders, from the root down, in which everybody may put files. What is not
        there passes.

        Args:
            *names: As of `check_files`.
            is_written: The same.

        Raises:
            BadInput: Also if everybody may write to one of the folders.
        """
        with suppress(FileNotFoundError):
            descriptor = self._descended(is_closed=True)
            try:
                self._check_files(descriptor, names, is_written=is_written)
            finally:
                os.close(descriptor)

    def _check_files(self, folder: int, names: Iterable[str], *, is_written: bool) -> None:
        for name in map(checked_name, names):
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if not stat.S_ISREG(status.st_mode):
                    raise _irregular(self.path / name)
                if is_written:
                    _check_single_name(self.path / name, status)
                _check_owner(self.path / name, status, os.fstat(folder))


def _unless_gone(_: object, __: str, fault: tuple[type, BaseException, TracebackType]) -> None:
    if not isinstance(fault[1], FileNotFoundError):
        raise fault[1]


def folder_of(path: Path, root: Path) -> Folder:
    """Return the folder in which something lies, at or below a folder that the user has named."""
    return Folder(root, *path.parent.relative_to(root).parts)


def in_storage(folder: Path) -> Folder:
    """Return one of the folders that lie in the storage folder itself, such as `journals`."""
    folder = folder.absolute()
    return Folder(folder.parent, folder.name) if folder.name else Folder(folder)


def checked_name(name: str) -> str:
    """Return the name of a file, if it is one.

    Raises:
        BadInput: If it leads elsewhere, or is none.
    """
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise BadInput(f"{name[:100]!r} is no name of a file.")
    return name


def read_named_file(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return what a regular file holds that the user has named, or this process has made.

    Raises:
        BadInput: If it is none, may not be read, or is larger than allowed.
        OSError: If it is not there, or the disk fails.
    """
    return read_descriptor(_regular(path, os.O_RDONLY), path, most_bytes)


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


def _passing(path: str, name: str, around: int | None) -> int:
    """Return a descriptor of a folder, by which what lies in it can be opened.

    Args:
        path: Where it lies, for messages.
        name: Its name in the one around it; the path of the root.
        around: Descriptor of the one around it; None for the root, which may be a link.
    """
    try:
        return os.open(name, _PASSING | (0 if around is None else os.O_NOFOLLOW), dir_fd=around)
    except PermissionError as error:
        raise _closed(path, error) from error
    except OSError as error:
        if error.errno not in _IRREGULAR:
            raise
        raise _no_folder(path) from error


def _regular(path: Path, flags: int, mode: int = 0, folder: int | None = None) -> int:
    """Open a regular file, in a folder that is open or wherever its path leads."""
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
        refused.pop_all()
    return descriptor


def _check_closed(path: str, status: os.stat_result) -> None:
    """Refuse a folder in which everybody may put one file in place of another."""
    if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
        raise BadInput(
            f"Everybody may put files into {path}, also in place of a database: chmod o-w {path}, "
            f"or choose another folder, on a disk with permissions."
        )


def _check_single_name(path: Path, status: os.stat_result) -> None:
    """Refuse a file that would change somewhere else as well."""
    if status.st_nlink > 1:
        raise BadInput(
            f"{path} is known by another name elsewhere (a hard link), where it would change too, "
            f"and is not written to: put a copy in its place."
        )


def _check_owner(path: Path | str, status: os.stat_result, around: os.stat_result) -> None:
    """Refuse what neither the owner of the folder around it nor its group has put there."""
    is_shared = around.st_mode & stat.S_IWGRP and not around.st_mode & stat.S_IWOTH
    is_of_group = is_shared and status.st_gid == around.st_gid
    if status.st_uid not in {os.geteuid(), 0, around.st_uid} and not is_of_group:
        raise BadInput(
            f"{path} belongs to user {status.st_uid}, who is neither you nor root nor the owner of "
            f"{Path(path).parent}, and is not used: move it away, or share that folder with a "
            f"group by chmod g+rwxs."
        )


def _no_folder(path: Path | str) -> BadInput:
    return BadInput(f"{path} is a link or not a folder, and is not followed: move it away.")


def _irregular(path: Path) -> BadInput:
    return BadInput(
        f"{path} is not a regular file but a link, a folder or a pipe, and is not followed: move "
        f"it away."
    )


def _closed(path: Path | str, error: OSError) -> BadInput:
    return BadInput(
        f"{path} cannot be opened ({error.strerror}): have its owner, user {_owner(path)}, let you "
        f"read and write it, or move it away."
    )


def _owner(path: Path | str) -> str:
    try:
        return str(os.lstat(path).st_uid)
    except OSError:
        return "unknown"
