"""`capsweep grid`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sweeps.cli.arguments import read_factors
from sweeps.cli.completion import known_sweeps
from sweeps.cli.declared_options import SYNTAX, OptionSyntax, with_options
from sweeps.cli.verbosity import is_quiet
from sweeps.execution.launch.writing.options import GridOptions
from sweeps.records.plain_text import one_line
from sweeps.records.suggested_command import SuggestedCommand

FILE_SYNTAX: Mapping[str, OptionSyntax] = {
    **SYNTAX,
    "design": OptionSyntax(metavar="full|one_factor|fractional|plackett_burman", annotation=str),
    "out": OptionSyntax(metavar="FILE"),
}


@with_options(GridOptions.model_fields, FILE_SYNTAX)
def grid(
    base: Annotated[
        str,
        typer.Argument(
            metavar="BASE",
            help="The sweep whose base is varied, by name or file.",
            autocompletion=known_sweeps,
        ),
    ],
    factors: Annotated[
        list[str],
        typer.Argument(metavar="PATH=LEVEL,LEVEL...", help="A setting and its levels."),
    ],
    options: Mapping[str, Any],
) -> None:
    """Write a sweep file that varies settings of a base, and show what it would do."""
    from sweeps.cli.commands.plan import print_plan
    from sweeps.execution.launch.writing.grid import grid as write_grid

    path, survey = write_grid(base, read_factors(factors), options)
    typer.echo(f"The sweep is in {one_line(str(path))}.")
    print_plan(survey)
    print_run_command(path)


def print_run_command(path: Path) -> None:
    """Print the command that runs a written file."""
    if not is_quiet():
        typer.echo(f"Run it: {one_line(str(SuggestedCommand('run', str(path))))}")
