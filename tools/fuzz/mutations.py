"""What a fuzzer does to a store: every way to damage it, for every kind of row and file."""

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

STRANGER = 54321
ESCAPES = "\x1b]0;owned\x07\x1b[2J\rfine\u202efaked"
NOT_YOURS = "not yours\n"  # what a victim's files hold
ZEROS = "zeros"  # the one that holds nothing but zeros
_DEEP = "[" * 100_000
_READ = {"config.json", "log.txt", "sweep.jsonl", "parts.py"}  # of a run's files
_OF_REPORT = "a file of a report"  # which nobody reads again, whatever its name


@dataclass(frozen=True)
class Traps:
    """Where a hostile store would lead its reader.

    Attributes:
        victim: A folder outside the storage that nobody may touch.
        address: Of files on a host that nobody may ask.
    """

    victim: Path
    address: str

    def values(self) -> dict[str, Any]:
        """Return values by the names of their kinds, as JSON has them."""
        nested: Any = 0
        for _ in range(150):
            nested = [nested]
        return {
            "nothing": None,
            "truth": True,
            "negative": -1,
            "huge": 10**399,
            "no number": float("nan"),
            "endless": float("inf"),
            "text": "x" * 100_000,
            "empty": "",
            "escapes": ESCAPES,
            "path up": "../../../victim",
            "path": str(self.victim),
            "file address": f"file://{self.victim}",
            "host address": self.address,
            "list": list(range(100_000)),
            "object": {},
            "nested": nested,
            "word for no number": "nan",
        }


@dataclass(frozen=True)
class Mutation:
    """One change of a store.

    Attributes:
        label: What it does to what, for people.
        of: The kind of row or file.
        apply: Does it, by chance of its own, or nothing where there is no such row or file.
        sweep: That must be asked for to see it; "" for any.
        command: That must be given to see it, besides those that only read; () for any.
    """

    label: str
    of: str
    apply: Callable[[random.Random], None]
    sweep: str = ""
    command: tuple[str, ...] = ()


def mutations(storage: Path, traps: Traps) -> list[Mutation]:
    """Return every operator for every kind of file, folder and column of a store."""
    kinds = _kinds_of_files(storage)
    operators = [
        Mutation(f"{operator} of {kind}", kind, _on_file(paths, act))
        for kind, paths in kinds.items()
        for operator, act in _file_operators(traps).items()
    ]
    operators += [
        Mutation(
            f"{name} as a value in {kind}",
            f"values of {kind}",
            _on_file(paths, _leaf_changer(value)),
        )
        for kind, paths in kinds.items()
        if kind.endswith((".json", ".jsonl"))
        for name, value in traps.values().items()
    ]
    operators += [
        Mutation(f"{operator} of the folder {kind}", f"folder {kind}", _on_file(paths, act))
        for kind, paths in _kinds_of_folders(storage).items()
        for operator, act in _folder_operators(traps).items()
    ]
    for database in sorted(storage.rglob("*.db")):
        operators += _of_database(database, traps)
    return operators


def _kinds_of_files(storage: Path) -> dict[str, list[Path]]:
    """Return the files of a store by what they are: one kind for all cells, runs and reports."""
    kinds: dict[str, list[Path]] = {}
    for path in sorted(path for path in storage.rglob("*") if path.is_file()):
        parts = path.relative_to(storage).parts
        name = "sweep.jsonl" if "sweep-logs" in parts else parts[-1]
        is_read = name in _READ or name.endswith(".safetensors")
        name = name if is_read or parts[0] != "artifacts" else _OF_REPORT
        kinds.setdefault(f"{parts[0]}/{name}" if len(parts) > 1 else name, []).append(path)
    return kinds


def _kinds_of_folders(storage: Path) -> dict[str, list[Path]]:
    kinds: dict[str, list[Path]] = {}
    for path in sorted(path for path in storage.rglob("*") if path.is_dir()):
        parts = path.relative_to(storage).parts
        kinds.setdefault("/".join((parts[0], *("..." for _ in parts[1:]))), []).append(path)
    return kinds


def _on_file(
    paths: list[Path], act: Callable[[Path, random.Random], None]
) -> Callable[[random.Random], None]:
    return lambda chance: act(chance.choice(paths), chance)


