"""SQLite files that several processes share, also over a network disk."""

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sweeps.records.errors import BadInput
from sweeps.storage.disk_room import retry_when_full, wait_for_room
from sweeps.storage.folder import Folder

_SIDE_FILES = ("-journal", "-wal", "-shm")
_END_OF_SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")  # https://sqlite.org/fileformat.html


class DamagedFile(BadInput):
    """A SQLite file that cannot be read."""


class RetryingConnection(sqlite3.Connection):
    """A connection whose statements wait for room where the disk is full.

    Inside a transaction they raise, as what went before is taken back with them.

    Attributes:
        folder: Where the file lies.
    """

    folder = Path()

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute a statement as soon as there is room for it."""
        plainly = super().execute
        if self.in_transaction:
            return plainly(sql, parameters)
        return retry_when_full(lambda: plainly(sql, parameters), self.folder)


def open_sqlite(folder: Folder, name: str) -> RetryingConnection:
    """Open or create a file; each statement is a transaction, and waits for those of others.

    With a rollback journal: a write-ahead log needs shared memory, which network disks lack.

    Raises:
        BadInput: If it would lead elsewhere, or is no file.
        DamagedFile: If what is there is no SQLite file, or no whole one.
    """
    check_database_files(folder, name)
    make_database_file(folder, name)
    path = folder.path / name
    database = sqlite3.connect(
        path, isolation_level=None, timeout=30, check_same_thread=False, factory=RetryingConnection
    )
    database.folder = folder.path
    try:
        why = _damage(database)
        if not why:
            database.execute("pragma journal_mode=truncate")
            database.execute("pragma synchronous=normal")
            return database
    except sqlite3.OperationalError:  # it is held or out of reach, which says nothing of it
        database.close()
        raise
    database.close()
    raise DamagedFile(f"{path} is damaged ({why}).")


def open_read_only(folder: Folder, name: str) -> sqlite3.Connection:
    """Open a file that is there, to read it.

    What a writer that was killed has left half-done is taken back; nothing else is written. A
    connection that is for reading alone could not do that, and would refuse the file.

    Raises:
        BadInput: If it would lead elsewhere.
    """
    check_database_files(folder, name)
    address = f"file:{quote(str(folder.path / name))}?mode=rw"
    return sqlite3.connect(address, uri=True, timeout=30)


def make_database_file(folder: Folder, name: str) -> None:
    """Make the file of a database, empty, where there is none.

    SQLite would make one that its group may not write to, whatever the umask is, and give its
    journals the same permissions. One that is there is not opened: closing it would free the locks
    of this process's other connections to it.
    """
    with suppress(FileExistsError):
        os.close(folder.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL))


def check_database_files(folder: Folder, name: str) -> None:
    """Refuse a file where SQLite would follow a link, or delete a file that its journal names.

    Raises:
        BadInput: Saying which.
    """
    folder.check_closed(name, *(f"{name}{end}" for end in _SIDE_FILES), is_written=True)
    if _names_another_file(folder, f"{name}-journal"):
        raise BadInput(
            f"{folder.path / name}-journal names another file, which SQLite would delete: no "
            f"database of a storage folder has such a journal, so it is not opened. Move it away."
        )


def find_damage(folder: Folder, name: str) -> str:
    """Return what is wrong with a SQLite file, "" where it is whole.

    Raises:
        BadInput: If it would lead elsewhere.
    """
    with closing(open_read_only(folder, name)) as database:
        return _damage(database)


def _names_another_file(folder: Folder, journal: str) -> bool:
    try:
        descriptor = folder.open(journal)
    except FileNotFoundError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        file.seek(max(0, os.fstat(descriptor).st_size - len(_END_OF_SUPER_JOURNAL)))
        return file.read(len(_END_OF_SUPER_JOURNAL)) == _END_OF_SUPER_JOURNAL


def _damage(database: sqlite3.Connection) -> str:
    try:
        (complaint,) = database.execute("pragma quick_check(1)").fetchone()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        complaint = str(error)
    return "" if complaint == "ok" else " ".join(complaint.split())[:100]


def archive_file(folder: Folder, name: str) -> Path:
    """Move a damaged file, and what SQLite keeps beside it, to `NAME.damaged-N`; return where."""
    aside = _free_aside(folder, name)
    folder.rename(name, folder, aside)
    _move_journals(folder, name, aside)
    return folder.path / aside


def archive_copy(folder: Folder, name: str, content: bytes) -> Path:
    """Write what a damaged file holds to `NAME.damaged-N`, and leave the file; return where."""
    aside = _free_aside(folder, name)
    folder.write(aside, content)
    return folder.path / aside


def move_into_place(folder: Folder, database: str, name: str) -> None:
    """Move a database that is whole to where there is none, or an empty file.

    What a killed writer has left beside one that is gone is put aside.
    """
    _move_journals(folder, name, _free_aside(folder, name))
    folder.rename(database, folder, name)


def _free_aside(folder: Folder, name: str) -> str:
    taken, number = {*folder.names()}, 1
    while any(f"{name}.damaged-{number}{end}" in taken for end in ("", *_SIDE_FILES)):
        number += 1
    return f"{name}.damaged-{number}"


def _move_journals(folder: Folder, name: str, aside: str) -> None:
    """Move what SQLite would play back into the file that is made anew, and so harm it."""
    for end in _SIDE_FILES:
        with suppress(FileNotFoundError):
            folder.rename(f"{name}{end}", folder, f"{aside}{end}")


@contextmanager
def transaction(database: RetryingConnection) -> Generator[None]:
    """Let others see the statements of the block all at once, or none of them."""
    wait_for_room(database.folder)
    with database:
        database.execute("begin immediate")
        yield
