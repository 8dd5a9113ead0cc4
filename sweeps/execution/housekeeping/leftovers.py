"""Leftovers in a storage folder: a pure function of its files and of what sweeps need."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_DAMAGED = re.compile(r".+\.damaged(-\d+(-journal|-wal|-shm)?)?")
_TEMPORARY = (".unfinished", ".unfinished-journal", ".tmp")


class Kind(StrEnum):
    """Kinds of leftovers, in words for the user."""

    CHECKPOINT = "checkpoints that nothing needs"
    STATE = "trainings that longer ones may go on from"
    REPLACED = "cells that --retrain archived"
    DAMAGED = "files archived as damaged"
    TEMPORARY = "temporary files of killed writes"


@dataclass(frozen=True)
class Leftover:
    """A file or folder that nothing needs.

    Attributes:
        path: A file, or the folder of an archived cell.
        written: When it was last written to, in seconds since 1970.
        cell: The folder of the cell that it lies in, None if it lies in none.
    """

    kind: Kind
    path: Path
    num_bytes: int
    written: float
    cell: Path | None = None


@dataclass(frozen=True)
class Needs:
    """What the sweeps of a storage folder need.

    Attributes:
        named: Trial keys of the current manifests of all sweeps.
        launched: Trial keys of running sweeps.
        only: Trial keys of the one sweep to clean, None for the whole folder.
        is_certain: Whether no sweep can need an unfinished cell that `named` lacks.
    """

    named: frozenset[str]
    launched: frozenset[str]
    only: frozenset[str] | None
    is_certain: bool

    def concerns(self, trial_key: str) -> bool:
        """Return whether a cell may be cleaned."""
        return trial_key not in self.launched and (self.only is None or trial_key in self.only)

    def wants_checkpoint(self, trial_key: str, *, is_filled: bool) -> bool:
        """Return whether a trial may resume from a cell's checkpoint."""
        return not is_filled and (not self.is_certain or trial_key in self.named)


def kind_of(name: str) -> Kind | None:
    """Return the kind of a leftover by its file name, None for other files."""
    if _DAMAGED.fullmatch(name):
        return Kind.DAMAGED
    return Kind.TEMPORARY if name.endswith(_TEMPORARY) else None


def untouched_since(leftovers: Iterable[Leftover], moment: float) -> list[Leftover]:
    """Return the leftovers that were last written to before a moment."""
    return [leftover for leftover in leftovers if leftover.written <= moment]