def _file_operators(traps: Traps) -> dict[str, Callable[[Path, random.Random], None]]:
    return {
        "a flipped byte": _flip,
        "a cut": lambda path, chance: os.truncate(path, chance.randrange(path.stat().st_size + 1)),
        "an empty file": lambda path, _: os.truncate(path, 0),
        "bytes at the end": lambda path, chance: _extend(path, chance.randbytes(200)),
        "a deep line at the end": lambda path, _: _extend(path, _DEEP.encode() + b"\n"),
        "deep JSON": lambda path, _: _write(path, _DEEP.encode()),
        "an endless file": lambda path, _: os.truncate(path, 20 * 2**30),
        "a link to a victim": lambda path, _: _link(path, traps.victim / path.name),
        "a link to nothing": lambda path, _: _link(path, traps.victim / "made"),
        "a link to the same elsewhere": lambda path, _: _move_away(path, traps).symlink_to(
            traps.victim / path.name
        ),
        "a second name of the same elsewhere": lambda path, _: _move_away(path, traps).hardlink_to(
            traps.victim / path.name
        ),
        "a link to a device": lambda path, _: _link(path, Path("/dev/zero")),
        "a pipe": lambda path, _: (path.unlink(), os.mkfifo(path)),
        "a folder": lambda path, _: (path.unlink(), path.mkdir()),
        "no file": lambda path, _: path.unlink(),
        "a stranger's file": lambda path, _: _give_away(path),
        "no permission": lambda path, _: path.chmod(0),
    }  # type: ignore[return-value]


def _folder_operators(traps: Traps) -> dict[str, Callable[[Path, random.Random], None]]:
    return {
        "a link to a victim": lambda path, _: (shutil.rmtree(path), path.symlink_to(traps.victim)),
        "a link to nothing": lambda path, _: (
            shutil.rmtree(path),
            path.symlink_to(traps.victim / "made"),
        ),
        "a file in place": lambda path, _: (shutil.rmtree(path), path.write_text("x")),
        "a pipe in place": lambda path, _: (shutil.rmtree(path), os.mkfifo(path)),
        "no folder": lambda path, _: shutil.rmtree(path),
        "a stranger's": lambda path, _: _give_away(path),
        "no permission": lambda path, _: path.chmod(0),
    }  # type: ignore[return-value]


def _flip(path: Path, chance: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(min(len(content), 8)):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    _write(path, bytes(content))


def _extend(path: Path, more: bytes) -> None:
    with path.open("ab") as file:
        file.write(more)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _link(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)


def _move_away(path: Path, traps: Traps) -> Path:
    """Make what a file holds a victim's, and return where it was."""
    shutil.move(path, traps.victim / path.name)
    return path


def _give_away(path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(path, STRANGER, STRANGER)
        path.chmod(0o700 if path.is_dir() else 0o600)


def _leaf_changer(value: Any) -> Callable[[Path, random.Random], None]:
    def change(path: Path, chance: random.Random) -> None:
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        index = chance.randrange(len(lines)) if lines else 0
        try:
            parsed = json.loads(lines[index])
        except (ValueError, IndexError):
            return
        places = list(_places(parsed))
        if places:
            holder, key = chance.choice(places)
            holder[key] = value
            lines[index] = json.dumps(parsed)
            path.write_text("\n".join(lines) + "\n")

    return change


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a JSON value: what holds it, and by which key."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _of_database(database: Path, traps: Traps) -> list[Mutation]:
    name = "recorder.db" if database.name.startswith("recorder") else database.name
    with closing(sqlite3.connect(database)) as opened:
        tables = [
            row[0] for row in opened.execute("select name from sqlite_master where type='table'")
        ]
        columns = {
            table: [row[1] for row in opened.execute(f'pragma table_info("{table}")')]
            for table in tables
            if opened.execute(f'select count(*) from "{table}"').fetchone()[0]
        }
    statements = {
        "dropped": 'drop table "{}"',
        "emptied": 'delete from "{}"',
        "less a row": 'delete from "{}" where rowid = :row',
        "with a row twice": 'insert or ignore into "{0}" select * from "{0}" where rowid = :row',
    }
    operators = [
        Mutation(
            f"table {table} of {name} {effect}",
            f"{name}: {table}",
            _statement(database, table, statement),
        )
        for table in columns
        for effect, statement in statements.items()
    ]
    values = {k: v for k, v in traps.values().items() if not isinstance(v, list | dict)}
    values |= {"bytes": b"\xff\x00\x1b", "huge": 2**63 - 1, "deep": _DEEP}
    return operators + [
        Mutation(
            f"{kind} in {column} of {table} of {name}",
            f"{name}: {table}",
            _statement(
                database,
                table,
                f'update or ignore "{{}}" set "{column}" = :value where rowid = :row',
                value,
            ),
        )
        for table in columns
        for column in columns[table]
        for kind, value in values.items()
    ]


def _statement(
    database: Path, table: str, statement: str, value: Any = None
) -> Callable[[random.Random], None]:
    """Return a function that executes a statement with three random rows."""

    def execute(chance: random.Random) -> None:
        try:
            with closing(sqlite3.connect(database)) as opened, opened:
                rows = [row for (row,) in opened.execute(f'select rowid from "{table}"')]
                for row in chance.sample(rows, min(len(rows), 3)):
                    opened.execute(statement.format(table), {"row": row, "value": value})
        except sqlite3.Error:  # a constraint of the table forbids it to an enemy as well
            return

    return execute
