"""Files beside a store's databases, which SQLite obeys: journals, write-ahead logs, and links.

A journal that is hot is played back into its database by whoever opens that next, and its last
words may name another file, which SQLite then deletes. What is left as a cold journal is written
over in place.
"""

import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

from tools.fuzz.mutations import ZEROS, Mutation, Traps

Act = Callable[[Path, random.Random], None]

_ENDS = ("-journal", "-wal", "-shm")
_MAGIC = bytes.fromhex("d9d505f920a163d7")  # https://sqlite.org/fileformat.html
_SECTOR = 512
_MOST = 2**28
_NONCE = 7
_PLAIN, _WITH_LOG = b"\x01\x01", b"\x02\x02"  # how a database says that it is written


def neighbours(storage: Path, traps: Traps) -> list[Mutation]:
    """Return every operator for what may lie beside each database of a store."""
    mutations: list[Mutation] = []
    for database in sorted(storage.rglob("*.db")):
        sweep = "" if is_ours(database) else database.stem
        name = name_of(database)
        for label, act in {**_journals(traps), **_logs()}.items():

            def leave(path: Path, chance: random.Random, act: Act = act) -> None:
                act(path, chance)
                path.unlink()

            mutations.append(_neighbour(f"{label} beside {name}", database, act, sweep))
            gone = _neighbour(f"{label} where {name} is gone", database, leave, sweep)
            mutations.append(replace(gone, command=("repair",)))
        for end in _ENDS:
            for label, act in plants(traps).items():

                def plant(
                    path: Path, chance: random.Random, end: str = end, act: Act = act
                ) -> None:
                    act(path.with_name(path.name + end), chance)

                mutations.append(_neighbour(f"{label} as {name}{end}", database, plant, sweep))
    return mutations


def is_ours(database: Path) -> bool:
    """Return whether a database is of no sweep: the tracking store, or a queue."""
    return database.name == "mlflow.db" or database.name.startswith("recorder-")


def is_whole(database: Path) -> bool:
    """Return whether a database is still a file of its own, whatever else was changed."""
    return database.is_file() and not database.is_symlink() and database.stat().st_size < _MOST


def name_of(database: Path) -> str:
    """Return the name that a database has in every store."""
    return "recorder.db" if database.name.startswith("recorder-") else database.name


def plants(traps: Traps) -> dict[str, Act]:
    """Return what may be put where a command would make a file of its own."""
    victim = traps.victim
    return {
        "a link to a victim": lambda path, _: _room(path).symlink_to(victim / "note.txt"),
        "a link to a victim's folder": lambda path, _: _room(path).symlink_to(victim),
        "a link to nothing": lambda path, _: _room(path).symlink_to(victim / "made"),
        "a second name of a victim": lambda path, _: _room(path).hardlink_to(victim / "note.txt"),
        "a second name of zeros": lambda path, _: _room(path).hardlink_to(victim / ZEROS),
        "a folder": lambda path, _: _room(path).mkdir(),
        "a pipe": lambda path, _: os.mkfifo(_room(path)),
    }


def _neighbour(label: str, database: Path, act: Act, sweep: str) -> Mutation:
    def apply(chance: random.Random) -> None:
        with suppress(OSError):
            if is_whole(database):
                act(database, chance)

    return Mutation(label, f"beside {name_of(database)}", apply, sweep)


