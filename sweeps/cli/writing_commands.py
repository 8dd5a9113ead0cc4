"""Commands that write a sweep file: for a design of factors, for a path to a winner."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sweeps.cli.arguments import read_factors
from sweeps.cli.command_words import program, where
from sweeps.cli.launch_words import WORDS, Words, optioned
from sweeps.cli.program.completion import known_sweeps, launched_sweeps
from sweeps.cli.program.speech import is_quiet
from sweeps.execution.launch.writing.ablate_options import AblateOptions
from sweeps.execution.launch.writing.grid_options import GridOptions
from sweeps.records.plain_text import one_line

if TYPE_CHECKING:
    from sweeps.execution.launch.writing.ablate_options import AblateArguments
    from sweeps.execution.launch.writing.grid_options import GridArguments

_Base = Annotated[
    str,
    typer.Argument(
        metavar="BASE",
        help="A sweep whose base is varied: a named one, or a file.",
        autocompletion=known_sweeps,
    ),
]
_Factors = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH=LEVEL,LEVEL...", help="A setting, and the levels that it is to have."
    ),
]
_Search = Annotated[
    str,
    typer.Argument(
        metavar="SEARCH",
        help="A search that was run: its name, or its file.",
        autocompletion=launched_sweeps,
    ),
]
_WORDS = {
    **WORDS,
    "design": Words(metavar="full|one_factor|fractional|plackett_burman", given=str),
    "out": Words(metavar="FILE"),
}


@optioned(GridOptions.model_fields, {"base": _Base, "factors": _Factors}, _WORDS)
def grid(base: str, factors: list[str], options: "GridArguments") -> None:
    """Write a sweep file that varies settings of a base, and say what it would do."""
    from sweeps.cli.printing.plan import print_plan
    from sweeps.execution.launch.writing.grid import grid as write_grid

    written = write_grid(base, read_factors(factors), **options)
    typer.echo(f"The sweep is in {one_line(str(written.path))}.")
    print_plan(written.survey)
    _print_run(written.path, options)


@optioned(AblateOptions.model_fields, {"search": _Search}, _WORDS)
def ablate(search: str, options: "AblateArguments") -> None:
    """Write a sweep file from a search's base to its winner, a change at a time, and plan it."""
    from sweeps.cli.printing.plan import print_plan
    from sweeps.execution.launch.writing.ablate import ablate as write_path

    written = write_path(search, **options)
    typer.echo(
        f"The sweep is in {one_line(str(written.path))}. It goes to {one_line(written.arm)}."
    )
    print_plan(written.survey)
    if written.num_there:
        typer.echo(
            f"{written.num_there} trainings of base and {one_line(written.arm)} on these seeds are "
            f"there already and will be reused."
        )
    _print_run(written.path, options)


def _print_run(path: Path, options: Mapping[str, Any]) -> None:
    if is_quiet():
        return
    place = where(cast("str | None", options.get("storage")), options.get("tracking_uri"))
    typer.echo(f"Run it: {program()} run {one_line(shlex.quote(str(path)))}{place}")
