"""The catalogue of named sweeps: listed without importing their files."""

import ast
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from search_spaces.sweep_source import hint_at_sweeps, sweep_definition

if TYPE_CHECKING:
    from search_spaces.sweep import Sweep

_AT_THE_TOP = "quickstart"  # users' files import it, so its path is part of their versions
_FOLDERS = (Path(__file__).parent, Path(__file__).parent / "named")


@dataclass(frozen=True)
class SweepEntry:
    """A named sweep in a list.

    Attributes:
        name: Its name, as `capsweep run` takes it.
        summary: The first line of its file's docstring.
    """

    name: str
    summary: str


def named_sweeps(folders: Sequence[Path] = _FOLDERS) -> list[SweepEntry]:
    """Return all named sweeps, sorted by name. Their files are read, not imported."""
    entries = (_entry(path) for path in _files(folders))
    return sorted((entry for entry in entries if entry), key=lambda entry: entry.name)


def named_sweep(name: str) -> "Sweep":
    """Return a named sweep.

    Raises:
        ValueError: If it does not exist, with the nearest name.
    """
    if not is_named(name):
        known = [entry.name for entry in named_sweeps()]
        near = hint_at_sweeps(name, known)
        raise ValueError(f"Unknown sweep '{name}'.{near} Known: {', '.join(known)}.")
    return cast("Sweep", importlib.import_module(module_of(name)).SWEEP)


def is_named(name: str) -> bool:
    """Return whether there is a named sweep of this name."""
    return any(_entry(path) for path in _files(_FOLDERS) if path.stem == name)


def module_of(name: str) -> str:
    """Return the module that defines a named sweep."""
    package = "search_spaces" if name == _AT_THE_TOP else "search_spaces.named"
    return f"{package}.{name}"


def _files(folders: Sequence[Path]) -> Iterator[Path]:
    return (path for folder in folders for path in folder.glob("*.py"))


def _entry(path: Path) -> SweepEntry | None:
    """Return a file's entry, or None if it defines no sweep."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if sweep_definition(tree) is None:
        return None
    docstring = ast.get_docstring(tree) or ""
    return SweepEntry(path.stem, docstring.partition("\n")[0])