def _room(path: Path) -> Path:
    """Take away what is at a path, and return it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    return path


def _journals(traps: Traps) -> dict[str, Act]:
    """Return operators that leave a journal as of a writer that was killed, or noise."""
    victim = str(traps.victim / "note.txt").encode()
    absent = str(traps.victim / "made").encode()
    return {
        "a hot journal": lambda path, chance: _leave(path, hot_journal(path, chance)),
        "a hot journal of noise": lambda path, chance: _leave(
            path, hot_journal(path, chance, is_noise=True)
        ),
        "a hot journal of one page": lambda path, chance: _leave(
            path, hot_journal(path, chance, num_pages=1)
        ),
        "a cut hot journal": lambda path, chance: _leave(
            path, _cut(hot_journal(path, chance), chance)
        ),
        "a hot journal that names a victim": lambda path, chance: _leave(
            path, hot_journal(path, chance) + journal_tail(victim)
        ),
        "a hot journal that names nothing": lambda path, chance: _leave(
            path, hot_journal(path, chance) + journal_tail(absent)
        ),
        "a journal of noise": lambda path, chance: _leave(path, _MAGIC + chance.randbytes(3000)),
    }


def _leave(database: Path, journal: bytes) -> None:
    database.with_name(f"{database.name}-journal").write_bytes(journal)


def hot_journal(
    database: Path, chance: random.Random, *, is_noise: bool = False, num_pages: int | None = None
) -> bytes:
    """Return a journal that has one page taken back.

    Args:
        database: Whose it is.
        chance: Draws the page.
        is_noise: Whether the page was another one before.
        num_pages: That the database had before; by default those of now.
    """
    content = database.read_bytes()
    size = int.from_bytes(content[16:18], "big") if len(content) > _SECTOR else 4096
    size = size if size >= _SECTOR else 65536
    number = chance.randrange(max(len(content) // size, 1))
    page = content[number * size : (number + 1) * size].ljust(size, b"\0")
    page = chance.randbytes(size) if is_noise else page
    numbers = (1, _NONCE, num_pages or max(len(content) // size, 1), _SECTOR, size)
    spec = _MAGIC + b"".join(map(_big, numbers))
    checksum = _NONCE + sum(page[size - 200 : 0 : -200])
    return spec.ljust(_SECTOR, b"\0") + _big(number + 1) + page + _big(checksum)


def journal_tail(name: bytes) -> bytes:
    """Return the end of a journal that names another file."""
    return _big(0) + name + _big(len(name)) + _big(sum(name)) + _MAGIC


def _big(number: int) -> bytes:
    return number.to_bytes(4, "big")


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(1, len(content))]


def _logs() -> dict[str, Act]:
    """Return operators that leave a write-ahead log, whether the database says so or not."""
    operators: dict[str, Act] = {}
    for mode, label in ((_PLAIN, ""), (_WITH_LOG, " of a database that has one")):

        def complete(path: Path, _: random.Random, mode: bytes = mode) -> None:
            _leave_log(path, mode, _written_ahead(path), None)

        def cut(path: Path, chance: random.Random, mode: bytes = mode) -> None:
            _leave_log(path, mode, _cut(_written_ahead(path), chance), None)

        def noise(path: Path, chance: random.Random, mode: bytes = mode) -> None:
            _leave_log(path, mode, chance.randbytes(9000), None)

        def memory(path: Path, chance: random.Random, mode: bytes = mode) -> None:
            _leave_log(path, mode, _written_ahead(path), chance.randbytes(32768))

        operators[f"a write-ahead log{label}"] = complete
        operators[f"a cut write-ahead log{label}"] = cut
        operators[f"noise as a write-ahead log{label}"] = noise
        operators[f"a write-ahead log and noise as its memory{label}"] = memory
    return operators


def _leave_log(database: Path, mode: bytes, log: bytes, memory: bytes | None) -> None:
    database.with_name(f"{database.name}-wal").write_bytes(log)
    if memory is not None:
        database.with_name(f"{database.name}-shm").write_bytes(memory)
    with database.open("r+b") as file:
        file.seek(18)
        file.write(mode)


def _written_ahead(database: Path) -> bytes:
    """Return a log that adds a table to a database, and takes the rows of another."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copy(database, folder))
        with closing(sqlite3.connect(copy)) as opened:
            opened.execute("pragma journal_mode = wal")
            opened.execute("create table odd (word)")
            opened.execute("insert into odd values (?)", ("x" * 9000,))
            opened.commit()
            return copy.with_name(f"{copy.name}-wal").read_bytes()
