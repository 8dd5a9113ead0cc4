"""SQLite files that several processes share, also over a network disk."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sweeps.storage.regular_files import refuse_irregular


def open_sqlite(path: Path) -> sqlite3.Connection:
    """Open or create a file; each statement is a transaction, and waits for those of others.

    With a rollback journal: a write-ahead log needs shared memory, which network disks lack.

    Raises:
        BadInput: If it is a link, or no file.
    """
    refuse_irregular(path)
    database = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    database.execute("pragma journal_mode=truncate")
    database.execute("pragma synchronous=normal")
    return database


@contextmanager
def whole(database: sqlite3.Connection) -> Generator[None]:
    """Let others see the statements of the block all at once, or none of them."""
    with database:
        database.execute("begin immediate")
        yield
