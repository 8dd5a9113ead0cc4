"""A database that a killed writer left is read as it was; one that leads elsewhere is refused."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sweeps.records.errors import BadInput
from sweeps.storage.folder import Folder
from sweeps.storage.sqlite_file import (
    archive_file,
    find_damage,
    move_into_place,
    open_read_only,
    open_sqlite,
)

KILLED_IN_A_COMMIT = """\
import os, signal, sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("pragma cache_size = 1")  # so that pages are written before the commit
database.execute("begin")
database.execute("update numbers set value = randomblob(3000)")
os.kill(os.getpid(), signal.SIGKILL)
"""
SUPER_JOURNAL = bytes.fromhex("d9d505f920a163d7")


def left_by_a_killed_writer(path: Path) -> Path:
    """Make a database with a journal that has to be played back before it can be read."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("create table if not exists numbers (value blob)")
        database.executemany("insert into numbers values (?)", [(b"x" * 3000,)] * 20)
    died = subprocess.run([sys.executable, "-c", KILLED_IN_A_COMMIT, str(path)], check=False)
    assert died.returncode == -signal.SIGKILL
    assert path.with_name(f"{path.name}-journal").stat().st_size
    return path


def test_what_a_killed_writer_left_half_done_is_taken_back(tmp_path: Path) -> None:
    path = left_by_a_killed_writer(tmp_path / "one.db")
    with closing(open_read_only(Folder(path.parent), path.name)) as database:
        values = {value for (value,) in database.execute("select value from numbers")}
    assert values == {b"x" * 3000}
    assert not find_damage(Folder(tmp_path), left_by_a_killed_writer(tmp_path / "two.db").name)


def test_nothing_is_made_where_there_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        open_read_only(Folder(tmp_path), "none.db").execute("select 1")
    assert not list(tmp_path.iterdir())


HELD_ELSEWHERE = """\
import sqlite3, sys
try:
    sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None).execute("begin immediate")
except sqlite3.OperationalError:
    print("held")
"""


def test_opening_a_file_again_frees_no_lock_of_this_process(tmp_path: Path) -> None:
    with closing(open_sqlite(Folder(tmp_path), "one.db")) as first:
        first.execute("begin immediate")
        open_sqlite(Folder(tmp_path), "one.db").close()
        program = [sys.executable, "-c", HELD_ELSEWHERE, str(tmp_path / "one.db")]
        asked = subprocess.run(program, capture_output=True, text=True, check=True)
    assert asked.stdout == "held\n"


@pytest.mark.parametrize("end", ["", "-journal", "-wal", "-shm"])
def test_links_to_what_sqlite_would_write_to_are_refused(tmp_path: Path, end: str) -> None:
    path, secret = tmp_path / "one.db", tmp_path / "secret"
    secret.write_text("mine")
    if end:
        open_sqlite(Folder(path.parent), path.name).close()
    path.with_name(path.name + end).symlink_to(secret)
    for opening in (open_sqlite, find_damage):
        with pytest.raises(BadInput, match="is not a regular file but a link"):
            opening(Folder(path.parent), path.name)
    assert secret.read_text() == "mine"


@pytest.mark.parametrize("end", ["", "-journal", "-wal", "-shm"])
def test_what_sqlite_would_write_to_is_refused_where_it_has_another_name(
    tmp_path: Path, end: str
) -> None:
    path, secret = tmp_path / "one.db", tmp_path / "secret"
    secret.write_bytes(bytes(4096))  # as a journal it is cold, and would be written over in place
    if end:
        open_sqlite(Folder(path.parent), path.name).close()
    path.with_name(path.name + end).unlink(missing_ok=True)
    path.with_name(path.name + end).hardlink_to(secret)
    for opening in (open_sqlite, find_damage):
        with pytest.raises(BadInput, match="is known by another name"):
            opening(Folder(path.parent), path.name)
    assert secret.read_bytes() == bytes(4096)


def test_what_is_put_aside_takes_its_log_along(tmp_path: Path) -> None:
    path, other = tmp_path / "one.db", tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("pragma journal_mode = wal")
        database.execute("create table odd (word)")
        log = other.with_name("other.db-wal").read_bytes()
    path.write_bytes(b"noise" * 1000)
    path.with_name("one.db-wal").write_bytes(log)
    path.with_name("one.db.damaged-1-wal").touch()  # a name that is taken
    assert archive_file(Folder(path.parent), path.name).name == "one.db.damaged-2"
    with closing(sqlite3.connect(tmp_path / "new.db")) as database:
        database.execute("create table new (word)")
    path.with_name("new.db").replace(path)
    with closing(open_read_only(Folder(path.parent), path.name)) as database:
        tables = {name for (name,) in database.execute("select name from sqlite_master")}
    assert tables == {"new"}


def test_a_database_in_place_of_one_that_is_gone_takes_nothing_of_its_journal(
    tmp_path: Path,
) -> None:
    path = left_by_a_killed_writer(tmp_path / "one.db")
    path.unlink()
    with closing(sqlite3.connect(tmp_path / "new.db")) as database, database:
        database.execute("create table new (value blob)")
        database.executemany("insert into new values (?)", [(b"y" * 3000,)] * 20)
    move_into_place(Folder(tmp_path), "new.db", path.name)
    with closing(open_read_only(Folder(path.parent), path.name)) as database:
        assert {value for (value,) in database.execute("select value from new")} == {b"y" * 3000}
    assert path.with_name("one.db.damaged-1-journal").stat().st_size


def test_a_journal_that_names_a_file_to_be_deleted_is_refused(tmp_path: Path) -> None:
    path, secret = left_by_a_killed_writer(tmp_path / "one.db"), tmp_path / "secret"
    secret.write_text("mine")
    name = str(secret).encode()
    numbers = [len(name), sum(name)]
    end = b"".join(number.to_bytes(4, "big") for number in numbers) + SUPER_JOURNAL
    with path.with_name("one.db-journal").open("ab") as journal:
        journal.write((0).to_bytes(4, "big") + name + end)
    with pytest.raises(BadInput, match="names another file"):
        find_damage(Folder(path.parent), path.name)
    assert secret.exists()
