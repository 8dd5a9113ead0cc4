"""The modules of a sweep file's own folder that it imports, which travel in its text.

They are found by syntax tree, from file to file, and nothing is run. What a sweep file's text is
sent, hashed and recorded as holds them as comments at its end, so that one text is all of the
user's code, and a text that holds them runs where the folder is not.
"""

import ast
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

from search_spaces.reached_code import exports, imported_names, located_without_import
from search_spaces.sweep_source import read_source, syntax_tree

MOST_BYTES = 1_000_000
_HEADER = "# capsweep: these modules of the file's folder are imported from here, not from the disk"
_FILE, _LINE = "#> ", "#| "
_INIT = "__init__.py"
_OWN_PACKAGES = {"capsmodel", "search_spaces", "sweeps"}
_MOST_NAMED = 10


@dataclass(frozen=True)
class Neighbours:
    """Modules of a sweep file's folder.

    Attributes:
        files: Path in that folder -> text: "nets.py", "lab/__init__.py", "lab/blocks.py".
    """

    files: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def modules(self) -> dict[str, str | None]:
        """The file of each module by its name, None for a package without an `__init__`."""
        files = {_module_of(file): file for file in self.files}
        steps = [name.split(".") for name in files]
        parents = [".".join(step[:num]) for step in steps for num in range(1, len(step))]
        return {**dict.fromkeys(parents), **files}

    def is_package(self, module: str) -> bool:
        """Return whether a module is a package."""
        file = self.modules[module]
        return file is None or Path(file).name == _INIT

    @cached_property
    def texts(self) -> dict[str, tuple[str, bool]]:
        """The text of each module, "" without a file, and whether it is a package."""
        files = self.modules.items()
        return {
            name: (self.files[file] if file else "", self.is_package(name)) for name, file in files
        }

    def has(self, name: str) -> bool:
        """Return whether a name of an import begins with one of the modules."""
        return name.partition(".")[0] in self.modules

    def are_imported_by(self, text: str) -> bool:
        """Return whether a sweep file's text imports any of them."""
        nodes = ast.walk(ast.parse(text))
        return any(self.has(name) for node in nodes for name in imported_names(node, ""))

    @property
    def sentence(self) -> str:
        """Which files travel, "" if none do."""
        names = sorted(self.files)
        more = len(names) - _MOST_NAMED
        listed = ", ".join(names[:_MOST_NAMED]) + f" and {more} more" * (more > 0)
        number = f"{len(names)} file{'s travel' if len(names) > 1 else ' travels'}"
        return f"{number} with it: {listed}." if names else ""


# One text for a sweep file and its neighbours.


def sendable_text(path: Path) -> str:
    """Return the text of a sweep file with the modules of its folder that it imports. Runs nothing.

    Raises:
        ValueError: If one cannot be read or cannot travel.
    """
    return sendable(read_source(path), path)


def sendable(text: str, path: Path) -> str:
    """Return a text with the modules that it imports of the folder in which its file would be.

    Raises:
        ValueError: If one cannot be read or cannot travel.
    """
    return with_neighbours(text, _neighbours_of(path, text))


def with_neighbours(text: str, neighbours: Neighbours) -> str:
    """Return a sweep file's text with modules of its folder; the same if it has some already."""
    if not neighbours.files or neighbours_in(text).files:
        return text
    lines = [_HEADER]
    for file, content in sorted(neighbours.files.items()):
        lines += [_FILE + file, *(_LINE + line for line in content.split("\n"))]
    end = "" if text.endswith("\n") else "\n"
    return f"{text}{end}\n" + "\n".join(lines) + "\n"


@lru_cache(maxsize=16)
def neighbours_in(text: str) -> Neighbours:
    """Return the modules that a text holds, as `with_neighbours` writes them."""
    _, header, block = text.rpartition(f"\n{_HEADER}\n")
    before, *parts = f"\n{block}".rstrip("\n").split(f"\n{_FILE}")
    files: dict[str, str] = {}
    for part in parts if header and not before else ():
        name, *lines = part.split("\n")
        if not all(line.startswith(_LINE.rstrip()) for line in lines):
            return Neighbours()
        files[name] = "\n".join(line[len(_LINE) :] for line in lines)
    return Neighbours(files)


# What a file imports, from file to file.


class _Import(NamedTuple):
    """A name that a file imports.

    Attributes:
        place: Where: "mine.py, line 3".
        is_by_function: Whether `__import__` is called.
    """

    name: str
    place: str
    is_by_function: bool = False


def _neighbours_of(path: Path, text: str) -> Neighbours:
    """Return the modules in a sweep file's folder that it imports, directly or through others.

    Raises:
        ValueError: If one cannot be read or cannot travel.
    """
    tree = syntax_tree(text, path)
    if (sent := neighbours_in(text)).files:
        return sent
    folder = _SweepFolder(path)
    files: dict[str, str] = {}
    waiting = deque(_imports(tree, "", path))
    while waiting:
        for file in folder.files_of(waiting.popleft()):
            if file in files:
                continue
            files[file] = content = folder.read(file)
            _refuse_too_large(path, text, files)
            module, place = _module_of(file), folder.path / file
            tree = syntax_tree(content, place)
            is_package = place.name == _INIT
            waiting += _imports(tree, module if is_package else module.rpartition(".")[0], place)
            listed = exports(tree.body) if is_package else ()
            waiting += [_Import(f"{module}.{name}", str(place)) for name in listed]
    return Neighbours(files)


