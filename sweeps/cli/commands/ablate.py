"""`capsweep ablate`."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sweeps.cli.commands.grid import FILE_SYNTAX, print_run_command
from sweeps.cli.completion import launched_sweeps
from sweeps.cli.declared_options import with_options
from sweeps.execution.launch.writing.options import AblateOptions
from sweeps.records.plain_text import one_line


@with_options(AblateOptions.model_fields, FILE_SYNTAX)
def ablate(
    search: Annotated[
        str,
        typer.Argument(
            metavar="SEARCH",
            help="The name or the file of a launched search.",
            autocompletion=launched_sweeps,
        ),
    ],
    options: Mapping[str, Any],
) -> None:
    """Write a sweep file that goes from a search's base to its winner step by step; plan it."""
    from sweeps.cli.commands.plan import print_plan
    from sweeps.execution.launch.writing.ablate import ablate as write_path

    written = write_path(search, options)
    arm = one_line(written.arm)
    typer.echo(f"The sweep is in {one_line(str(written.path))}. It goes to {arm}.")
    print_plan(written.survey)
    if written.num_finished:
        typer.echo(
            f"{written.num_finished} trainings of base and {arm} on these seeds are already done "
            f"and will be reused."
        )
    print_run_command(written.path)
