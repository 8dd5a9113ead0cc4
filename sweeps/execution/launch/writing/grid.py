"""`grid`: the sweep file for a design of factors over another sweep's base, and its survey."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from capsmodel.overrides import with_settings
from capsmodel.spelling import short_names
from search_spaces.catalogue import module_of
from search_spaces.plans.designs.factorial import FullFactorial
from search_spaces.plans.designs.factors import FactorDesign
from search_spaces.plans.designs.fractional import FractionalFactorial
from search_spaces.plans.designs.one_factor import OneFactor
from search_spaces.plans.designs.plackett_burman import PlackettBurman
from search_spaces.sweep import Sweep
from sweeps.execution.launch.writing.new_file import write_sweep
from sweeps.execution.launch.writing.options import GridOptions
from sweeps.execution.launch.writing.sweep_text import refusing, survey_of_text, sweep_text
from sweeps.execution.plan.definition import declared_sweep
from sweeps.execution.survey.survey import Survey
from sweeps.records.errors import BadInput

_DESIGNS: Mapping[str, type[FactorDesign]] = MappingProxyType(
    {
        "full": FullFactorial,
        "one_factor": OneFactor,
        "fractional": FractionalFactorial,
        "plackett_burman": PlackettBurman,
    }
)
_SEEDS = (0, 1, 2, 3, 4)
_LONGEST_NAME = 64
_MOST_NAMED = 3


def grid(
    base: str, axes: Mapping[str, tuple[Any, ...]], fields: Mapping[str, Any]
) -> tuple[Path, Survey]:
    """Write the file of a sweep that varies settings over the base of another, and survey it.

    Args:
        base: A named sweep, or the path of a file that defines one.
        axes: Path of a setting -> its levels, which are plain values.
        fields: The fields of `GridOptions`.

    Returns:
        The file, and what a launch of it would do.

    Raises:
        BadInput: In one sentence, if there can be no such sweep or file. Nothing was written.
        StoreUnreachable: If the tracking store does not answer. Nothing was written.
    """
    with refusing():
        options = GridOptions.model_validate(fields)
        origin, source, _ = declared_sweep(base)
        if origin.parts:
            raise BadInput(
                f"The sweep '{origin.name}' has parts of its own, which another file cannot "
                f"import: write the design into {base}."
            )
        sweep, text = design_over(
            origin, "" if source is not None else module_of(base), axes, options
        )
    survey = survey_of_text(text, sweep.name, options)
    return write_sweep(text, sweep.name, options), survey


def design_over(
    origin: Sweep, module: str, axes: Mapping[str, tuple[Any, ...]], options: GridOptions
) -> tuple[Sweep, str]:
    """Return the sweep, and the text of a file that defines an equal one.

    Args:
        origin: The sweep whose base is varied.
        module: The module of the named sweep; "" for a sweep of a file, which cannot be imported.
        axes: Path of a setting -> its levels.
        options: The other options.

    Raises:
        ValueError: If the sweep is not valid.
    """
    names = tuple(short_names(tuple(axes)).values())
    title, question, meaning = _header(options.design, _varied(names), axes)
    base = with_settings(origin.base, options.settings or {})
    fields: dict[str, Any] = {"axes": axes, **_plan_fields(axes, options)}
    sweep = Sweep.grid(
        name=_default_name(origin, names, options) if options.name is None else options.name,
        description=f"{title[0].upper()}{title[1:]}.",
        base=base,
        seeds=_SEEDS if options.seeds is None else options.seeds,
        **fields,
    )
    of_origin = f"{origin.name}{', changed' if base != origin.base else ''}"
    docstring = f"{question}\n\nThe base is that of {of_origin}.\n{meaning}"
    named = (module, origin.base) if module else None
    return sweep, sweep_text(sweep, "grid", fields, docstring=docstring, named=named)


def _header(design: str, varied: str, axes: Mapping[str, tuple[Any, ...]]) -> tuple[str, str, str]:
    """Return the title of a design, its question, and what it can show and cannot."""
    combinations = f"{math.prod(map(len, axes.values())):,} combinations"
    return {
        "full": (
            f"{varied} in all combinations",
            f"How do results depend on {varied}? All {combinations}.",
            "It tells what each does on average over the others, and whether one depends on "
            "another.",
        ),
        "one_factor": (
            f"{varied}, one change at a time",
            f"What does each change of {varied} do, one at a time?",
            "It tells what each change does to this base, not whether two of them help together.",
        ),
        "fractional": (
            f"{varied} in a fraction of all combinations",
            f"Which of {varied} matter? A fraction of all {combinations}.",
            "It finds some effects only as a sum with others: capsweep plan names them.",
        ),
        "plackett_burman": (
            f"{varied} in a screen",
            f"Which of {varied} matter at all? A screen in few arms.",
            "An interaction can pass for a main effect: what it finds is to be confirmed by a "
            "design\nof the few settings that are left.",
        ),
    }[design]


def _plan_fields(axes: Mapping[str, tuple[Any, ...]], options: GridOptions) -> dict[str, Any]:
    """Return what the file says of its design.

    Raises:
        ValueError: If the design does not have an option.
    """
    design = options.design
    if options.skip_unbuildable and design != "full":
        raise ValueError(
            f"Only the design 'full' can skip combinations, got '{design}': leave "
            f"skip_unbuildable out, and levels whose networks cannot be built."
        )
    if options.resolution is not None and design != "fractional":
        raise ValueError(
            f"Only the design 'fractional' has a resolution, got {options.resolution} for "
            f"'{design}': leave it out."
        )
    fields: dict[str, Any] = {} if design == "full" else {"design": _DESIGNS[design]}
    if options.skip_unbuildable:
        fields["skip_unbuildable"] = True
    if design == "fractional":
        asked = FractionalFactorial(factors=axes, resolution=options.resolution)
        fields["resolution"] = asked.fraction.resolution
    return fields


def _default_name(origin: Sweep, names: tuple[str, ...], options: GridOptions) -> str:
    plain = re.sub(r"[^a-z0-9_]+", "_", "_".join((origin.name, *names)).lower()).strip("_")
    if len(plain) <= _LONGEST_NAME:
        return plain
    return f"{origin.name[: _LONGEST_NAME - len(options.design) - 1]}_{options.design}"


def _varied(names: tuple[str, ...]) -> str:
    """Return the names of the factors, or their number if there are many."""
    if len(names) == 1:
        return names[0]
    if len(names) > _MOST_NAMED or len("".join(names)) > _LONGEST_NAME // 2:
        return f"{len(names)} settings"
    return f"{', '.join(names[:-1])} and {names[-1]}"