def _imports(tree: ast.Module, package: str, file: Path) -> Iterator[_Import]:
    """Yield the absolute names that a file imports, in any of its functions too.

    Raises:
        ValueError: If an import is relative to what is no package of the folder.
    """
    for node in ast.walk(tree):
        place = f"{file}, line {getattr(node, 'lineno', 0)}"
        level = node.level if isinstance(node, ast.ImportFrom) else 0
        if level > len(package.split(".") if package else ()):
            raise ValueError(
                f"{place}: the import begins with {'.' * level} and leads above the package that "
                f"the file is in: give the module's name as seen from the sweep's file."
            )
        is_by_function = isinstance(node, ast.Call) and ast.unparse(node.func) == "__import__"
        for name in imported_names(node, package):
            yield _Import(name, place, is_by_function)


def _module_of(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _refuse_too_large(path: Path, text: str, files: Mapping[str, str]) -> None:
    size = sum(len(content.encode()) for content in (text, *files.values()))
    if size > MOST_BYTES:
        raise ValueError(
            f"{path} and the files that it imports of its folder have {size:,} bytes, and "
            f"{MOST_BYTES:,} can travel ({', '.join([*files][:_MOST_NAMED])}): install what is "
            f"large as a package."
        )


class _SweepFolder:
    """The folder of a sweep's file, where its imports are looked for as Python would.

    Args:
        sweep: The sweep's file. A link leads to the folder of the file itself.
    """

    def __init__(self, sweep: Path) -> None:
        self._sweep = sweep.resolve()
        self.path = self._sweep.parent if sweep.is_symlink() else sweep.parent
        self._is_here: dict[str, bool] = {}

    def files_of(self, imported: _Import) -> list[str]:
        """Return the files that an import runs: those of a module and of the packages above it.

        Raises:
            ValueError: If it cannot travel.
        """
        steps = imported.name.split(".")
        if not all(step.isidentifier() for step in steps):
            return []
        if steps[0] not in self._is_here:
            self._is_here[steps[0]] = self._is_neighbour(steps[0], imported)
        if not self._is_here[steps[0]]:
            return []
        files = [*self._files(steps, imported.place)]
        if files and imported.is_by_function:
            raise ValueError(
                f"{imported.place}: __import__ cannot import {self.path / files[-1]}, which "
                f"travels as text: write importlib.import_module('{imported.name}')."
            )
        for file in files:
            self._check_place(file, imported)
        return files

    def _files(self, steps: Sequence[str], place: str) -> Iterator[str]:
        """Yield the file of each step of a name; a package without an `__init__` has none."""
        for number in range(1, len(steps) + 1):
            module = "/".join(steps[:number])
            if compiled := self._compiled(module):
                raise ValueError(
                    f"{place}: {self.path / compiled} is compiled, and only text travels to the "
                    f"workers: install it as a package."
                )
            if file := self._file(module):
                yield file
            if file == f"{module}.py" or not (self.path / module).is_dir():
                return

    def read(self, file: str) -> str:
        """Return the text of a file.

        Raises:
            ValueError: If it cannot be read, or is larger than all that can travel.
        """
        place = self.path / file
        if (size := place.stat().st_size) > MOST_BYTES:
            raise ValueError(
                f"{place} has {size:,} bytes, and {MOST_BYTES:,} of the files that {self._sweep} "
                f"imports of its folder can travel: install it as a package."
            )
        return read_source(place)

    def _is_neighbour(self, name: str, imported: _Import) -> bool:
        """Return whether a top-level name is a module of the folder, and not installed.

        Raises:
            ValueError: If it is a module of the folder and another one.
        """
        file = self._file(name) or self._compiled(name)
        if file is None and not (self.path / name).is_dir():
            return False
        other, is_own = self._elsewhere(name, self.path / str(file))
        if is_own or (other and (file is None or self._is_sweep(file))):
            return False
        if other:
            raise ValueError(
                f"{imported.place}: '{name}' is {self.path / str(file)} and also {other}, so that "
                f"it is not clear which is meant: rename the file."
            )
        return True

    def _elsewhere(self, name: str, file: Path) -> tuple[str, bool]:
        """Return another file than the folder's that an import finds, "" if there is none.

        Returns:
            Also whether Python itself has the module, or it is a package that is installed for
            development and lies in the folder.
        """
        located = located_without_import(name)
        if located is None:
            return "", False
        if located.file is None:
            return "", located.folders is None  # built in
        if located.file.resolve() != file.resolve():
            return str(located.file), False
        paths = [entry for entry in sys.path if Path(entry).resolve() != self._sweep.parent]
        spec = PathFinder.find_spec(name, paths)
        if spec and spec.has_location and spec.origin:
            return spec.origin, False
        return "", name in _OWN_PACKAGES or name in packages_distributions()

    def _file(self, module: str) -> str | None:
        """Return the file of a module, which is given as a path; None if there is none."""
        files = (f"{module}/{_INIT}", f"{module}.py")
        return next((file for file in files if (self.path / file).is_file()), None)

    def _compiled(self, module: str) -> str | None:
        """Return the compiled file of a module, which Python prefers to its text."""
        files = [
            f"{module}{end}{suffix}" for end in ("/__init__", "") for suffix in EXTENSION_SUFFIXES
        ]
        return next((file for file in files if (self.path / file).is_file()), None)

    def _check_place(self, file: str, imported: _Import) -> None:
        place = self.path / file
        if self._is_sweep(file):
            raise ValueError(
                f"{imported.place} imports {place}, the sweep's own file, which would run twice: "
                f"put what both need into a third file."
            )
        if not self._has(place):
            raise ValueError(
                f"{imported.place}: {place} leads out of the sweep's folder, to {place.resolve()}: "
                f"copy it into the folder, or install it as a package."
            )

    def _is_sweep(self, file: str) -> bool:
        return (self.path / file).resolve() == self._sweep

    def _has(self, file: Path) -> bool:
        return self._sweep.parent in file.resolve().parents
