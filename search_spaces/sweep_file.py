"""Sweep files: a user's sweep and custom parts in a Python file, with modules of its folder.

Their text is sent to the workers and runs there as a module named after its hash.
"""

import hashlib
import sys
import warnings
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from pydantic import ValidationError

from capsmodel.data import DataSet
from capsmodel.settings.messages import explain
from capsmodel.settings.parts import Part
from capsmodel.spelling import words_of
from search_spaces.neighbour_import import compiled, forget, keep_all_lines, make_importable
from search_spaces.neighbours import neighbours_in, sendable_text
from search_spaces.part_code import PartCode, code_in_file, code_of_import
from search_spaces.reached_code import READS_FILE, ReachedCode
from search_spaces.sweep import Sweep
from search_spaces.torch_state import refuse_changes, torch_state
from search_spaces.user_code import (
    MODULE_PREFIX,
    is_neighbour,
    line_in_sweep_file,
    name_in_files,
)


def sweep_from_file(path: Path) -> tuple[Sweep, str]:
    """Return the sweep that a file defines as `SWEEP`, and the text of all that the user wrote.

    The text is the file's, with the modules of its folder that it imports, see `neighbours`.

    Raises:
        ValueError: If a file cannot be read or run or cannot travel, or it defines no sweep.
    """
    text = sendable_text(path)
    module = module_from_text(text, str(path))
    sweep = getattr(module, "SWEEP", None)
    if not isinstance(sweep, Sweep):
        raise ValueError(f"{path} defines no sweep: assign one, SWEEP = Sweep(...).")
    return sweep, text


def module_from_text(text: str, filename: str = "<sweep>") -> ModuleType:
    """Run a sweep file's text as a module, once per process, and set the versions of its parts.

    The working directory is afterwards as before.

    Raises:
        ValueError: If running it raises an error, or code that its parts reach cannot be read.
    """
    name = MODULE_PREFIX + hashlib.sha256(text.encode()).hexdigest()[:16]
    if name in sys.modules:
        filename = str(sys.modules[name].__file__)
    keep_all_lines(filename, text, neighbours_in(text))
    if name in sys.modules:
        return sys.modules[name]
    module, warned = _run(name, text, filename)
    for warning in warned:
        warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    try:
        _set_versions(module, text)
    except BaseException:
        forget(name)
        raise
    return module


def run_again(text: str) -> None:
    """Run a sweep file's text once more, as each process does that has not run it yet.

    Raises:
        ValueError: If running it raises an error.
    """
    module = module_from_text(text)
    modules = forget(module.__name__)
    try:
        _run(module.__name__, text, str(module.__file__))
    finally:
        forget(module.__name__)
        sys.modules.update(modules)


def _run(name: str, text: str, filename: str) -> tuple[ModuleType, list[warnings.WarningMessage]]:
    """Return the module of a text, and of what running it warned."""
    module, neighbours = ModuleType(name), neighbours_in(text)
    module.__file__ = filename
    sys.modules[name] = module
    make_importable(module, neighbours)
    before = torch_state()
    try:
        with (
            chdir("."),
            warnings.catch_warnings(record=True) as warned,  # shown if the file can be run at all
        ):
            # the user asked to run it
            exec(compiled(text, filename, name, neighbours), module.__dict__)
        refuse_changes(before, {"": text, **neighbours.files})
    except BaseException as error:
        forget(name)
        if isinstance(error, KeyboardInterrupt):
            raise
        line = line_in_sweep_file(error)
        file = f"{line.file}, " if line and line.file != filename else ""
        place = f" ({file}line {line.number})" if line else ""
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
        return code_in_file(text, _bound_name(part, module), str(module.__file__))
    declared = _declared_version(part)
    return code_of_import(name_in_files(part.__module__), declared, text, str(module.__file__))


def _bound_name(part: type[Part], module: ModuleType) -> str:
    """Return the name by which a module has a part: of a part that a function made, not its own."""
    names = vars(module)
    if names.get(part.__name__) is part:
        return part.__name__
    return next((name for name, value in names.items() if value is part), part.__name__)


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
    """Return the parts with a kind that a sweep's file declares, defines or imports of its folder.

    Those that the sweep declares are first.
    """
    sweep = vars(module).get("SWEEP")
    declared = sweep.parts if isinstance(sweep, Sweep) else ()
    travelling = (
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Part)
        and (value.__module__ == module.__name__ or is_neighbour(value.__module__))
        and not value.model_fields["kind"].is_required()
    )
    return tuple(dict.fromkeys((*declared, *travelling)))


def _one_line(error: BaseException) -> str:
    if isinstance(error, ValidationError):
        return explain(error)
    if type(error) is ValueError:  # one of ours, a sentence already
        return str(error).replace("\n", " ")
    text = f"{type(error).__name__}: {name_in_files(words_of(error))}".replace("\n", " ")
    if isinstance(error, ModuleNotFoundError):
        text += (
            "; a sweep file imports installed packages and modules of its own folder, as the "
            "workers have no others"
        )
    return text
