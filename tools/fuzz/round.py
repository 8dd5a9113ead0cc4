"""One round: a fresh copy of the store is changed, all commands are given, and what must not be."""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.fuzz.command import NOBODY, forked
from tools.fuzz.mutations import Mutation
from tools.fuzz.sandbox import STORE, Place
from tools.fuzz.served_ui import questions_of, served

# One of these in each round, so often: what mends, deletes or serves, which the readers do not.
_OTHERS = {("repair",): 4, ("clean",): 1, ("clean", "--yes"): 2, ("ui", "--port", "0"): 2}
_PATIENCE = {"repair": 4.0, "ui": 4.0}  # of the limit: they wait for processes that they start


@dataclass(frozen=True)
class Finding:
    """Something that must not be."""

    kind: str
    command: str
    text: str


@dataclass(frozen=True)
class Commands:
    """What is given to a store.

    Attributes:
        launches: Words of those that have made it.
        limit: Seconds that a command may take.
        other: The one beside the readers, () by chance.
        has_ui: Whether that may be `ui` also where no change asks for it.
    """

    launches: list[tuple[str, ...]]
    limit: float
    other: tuple[str, ...] = ()
    has_ui: bool = True

    def drawn(
        self, place: Place, changes: list[Mutation], chance: random.Random
    ) -> list[tuple[str, ...]]:
        """Return the commands of one round, those first that a change asks for."""
        asked = {change.sweep for change in changes}
        mine = [launch for launch in self.launches if Path(launch[0]).stem in asked]
        launch = chance.choice(mine or self.launches)
        name = Path(launch[0]).stem
        cells = place.pristine / STORE / "cells"
        key = next(iter(sorted(path.name for path in cells.iterdir())))
        weights_option = chance.choice(((), ("--keep-weights", "none")))
        readers = [("status", name), ("report", name), ("best", name), ("show", key)]
        readers += [("plan", *launch), ("run", *launch, "--address", NOBODY, *weights_option)]
        others = {w: often for w, often in _OTHERS.items() if self.has_ui or w[0] != "ui"}
        (drawn,) = chance.choices(list(others), list(others.values()))
        is_first = chance.random() < 0.5
        wanted = next((change.command for change in changes if change.command), ())
        other = self.other or wanted or drawn
        return [other, *readers] if wanted or is_first else [*readers, other]


def fuzz(
    place: Place, commands: Commands, changes: list[Mutation], chance: random.Random
) -> Iterator[Finding]:
    """Change a fresh copy of the store, give all commands, and yield what must not be."""
    place.renew()
    for change in changes:
        change.apply(chance)
    for command in commands.drawn(place, changes, chance):
        before = place.outside()
        yield from _complaints(place, command, commands.limit * _PATIENCE.get(command[0], 1.0))
        after = place.outside()
        touched = sorted(
            path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
        )
        if touched:
            yield Finding("write outside", command[0], ", ".join(touched)[:200])
        for address in set(place.requests()):
            yield Finding("request", command[0], address)
        (place.base / "requests").write_text("")


def _complaints(place: Place, command: tuple[str, ...], limit: float) -> Iterator[Finding]:
    started = time.monotonic()
    if command[0] == "ui":
        code, faults = served(place.base, command, limit, questions_of(place.pristine / STORE))
        yield from (Finding(kind, command[0], detail) for kind, detail in faults)
    else:
        code = forked(place.base, command, limit)
    text = "".join((place.base / name).read_text(errors="replace") for name in ("out", "err"))
    if code is None:
        yield Finding("hang", command[0], f"ended after {time.monotonic() - started:.0f} s")
    elif "Traceback (most recent" in text or code not in {0, 2, 3}:
        yield Finding("traceback", command[0], f"code {code}: {text.strip()[-200:]!r}")
    elif code == 2 and text.count("\n") > 3 and "No such command" not in text:  # of earlier states
        yield Finding("long complaint", command[0], f"{text.count(chr(10))} lines: {text[:200]!r}")
    if odd := {letter for letter in text if not letter.isprintable() and letter not in "\n\t"}:
        yield Finding("control character", command[0], repr(sorted(odd)))
