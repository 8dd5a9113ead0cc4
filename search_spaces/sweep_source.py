"""The source of a sweep file, read without running it: its text, its imports and its sweep's name.

Commands that read records take a file in place of a name, and load no torch for it.
"""

import ast
import os
import warnings
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path

from capsmodel.spelling import hint

_IN_JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # which a job of Ray has, on a machine that Ray chose
_ENDING = ".py"
_MOST_FILES = 1000  # of a folder that are looked through for a name


def is_file_name(text: str) -> bool:
    """Return whether a word of the command line means a sweep's file, not its name."""
    return text.endswith(_ENDING)


def read_source(path: Path) -> str:
    """Return the text of a sweep file.

    Raises:
        ValueError: If it cannot be read.
    """
    try:
        if path.exists() and not path.is_file():  # reading a pipe would block
            raise ValueError(f"The sweep file '{path}' is not a file: give the path of one.")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8 text, so not a Python file.") from error
    except OSError as error:
        place = f" on {os.uname().nodename}" if _IN_JOB in os.environ else ""
        raise ValueError(
            f"There is no sweep file '{path}'{place} ({error.strerror}).{_hint_at_file(path)}"
        ) from error


def syntax_tree(text: str, path: Path) -> ast.Module:
    """Return the syntax tree of a sweep file's text.

    Raises:
        ValueError: If it is not valid Python.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # shown when the file is run
            return ast.parse(text)
    except SyntaxError as error:
        raise ValueError(
            f"{path} is not valid Python: line {error.lineno}: {error.msg}."
        ) from error
    except (RecursionError, MemoryError, ValueError) as error:
        raise ValueError(f"{path} is nothing that Python can read: {error}.") from error


def name_of_sweep(path: Path) -> str:
    """Return the name of the sweep that a file defines, by `SWEEP = Sweep(name="...", ...)`.

    Raises:
        ValueError: If the file cannot be read, defines no sweep, or its name is no literal.
    """
    definition = sweep_definition(syntax_tree(read_source(path), path))
    if definition is None:
        raise ValueError(f"{path} defines no sweep: assign one, SWEEP = Sweep(...).")
    name = _literal_name(definition)
    if name is None:
        raise ValueError(
            f'{path} does not say its sweep\'s name as SWEEP = Sweep(name="..."), and is not run '
            f"to read records: give the name in place of the file."
        )
    return name


def sweep_definition(tree: ast.Module) -> ast.expr | None:
    """Return the expression that a file last assigns to `SWEEP`, or None."""
    for statement in reversed(tree.body):
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        else:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "SWEEP" for target in targets):
            assert isinstance(statement, ast.Assign | ast.AnnAssign)
            return statement.value
    return None


def names_used(tree: ast.Module) -> set[str]:
    """Return the names that a file uses or imports."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return used | {node.name for node in ast.walk(tree) if isinstance(node, ast.alias)}


def hint_at_sweeps(name: str, known: Iterable[str], *, is_near: bool = True) -> str:
    """Return a hint at the sweep or file that may be meant, after a space, or "".

    Args:
        name: What no sweep is called.
        known: Names of sweeps that would do.
        is_near: Whether a near name is enough.
    """
    files = {file: _name_or_none(Path(file)) for file in _sibling_files(Path(name))}
    with_sweep = {file: sweep for file, sweep in files.items() if sweep is not None}
    for file, sweep in with_sweep.items():
        if sweep == name:
            return f" It is defined in '{file}': run that."
    if (file := f"{name}{_ENDING}") in with_sweep:
        return f" Did you mean '{file}'?"
    if not is_near:
        return ""
    by_stem = {file.removesuffix(_ENDING): file for file in with_sweep}
    sweeps = [*known]
    near = get_close_matches(name, [*sweeps, *by_stem], n=1)
    if near and near[0] not in sweeps:
        return f" Did you mean '{by_stem[near[0]]}'?"
    return hint(name, sweeps)


def _hint_at_file(path: Path) -> str:
    """Return a hint at the file with the nearest name, whose ending does not count."""
    files = {file.removesuffix(_ENDING): file for file in _sibling_files(path)}
    near = get_close_matches(str(path).removesuffix(_ENDING), files, n=1, cutoff=0.5)
    return f" Did you mean '{files[near[0]]}'?" if near else ""


def _sibling_files(path: Path) -> list[str]:
    """Return the Python files in the folder of a path, as they are given on the command line."""
    with suppress(OSError, ValueError):
        return sorted(map(str, path.parent.glob(f"*{_ENDING}")))[:_MOST_FILES]
    return []


def _name_or_none(path: Path) -> str | None:
    """Return the name of a file's sweep: "" if it is not a literal, None without a sweep."""
    try:
        definition = sweep_definition(syntax_tree(read_source(path), path))
    except ValueError:
        return None
    return None if definition is None else _literal_name(definition) or ""


def _literal_name(definition: ast.expr) -> str | None:
    if not isinstance(definition, ast.Call):
        return None
    steps = ast.unparse(definition.func).split(".")
    if not any(step.endswith("Sweep") for step in steps):  # of Sweep(...), Sweep.grid(...)
        return None
    for keyword in definition.keywords:
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
            return keyword.value.value if isinstance(keyword.value.value, str) else None
    return None
