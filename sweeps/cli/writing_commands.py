"""Commands that write a sweep file: to begin with, for a design of factors, for a path."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sweeps.cli.arguments import read_factors
from sweeps.cli.command_words import program, where
from sweeps.cli.launch_words import WORDS, Words, optioned
from sweeps.cli.program.completion import known_sweeps, launched_sweeps
from sweeps.cli.program.speech import is_quiet
from sweeps.execution.launch.writing.options import AblateOptions, GridOptions
from sweeps.records.plain_text import one_line

_NewName = Annotated[
    str, typer.Argument(metavar="NAME", help="Of your sweep; the file is NAME.py, here.")
]
_SearchFlag = Annotated[
    bool, typer.Option("--search", help="A search, in the place of listed arms.")
]
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


def new(name: _NewName, search: _SearchFlag = False) -> None:
    """Write a commented sweep file of your own that runs as it is."""
    from sweeps.execution.launch.writing.new_sweep import new_sweep

    path = new_sweep(name, is_search=search)
    has = "a base and a space" if search else "a base, arms, a routing, a loss and data of your own"
    typer.echo(f"The sweep is in {path}: {has}.")
    typer.echo(f"See what it would do: {program()} plan {path}")
    typer.echo(f"Run it, about a minute on two cores: {program()} run {path}")


@optioned(GridOptions.model_fields, {"base": _Base, "factors": _Factors}, _WORDS)
def grid(base: str, factors: list[str], options: Mapping[str, Any]) -> None:
    """Write a sweep file that varies settings of a base, and say what it would do."""
    from sweeps.cli.printing.plan import print_plan
    from sweeps.execution.launch.writing.grid import grid as write_grid

    written = write_grid(base, read_factors(factors), **options)
    typer.echo(f"The sweep is in {one_line(str(written.path))}.")
    print_plan(written.survey)
    _print_run(written.path, options)


@optioned(AblateOptions.model_fields, {"search": _Search}, _WORDS)
def ablate(search: str, options: Mapping[str, Any]) -> None:
    """Write a sweep file from a search's base to its winner, a change at a time, and plan it."""
    from sweeps.cli.printing.plan import print_plan
    from sweeps.execution.launch.writing.ablate import ablate as write_path

    written = write_path(search, **options)
    typer.echo(
        f"The sweep is in {one_line(str(written.path))}. It goes to {one_line(written.arm)}."
    )
    print_plan(written.survey)
    if written.num_finished:
        typer.echo(
            f"{written.num_finished} trainings of base and {one_line(written.arm)} on these seeds "
            f"are there already and will be reused."
        )
    _print_run(written.path, options)


def _print_run(path: Path, options: Mapping[str, Any]) -> None:
    if is_quiet():
        return
    place = where(options.get("storage"), options.get("tracking_uri"))
    typer.echo(f"Run it: {program()} run {one_line(shlex.quote(str(path)))}{place}")
