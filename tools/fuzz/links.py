"""Links where commands make copies, logs, locks and temporary files, and what has them made.

Most such files are there only after something was damaged or lost. So each change is two: the
damage, and what lies in wait where the command will write.
"""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from tools.fuzz.database_files import Act, is_ours, is_whole, name_of, plants
from tools.fuzz.mutations import Mutation, Traps

_LONG_AGO = 1_000_000_000
_REPAIR, _CLEAN = ("repair",), ("clean", "--yes")
_LEFT = ("x.damaged-1", "x.deadbeef-1.unfinished", "x.1.unfinished-journal", "x.tmp")

Reason = Callable[[random.Random], None]


@dataclass(frozen=True)
class _Copy:
    """A file that a command makes, or would delete.

    Attributes:
        label: What it is.
        path: Where.
        reason: Has it made.
        command: Which makes it; () is a launch.
        sweep: Whose it is; "" is of all.
    """

    label: str
    path: Path
    reason: Reason
    command: tuple[str, ...] = _REPAIR
    sweep: str = ""


def copies(storage: Path, traps: Traps) -> list[Mutation]:
    """Return a change for all that may lie where a command makes a copy or deletes one."""
    every = [*_of_databases(storage), *_of_sweeps(storage), *_of_a_store(storage), *_left(storage)]
    return [
        Mutation(
            f"{label} as {copy.label}",
            f"copies: {copy.label}",
            _both(copy, act),
            *_sweep_and_command(copy),
        )
        for copy in every
        for label, act in plants(traps).items()
    ]


def _sweep_and_command(copy: _Copy) -> tuple[str, tuple[str, ...]]:
    return copy.sweep, copy.command


def _both(copy: _Copy, act: Act) -> Reason:
    def apply(chance: random.Random) -> None:
        with suppress(OSError, sqlite3.Error):  # where another change has left no room for it
            copy.reason(chance)
            act(copy.path, chance)
            if copy.command == _CLEAN:  # what was touched today may be of a process that lives
                os.utime(copy.path, (_LONG_AGO, _LONG_AGO), follow_symlinks=False)

    return apply


def _of_databases(storage: Path) -> Iterator[_Copy]:
    """Yield where damaged databases are put aside."""
    for database in sorted(storage.rglob("*.db")):
        sweep = "" if is_ours(database) else database.stem

        def damage(_: random.Random, database: Path = database) -> None:
            if is_whole(database):
                database.write_bytes(b"noise" * 2000)
            database.with_name(f"{database.name}-journal").touch()

        aside = database.with_name(f"{database.name}.damaged-1")
        name = name_of(database)
        yield _Copy(f"{name} put aside", aside, damage, sweep=sweep)
        journal = aside.with_name(f"{aside.name}-journal")
        yield _Copy(f"the journal of {name} put aside", journal, damage, sweep=sweep)


def _of_sweeps(storage: Path) -> Iterator[_Copy]:
    """Yield the logs, locks and manifests of a repair that fills a store's records again."""
    lose = _losing(storage)
    for queue in sorted((storage / "journals").glob("*.db")):
        yield _Copy("the recorder's lock", queue.with_suffix(".lock"), lose)
    for log in sorted((storage / "journals").glob("*.jsonl")):
        sweep = log.stem
        files = {
            f"the recorder's log of {sweep}": storage / "logs" / f"recorder-{sweep}.log",
            f"what was printed by {sweep}": storage / "logs" / f"{sweep}.log",
            f"the lock of {sweep}": log.with_suffix(".lock"),
        }
        for label, path in files.items():
            yield _Copy(label, path, lose, sweep=sweep)


def _of_a_store(storage: Path) -> Iterator[_Copy]:
    """Yield what is made beside the tracking store."""
    yield _Copy("the lock of mlflow.db", storage / "mlflow.db.lock", _losing(storage))
    yield _Copy("an unfinished mlflow.db", storage / "mlflow.db.1.unfinished", _losing(storage))


def _losing(storage: Path) -> Reason:
    """Return what has a repair fill records: all of the store is lost, or the epochs of it."""

    def lose(chance: random.Random) -> None:
        database = storage / "mlflow.db"
        if chance.random() < 0.5:
            database.unlink()
            return
        with closing(sqlite3.connect(database)) as opened, opened:
            opened.execute("delete from metrics")
            opened.execute("delete from latest_metrics")

    return lose


def _left(storage: Path) -> Iterator[_Copy]:
    """Yield what `clean --yes` takes for left over, and what lies in a cell that was put aside."""
    cell = min((storage / "cells").iterdir(), default=storage / "cells" / "none")
    folders = {
        "the store": storage,
        "the journals": storage / "journals",
        "the artifacts": storage / "artifacts",
        "a cell": cell,
    }
    for label, folder in folders.items():
        for name in _LEFT:
            yield _Copy(f"{name} in {label}", folder / name, _nothing, _CLEAN)
    replaced = storage / "replaced" / f"{cell.name}-1"

    def replace(_: random.Random) -> None:
        shutil.copytree(cell, replaced)

    yield _Copy("a cell put aside", replaced, _nothing, _CLEAN)
    yield _Copy("a file of a cell put aside", replaced / "log.txt", replace, _CLEAN)


def _nothing(_: random.Random) -> None:
    """Where a file is deleted for its name alone."""
