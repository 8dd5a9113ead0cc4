"""What an enemy would change first: addresses, printed words, numbers that are counted with.

Changes drawn evenly nearly all fall where nobody looks. These fall on what a command does obey,
print or compute with: a sweep's own run, the manifest of that run, the tags of all.
"""

import json
import random
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tools.fuzz.mutations import ESCAPES, Mutation, Traps

_NUMBERS = {
    "a word for no number": "nan",
    "no number": float("nan"),
    "an endless number": float("inf"),
    "a number of 400 digits": 10**399,
    "a negative number": -1,
    "a large number": 2**63 - 1,
    "nothing": None,
}
_MANY = 100_000
_APART = {"config", "changes"}  # settings, of which there are too many to aim at each


def aims(storage: Path, traps: Traps) -> list[Mutation]:
    """Return the changes that matter most, for each sweep of a store."""
    database = storage / "mlflow.db"
    mutations: list[Mutation] = []
    for sweep, run in sorted(_own_runs(database).items()):
        mutations += _addresses(storage, sweep, run, traps)
        paths = [
            *sorted((storage / "artifacts" / run / "artifacts").glob("sweep-logs/*.jsonl")),
            *sorted((storage / "journals").glob(f"{sweep}.jsonl")),
        ]
        mutations += _of_log(paths, sweep)
    return [*mutations, *_tags(database)]


def _own_runs(database: Path) -> dict[str, str]:
    """Return the run that is a sweep's own, by sweep."""
    question = """
        select named.value, named.run_uuid from tags as named join tags as kind
        on kind.run_uuid = named.run_uuid and kind.key = 'capsweep.type' and kind.value = 'sweep'
        where named.key = 'capsweep.sweep'"""
    with closing(sqlite3.connect(database)) as opened:
        return dict(opened.execute(question).fetchall())


def _addresses(storage: Path, sweep: str, run: str, traps: Traps) -> Iterator[Mutation]:
    """Yield changes of where a run's files are said to lie: the sweep's own run, or every one."""
    database = storage / "mlflow.db"
    addresses = {
        "of another folder that holds the same": f"file://{traps.victim}/artifacts/{{}}/artifacts",
        "of another folder": f"file://{traps.victim}",
        "of another host": f"{traps.address}/{{}}",
        "of another server": f"mlflow-artifacts://{traps.address.split('/')[2]}/{{}}/artifacts",
        "that leads up": "mlflow-artifacts:/../../../victim/artifacts/{}/artifacts",
    }
    for label, address in addresses.items():
        for whose, only in (("the sweep's own run", run), ("all runs", None)):

            def move(_: random.Random, address: str = address, only: str | None = only) -> None:
                shutil.copytree(
                    storage / "artifacts", traps.victim / "artifacts", dirs_exist_ok=True
                )
                with closing(sqlite3.connect(database)) as opened, opened:
                    for (each,) in opened.execute("select run_uuid from runs").fetchall():
                        if only in {None, each}:
                            opened.execute(
                                "update runs set artifact_uri = ? where run_uuid = ?",
                                (address.format(each), each),
                            )

            yield Mutation(f"an address {label} for {whose} of {sweep}", "addresses", move, sweep)


def _tags(database: Path) -> Iterator[Mutation]:
    """Yield escapes in every tag of this package, in all runs that have it."""
    with closing(sqlite3.connect(database)) as opened:
        keys = opened.execute("select distinct key from tags where key like 'capsweep.%'")
        names = sorted(key for (key,) in keys)
    for name in names:

        def write(_: random.Random, name: str = name) -> None:
            with closing(sqlite3.connect(database)) as opened, opened:
                opened.execute("update tags set value = value || ? where key = ?", (ESCAPES, name))

        yield Mutation(f"escapes in the tag {name} of all runs", "tags", write)


def _of_log(paths: list[Path], sweep: str) -> Iterator[Mutation]:
    """Yield changes of the log of one sweep, in all its copies, with their right checksums."""
    manifest = _entries(paths[0])
    where = dict.fromkeys(place for place, _, _ in _values(manifest))
    for place in where:
        values = [
            holder[key] for value_place, holder, key in _values(manifest) if value_place == place
        ]
        if all(isinstance(value, str) for value in values):
            yield _change(f"escapes in {place}", "words", paths, sweep, _renamed(place))
        elif any(isinstance(value, list) for value in values):
            yield _change(f"{_MANY} values in {place}", "lists", paths, sweep, _many(place))
        elif any(isinstance(value, int | float) for value in values):
            for label, number in _NUMBERS.items():
                change = _put(place, number)
                yield _change(f"{label} as {place}", "numbers", paths, sweep, change)


def _change(
    label: str, of: str, paths: list[Path], sweep: str, act: Callable[[Any, random.Random], None]
) -> Mutation:
    def apply(chance: random.Random) -> None:
        seed = chance.random()
        for path in paths:
            entries = _entries(path)
            act(entries, random.Random(seed))
            path.write_bytes(b"".join(map(_line, entries)))

    return Mutation(f"{label} of the log of {sweep}", of, apply, sweep)


def _entries(path: Path) -> list[Any]:
    return [json.loads(line)["entry"] for line in path.read_text().splitlines()]


def _line(entry: Any) -> bytes:
    text = json.dumps(entry, separators=(",", ":"))
    return f'{{"sum":"{zlib.crc32(text.encode()):08x}","entry":{text}}}\n'.encode()


def _renamed(place: str) -> Callable[[Any, random.Random], None]:
    """Return what adds escapes to a word wherever the manifest says it, so that it is whole."""

    def act(manifest: Any, chance: random.Random) -> None:
        texts = sorted(
            {
                str(holder[key])
                for value_place, holder, key in _values(manifest)
                if value_place == place
            }
        )
        if texts:
            word = chance.choice(texts)
            for _, holder, key in list(_values(manifest)):
                if holder[key] == word:
                    holder[key] = f"{word}{ESCAPES}"

    return act


def _many(place: str) -> Callable[[Any, random.Random], None]:
    """Return what makes a list long, of values like those that it holds."""

    def act(manifest: Any, chance: random.Random) -> None:
        slots = [
            (holder, key) for value_place, holder, key in _values(manifest) if value_place == place
        ]
        if slots:
            holder, key = chance.choice([pair for pair in slots if pair[0][pair[1]]] or slots)
            first = next(iter(holder[key]), 0)
            holder[key] = [number if isinstance(first, int) else first for number in range(_MANY)]

    return act


def _put(place: str, number: Any) -> Callable[[Any, random.Random], None]:
    def act(manifest: Any, chance: random.Random) -> None:
        slots = [
            (holder, key)
            for value_place, holder, key in _values(manifest)
            if value_place == place and isinstance(holder[key], int | float)
        ]
        if slots:
            holder, key = chance.choice(slots)
            holder[key] = number

    return act


def _values(value: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield every place of a manifest by its general name, with what holds it, and by which key."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if key in _APART:
            continue
        name = f"{place}.{key}".strip(".") if isinstance(value, dict) else f"{place}[]"
        yield name, value, key
        if isinstance(value[key], dict | list):
            yield from _values(value[key], name)
