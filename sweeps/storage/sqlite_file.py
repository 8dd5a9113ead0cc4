"""SQLite files that several processes share, also over a network disk."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.storage.regular_files import refuse_irregular


class DamagedFile(BadInput):
    """A SQLite file that cannot be read."""


def open_sqlite(path: Path) -> sqlite3.Connection:
    """Open or create a file; each statement is a transaction, and waits for those of others.

    With a rollback journal: a write-ahead log needs shared memory, which network disks lack.

    Raises:
        BadInput: If it is a link, or no file.
        DamagedFile: If what is there is no SQLite file, or no whole one.
    """
    refuse_irregular(path)
    database = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        database.execute("pragma journal_mode=truncate")
        database.execute("pragma synchronous=normal")
        (complaint,) = database.execute("pragma quick_check(1)").fetchone()
    except sqlite3.OperationalError:  # it is held or out of reach, which says nothing of it
        database.close()
        raise
    except sqlite3.DatabaseError as error:
        complaint = str(error)
    if complaint != "ok":
        database.close()
        raise DamagedFile(f"{path} is damaged ({' '.join(complaint.split())[:100]}).")
    return database


def put_aside(path: Path) -> Path:
    """Move a damaged file, and what SQLite keeps beside it, to `NAME.damaged-N`; return where."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    path.replace(aside)
    beside = path.with_name(f"{path.name}-journal")
    if beside.exists():  # of a killed writer: it belongs to the damaged file
        beside.replace(aside.with_name(f"{aside.name}-journal"))
    return aside


@contextmanager
def whole(database: sqlite3.Connection) -> Generator[None]:
    """Let others see the statements of the block all at once, or none of them."""
    with database:
        database.execute("begin immediate")
        yield
