"""The text of a sweep's file, by the template `sweep.py.jinja`."""

import ast
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import jinja2
from pydantic import ValidationError

from capsmodel.config import TrainingConfig
from capsmodel.settings.messages import explain
from capsmodel.settings.parts import Settings
from search_spaces.plans.path_changes import settings_between
from search_spaces.sweep import Sweep
from sweeps.execution.launch.run import plan
from sweeps.execution.launch.writing.custom_code import CustomCode
from sweeps.execution.launch.writing.options import FileOptions
from sweeps.execution.launch.writing.python_text import python_text
from sweeps.execution.survey.survey import Survey
from sweeps.records.errors import BadInput

NO_CODE = CustomCode()
_MOST_SEEDS_LISTED = 10


def sweep_text(
    sweep: Sweep,
    constructor: str,
    fields: Mapping[str, Any],
    *,
    docstring: str,
    named: tuple[str, TrainingConfig] | None = None,
    code: CustomCode = NO_CODE,
) -> str:
    """Return the text of a file that defines an equal sweep.

    Args:
        sweep: The sweep.
        constructor: The class method of `Sweep` that makes it; "" for its own.
        fields: The arguments of the constructor besides name, description, base, seeds and parts.
        docstring: Plain words without a backslash or a quote.
        named: Module and base of a named sweep whose base is changed; None for a base that no
            module has.
        code: The user's parts that the file contains.

    Raises:
        ValueError: If the code uses a name for something else, or a value cannot be written.
    """
    assert not set(docstring) & set("\\\"'")
    classes = [value for value in fields.values() if isinstance(value, type)]
    classes += [type(value) for value in fields.values() if isinstance(value, Settings)]
    names = dict.fromkeys(("Sweep", *(each.__name__ for each in classes)), "search_spaces")
    names |= dict(code.packages)
    if named:
        module, start = named
        alias = module.rpartition(".")[2].upper()
        names[f"SWEEP as {alias}"] = module
    else:
        alias, start = "", TrainingConfig()
        names["TrainingConfig"] = "capsmodel"
    settings = settings_between(start, sweep.base)
    if settings:
        names["with_settings"] = "capsmodel.overrides"
    return _template().render(
        sweep=sweep,
        constructor=constructor,
        fields={**fields, "seeds": sweep.until_decided or _seeds(sweep.arm_seeds)},
        docstring=docstring,
        base=f"{alias}.base" if alias else "TrainingConfig()",
        settings=settings,
        parts=code.parts,
        imports=_import_lines(names, code.imports),
        code=code.text,
    )


def survey_of_text(text: str, name: str, options: FileOptions) -> Survey:
    """Return what a launch of a sweep's file would do, before the file is there.

    A user's parts can be surveyed from a file only.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder, f"{name}.py")
        file.write_text(text, encoding="utf-8")
        planned = plan(file, storage=options.storage, tracking_uri=options.tracking_uri)
        return cast(Survey, planned)  # a written file has one data set


@contextmanager
def refusing() -> Generator[None]:
    """Refuse what makes no valid sweep.

    Raises:
        BadInput: In one sentence.
    """
    try:
        yield
    except ValidationError as error:
        raise BadInput(explain(error)) from error
    except ValueError as error:
        raise error if isinstance(error, BadInput) else BadInput(str(error)) from error


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__ or "", "."),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["python"] = python_text
    return environment.get_template("sweep.py.jinja")


def _seeds(seeds: tuple[int, ...]) -> tuple[int, ...] | range:
    """Return seeds as they are, or as a range if there are many."""
    first, end = seeds[0], seeds[-1] + 1
    is_long = len(seeds) > _MOST_SEEDS_LISTED
    is_range = end - first == len(seeds) and seeds == tuple(range(first, end))
    return range(first, end) if is_long and is_range else seeds


def _import_lines(
    names: Mapping[str, str], copied: Iterable[ast.Import | ast.ImportFrom]
) -> list[str]:
    """Return the lines that import names and whatever the copied code imports, in blocks.

    Each name is imported once: a second import would change the version of the code.

    Args:
        names: Name -> module.
        copied: The imports of the copied code.

    Raises:
        ValueError: If the code uses one of the names for something else.
    """
    bound = {
        alias.asname or alias.name: getattr(statement, "module", None)
        for statement in copied
        for alias in statement.names
    }
    by_module: dict[str, list[str]] = {}
    for name, module in names.items():
        local = name.rpartition(" ")[2]
        if bound.get(local, module) != module:
            raise ValueError(
                f"The code of its own parts has a '{local}' of its own, and the file needs that "
                f"of {module}: import it there under another name."
            )
        if local not in bound:
            by_module.setdefault(module, []).append(name)
    lines = [ast.unparse(statement) for statement in copied]
    lines += [
        f"from {module} import {', '.join(sorted(by_module[module]))}" for module in by_module
    ]
    lines.sort(key=lambda line: (_block(line), line.startswith("from"), line.split()[1]))
    return ["\n".join(block) for _, block in groupby(lines, _block)]


def _block(line: str) -> int:
    """Return the place of an import's block: of the language, the standard library, the rest."""
    top = line.split()[1].partition(".")[0]
    return 0 if top == "__future__" else 2 - (top in sys.stdlib_module_names)
