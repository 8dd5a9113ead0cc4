"""A sweep file for a design of factors over the base of another sweep, and what it would do."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from pydantic import ValidationError

from capsmodel.settings.messages import explain
from search_spaces.catalogue import module_of
from search_spaces.written.grid import Grid
from sweeps.execution.driver.survey import Survey
from sweeps.execution.launch.run import plan
from sweeps.execution.launch.writing.grid_options import GridArguments, GridOptions
from sweeps.execution.launch.writing.new_file import refuse_other_file, write_new
from sweeps.execution.plan.definition import sweep_of
from sweeps.records.errors import BadInput

_SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class WrittenGrid:
    """A sweep file that was written.

    Attributes:
        survey: What a launch of it would do.
    """

    path: Path
    survey: Survey


def grid(
    base: str, factors: Mapping[str, tuple[Any, ...]], **options: Unpack[GridArguments]
) -> WrittenGrid:
    """Write the file of a sweep that varies factors over the base of another, and survey it.

    Args:
        base: A named sweep, or the path of a file that defines one.
        factors: Path -> levels, plain values.
        **options: See `GridOptions`.

    Raises:
        BadInput: In one sentence, if there can be no such sweep or file. Nothing was written.
        StoreUnreachable: If the tracking store does not answer. Nothing was written.
    """
    try:
        told = GridOptions.model_validate(options)
        asked = _asked(base, factors, told)
        sweep, text = asked.sweep, asked.text()
    except ValidationError as error:
        raise BadInput(explain(error)) from error
    except ValueError as error:
        raise error if isinstance(error, BadInput) else BadInput(str(error)) from error
    path = Path(f"{sweep.name}.py" if told.out is None else told.out)
    survey = plan(sweep, storage=told.storage, tracking_uri=told.tracking_uri)
    refuse_other_file(path, text)
    write_new(path, text)
    return WrittenGrid(path, survey)


def _asked(base: str, factors: Mapping[str, tuple[Any, ...]], told: GridOptions) -> Grid:
    origin, source, _ = sweep_of(base)
    if origin.parts:
        raise BadInput(
            f"The sweep '{origin.name}' has parts of its own, which another file cannot import: "
            f"write the design into {base}."
        )
    return Grid(
        origin=origin,
        module="" if source is not None else module_of(base),
        factors=factors,
        design=told.design,
        resolution=told.resolution,
        settings=told.settings or {},
        seeds=_SEEDS if told.seeds is None else told.seeds,
        name=told.name,
    )
