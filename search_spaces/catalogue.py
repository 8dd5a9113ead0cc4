"""The named sweeps of this package, found by file name and read without being imported."""

import ast
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from search_spaces.sweep import Sweep

_AT_THE_TOP = "quickstart"  # users' files begin with it, and their versions hold where it is
_FOLDERS = (Path(__file__).parent, Path(__file__).parent / "named")


@dataclass(frozen=True)
class Entry:
    """A named sweep.

    Attributes:
        name: What `capsweep run` takes.
        summary: The first line of its file's docstring.
    """

    name: str
    summary: str


def named_sweeps(folders: Sequence[Path] = _FOLDERS) -> list[Entry]:
    """Return the named sweeps, by name. Nothing is imported: their files are only read."""
    entries: list[Entry] = []
    for path in (path for folder in folders for path in folder.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(_defines_sweep(statement) for statement in tree.body):
            docstring = ast.get_docstring(tree) or ""
            entries.append(Entry(path.stem, docstring.partition("\n")[0]))
    return sorted(entries, key=lambda entry: entry.name)


def named_sweep(name: str) -> "Sweep":
    """Return a named sweep.

    Raises:
        ValueError: If there is none of this name, with the nearest that is.
    """
    names = [entry.name for entry in named_sweeps()]
    if name not in names:
        from capsmodel.settings.messages import unknown

        raise ValueError(unknown("sweep", name, names))
    return cast("Sweep", importlib.import_module(module_of(name)).SWEEP)


def module_of(name: str) -> str:
    """Return the module that a named sweep is imported from."""
    package = "search_spaces" if name == _AT_THE_TOP else "search_spaces.named"
    return f"{package}.{name}"


def _defines_sweep(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(target, ast.Name) and target.id == "SWEEP" for target in targets)
