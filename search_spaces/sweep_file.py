"""Sweep files: a user's sweep and custom parts in one Python file, anywhere.

The file's text is sent to the workers and runs there as a module named after its hash.
"""

import ast
import hashlib
import importlib.util
import linecache
import sys
import warnings
from contextlib import chdir
from dataclasses import replace
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

from pydantic import ValidationError

from capsmodel.data import DataSet
from capsmodel.settings.messages import explain
from capsmodel.settings.parts import Part
from capsmodel.spelling import words_of
from search_spaces.part_code import PartCode, code_in_file, code_of_import
from search_spaces.reached_code import READS_FILE, ReachedCode
from search_spaces.sweep import Sweep
from search_spaces.sweep_source import read_source, syntax_tree
from search_spaces.torch_state import refuse_changes, torch_state
from search_spaces.user_code import MODULE_PREFIX, line_in_sweep_file


def sweep_from_file(path: Path) -> tuple[Sweep, str]:
    """Return the sweep that a file defines as `SWEEP`, and the file's text.

    Raises:
        ValueError: If the file cannot be read or run, imports a neighbouring file, or defines no
            sweep.
    """
    text = sendable_text(path)
    module = module_from_text(text, str(path))
    sweep = getattr(module, "SWEEP", None)
    if not isinstance(sweep, Sweep):
        raise ValueError(f"{path} defines no sweep: assign one, SWEEP = Sweep(...).")
    return sweep, text


def sendable_text(path: Path) -> str:
    """Return the text of a sweep file, which imports no neighbouring file. Runs nothing.

    Raises:
        ValueError: If the file cannot be read, or imports a neighbouring file.
    """
    text = read_source(path)
    _check_imports(text, path)
    return text


def module_from_text(text: str, filename: str = "<sweep>") -> ModuleType:
    """Run a sweep file's text as a module, once per process, and set the versions of its parts.

    The working directory is afterwards as before.

    Raises:
        ValueError: If running it raises an error, or code that its parts reach cannot be read.
    """
    name = MODULE_PREFIX + hashlib.sha256(text.encode()).hexdigest()[:16]
    if name in sys.modules:
        filename = str(sys.modules[name].__file__)
    # so that a traceback shows lines of a file that does not exist on the worker
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    if name in sys.modules:
        return sys.modules[name]
    module, warned = _run(name, text, filename)
    for warning in warned:
        warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    try:
        _set_versions(module, text)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def run_again(text: str) -> None:
    """Run a sweep file's text once more, as each process does that has not run it yet.

    Raises:
        ValueError: If running it raises an error.
    """
    module = module_from_text(text)
    try:
        _run(module.__name__, text, str(module.__file__))
    finally:
        sys.modules[module.__name__] = module


def _run(name: str, text: str, filename: str) -> tuple[ModuleType, list[warnings.WarningMessage]]:
    """Return the module of a text, and of what running it warned."""
    module = ModuleType(name)
    module.__file__ = filename
    sys.modules[name] = module
    before = torch_state()
    try:
        with (
            chdir("."),
            warnings.catch_warnings(record=True) as warned,  # shown if the file can be run at all
        ):
            exec(compile(text, filename, "exec"), module.__dict__)  # the user asked to run it
        refuse_changes(before, text)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        line = line_in_sweep_file(error)
        place = f" (line {line.number})" if line else ""
        raise ValueError(
            f"{filename} cannot be run: {_one_line(error).rstrip('.')}{place}."
        ) from error
    return module, warned


_DECLARED_VERSIONS: dict[type, int | str] = {}
_REACHED: dict[str, ReachedCode] = {}


def code_outside(text: str | None) -> ReachedCode:
    """Return the code outside a sweep file that its parts reach, empty without a file."""
    return ReachedCode() if text is None else _REACHED[module_from_text(text).__name__]


def _set_versions(module: ModuleType, text: str) -> None:
    reached = ReachedCode()
    for part in custom_parts(module):
        code = _code_of(part, module, text)
        _DECLARED_VERSIONS.setdefault(part, _declared_version(part))
        part.protocol_version = code.version
        reached = reached.joined(_without_data_files(part, code.reached))
    _REACHED[module.__name__] = reached


def _code_of(part: type[Part], module: ModuleType, text: str) -> PartCode:
    if part.__module__ == module.__name__:
        return code_in_file(text, part.__name__, str(module.__file__))
    declared = _declared_version(part)
    return code_of_import(part.__module__, declared, text, str(module.__file__))


def _declared_version(part: type[Part]) -> int | str:
    """Return the version that a class declares or inherits, not one that was set here."""
    for ancestor in part.__mro__:
        if ancestor in _DECLARED_VERSIONS:
            return _DECLARED_VERSIONS[ancestor]
        if "protocol_version" in vars(ancestor):
            return vars(ancestor)["protocol_version"]
    return part.protocol_version


def _without_data_files(part: type[Part], reached: ReachedCode) -> ReachedCode:
    """Leave out the files that a data set reads: the fingerprint of its images covers them."""
    if not issubclass(part, DataSet):
        return reached
    rest = {line: None for line in reached.not_covered if not line.endswith(READS_FILE)}
    return replace(reached, not_covered=rest)


def custom_parts(module: ModuleType) -> tuple[type[Part], ...]:
    """Return the parts with a kind that a module defines or that its sweep declares."""
    sweep = vars(module).get("SWEEP")
    declared = sweep.parts if isinstance(sweep, Sweep) else ()
    defined = (
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Part)
        and value.__module__ == module.__name__
        and not value.model_fields["kind"].is_required()
    )
    return tuple(dict.fromkeys((*declared, *defined)))


def _one_line(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        return explain(error)
    if type(error) is ValueError:  # one of ours, a sentence already
        return str(error).replace("\n", " ")
    text = f"{type(error).__name__}: {words_of(error)}".replace("\n", " ")
    if isinstance(error, ModuleNotFoundError):
        text += "; a sweep file imports installed packages alone, as the workers have no others"
    return text


def _check_imports(text: str, path: Path) -> None:
    for name in _imported(syntax_tree(text, path)):
        neighbours = (path.parent / f"{name}.py", path.parent / name)
        if name == "" or (any(file.exists() for file in neighbours) and not _installed(name, path)):
            raise ValueError(
                f"{path} imports a neighbouring file ('{name or '.'}'), which the workers do not "
                f"have: put it into the sweep's own file, or install it as a package."
            )


def _imported(tree: ast.Module) -> set[str]:
    """Return the top-level names that a file imports; a relative import is ""."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add("" if node.level else (node.module or "").partition(".")[0])
    return names


def _installed(name: str, path: Path) -> bool:
    """Return whether an import finds a package or another module than a neighbour of the file.

    A package that is installed for development may lie beside the file.
    """
    if name in packages_distributions():
        return True
    spec = importlib.util.find_spec(name)
    if spec is None:
        return False
    places = list(spec.submodule_search_locations or ())
    places += [spec.origin] if spec.origin and spec.has_location else []
    folder = path.parent.resolve()
    return not any(folder in Path(place).resolve().parents for place in places)
