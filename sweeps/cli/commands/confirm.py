"""`capsweep confirm`."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sweeps.cli.commands.grid import FILE_SYNTAX, print_run_command
from sweeps.cli.completion import launched_sweeps
from sweeps.cli.declared_options import OptionSyntax, with_options
from sweeps.execution.launch.writing.options import ConfirmOptions
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line


def _read_number(option: str, text: str) -> int:
    """Return how many seeds are asked for.

    Raises:
        BadInput: If it is no number, such as a list of seeds.
    """
    if not re.fullmatch("[0-9]{1,9}", text):
        raise BadInput(
            f"{option} of confirm takes how many fresh seeds there are to be, such as 5, got "
            f"'{text}': it chooses seeds that the sweep has not used."
        )
    return int(text)


_SYNTAX = {
    **FILE_SYNTAX,
    "seeds": OptionSyntax("--seeds", metavar="NUMBER", annotation=str, read=_read_number),
}


@with_options(ConfirmOptions.model_fields, _SYNTAX)
def confirm(
    sweep: Annotated[
        str,
        typer.Argument(
            metavar="SWEEP",
            help="The name or the file of a launched sweep.",
            autocompletion=launched_sweeps,
        ),
    ],
    options: Mapping[str, Any],
) -> None:
    """Write a sweep file that trains a sweep's winner on fresh seeds, beside its baseline; plan it.

    The winner is the first arm of `capsweep best`: the best by validation.
    """
    from sweeps.cli.commands.plan import print_plan
    from sweeps.execution.launch.writing.confirm import confirm as write_confirmation

    written = write_confirmation(sweep, options)
    winner, path = written.winner, one_line(str(written.path))
    typer.echo(f"The sweep is in {path}. {one_line(winner.name)} is {winner.role}.")
    if winner.num_open:
        typer.echo(
            f"{winner.num_open:,} trainings of that sweep have not ended, so another arm may "
            f"become its best."
        )
    print_plan(written.survey)
    print_run_command(written.path)
