"""The test files of a module: those that import it, the closest first, and those near it."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tools.mutants.changes import PACKAGES


class Imports(NamedTuple):
    """A file's text, the names it imports from modules, and the modules it imports whole."""

    text: str
    names: list[tuple[str, str]]
    modules: list[str]


@cache
def imports_of(test: Path) -> Imports:
    """Return all imports of a test file, also those inside functions."""
    text = test.read_text()
    nodes = list(ast.walk(ast.parse(text)))
    names = [
        (node.module, alias.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    ]
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return Imports(text, names, modules)


def names_in(path: Path) -> set[str]:
    """Return the names that a module defines."""
    names: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _:
                continue
    return names


def closeness(test: Path, module: str, names: set[str]) -> tuple[int, int]:
    """Return how close a test file is to a module: named as it is, then how often it names it.

    Zeros where it imports nothing of it, neither from where it is nor through its package.
    """
    text, imported_names, imported_modules = imports_of(test)
    imported: set[str] = set()
    for place, name in imported_names:
        is_part = f"{module}.".startswith(f"{place}.{name}.")
        is_of_package = f"{module}.".startswith(f"{place}.") and name in names
        if place == module or is_part or is_of_package:
            imported.add(name)
    for imported_module in imported_modules:
        if imported_module == module:
            imported.add(imported_module)
        elif module.startswith(f"{imported_module}."):
            imported |= {name for name in names if f"{imported_module}.{name}" in text}
    if not imported:
        return (0, 0)
    own_name = test.stem == "test_" + module.rpartition(".")[2]
    return (int(own_name), sum(text.count(name) for name in imported))


def importers(module: str, path: Path, tree: Path, tests: Iterable[str]) -> list[str]:
    """Return the test files that import a module, the closest first, then those of its folder.

    Of the latter first those that share most words of its name; the golden ones, which go through
    everything by its name, come last.
    """
    names = names_in(path)
    near = {test: closeness(tree / test, module, names) for test in tests}
    closest = sorted((test for test in near if near[test][1]), key=lambda test: near[test])[::-1]
    folder, parts = Path("tests") / path.relative_to(tree).parent, {*path.stem.split("_")}
    of_folder: list[str] = []
    while not of_folder and folder != Path("tests"):
        of_folder = [test for test in near if Path(test).is_relative_to(folder)]
        of_folder.sort(key=lambda test: -len(parts & {*Path(test).stem.split("_")}))
        folder = folder.parent
    golden = [test for test in near if Path(test).is_relative_to("tests/golden")]
    return [*dict.fromkeys([*closest, *of_folder, *golden])]


def whole_programs(module: str, path: Path, tree: Path, tests: Iterable[str]) -> list[str]:
    """Return the test files that import a module, then those that test no package alone.

    Of the latter, which give commands, first those that name most of the parts of its name.
    """
    listed = list(tests)
    parts = {word for part in module.split(".")[1:] for word in part.split("_")}
    closest = importers(module, path, tree, listed)
    own = [Path("tests") / package for package in PACKAGES]
    others = [
        test
        for test in listed
        if test not in closest and not any(Path(test).is_relative_to(folder) for folder in own)
    ]
    texts = {test: imports_of(tree / test).text for test in others}
    return closest + sorted(others, key=lambda test: -sum(word in texts[test] for word in parts))
