"""`grid`: the sweep file for a design of factors over another sweep's base, and its survey."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from capsmodel.settings.messages import explain
from search_spaces.catalogue import module_of
from search_spaces.codegen.grid_sweep import GridSweep
from sweeps.execution.launch.run import plan
from sweeps.execution.launch.writing.new_file import check_new_file, write_new
from sweeps.execution.launch.writing.options import GridOptions
from sweeps.execution.plan.definition import declared_sweep
from sweeps.execution.survey.survey import Survey
from sweeps.records.errors import BadInput


@dataclass(frozen=True)
class WrittenGrid:
    """A sweep file that was written.

    Attributes:
        survey: What a launch of it would do.
    """

    path: Path
    survey: Survey


def grid(
    base: str,
    factors: Mapping[str, tuple[Any, ...]],
    *,
    design: str = "full",
    resolution: int | None = None,
    skip_unbuildable: bool = False,
    seeds: Sequence[int] | None = None,
    name: str | None = None,
    out: str | None = None,
    settings: Mapping[str, Any] | None = None,
    storage: str | Path | None = None,
    tracking_uri: str | None = None,
) -> WrittenGrid:
    """Write the file of a sweep that varies factors over the base of another, and survey it.

    `base` is a named sweep, or the path of a file that defines one; `factors` maps a path to its
    levels, which are plain values. The options are the fields of `GridOptions`, which says what
    each means.

    Raises:
        BadInput: In one sentence, if there can be no such sweep or file. Nothing was written.
        StoreUnreachable: If the tracking store does not answer. Nothing was written.
    """
    arguments = locals()
    given = {name: arguments[name] for name in GridOptions.model_fields}
    try:
        options = GridOptions.model_validate(given)
        asked = _asked(base, factors, options)
        sweep, text = asked.sweep, asked.text()
    except ValidationError as error:
        raise BadInput(explain(error)) from error
    except ValueError as error:
        raise error if isinstance(error, BadInput) else BadInput(str(error)) from error
    path = Path(f"{sweep.name}.py" if options.out is None else options.out)
    survey = plan(sweep, storage=options.storage, tracking_uri=options.tracking_uri)
    check_new_file(path, text)
    write_new(path, text)
    return WrittenGrid(path, survey)


def _asked(base: str, factors: Mapping[str, tuple[Any, ...]], options: GridOptions) -> GridSweep:
    origin, source, _ = declared_sweep(base)
    if origin.parts:
        raise BadInput(
            f"The sweep '{origin.name}' has parts of its own, which another file cannot import: "
            f"write the design into {base}."
        )
    return GridSweep(
        origin=origin,
        module="" if source is not None else module_of(base),
        factors=factors,
        design=options.design,
        resolution=options.resolution,
        skip_unbuildable=options.skip_unbuildable,
        settings=options.settings or {},
        seeds=GridSweep.seeds if options.seeds is None else options.seeds,
        name=options.name,
    )
