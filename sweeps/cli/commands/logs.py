"""`capsweep logs`."""

from typing import Annotated

import typer

from sweeps.cli.completion import sweeps_and_trials
from sweeps.cli.options import StorageOption, TrackingOption
from sweeps.records.errors import BadInput


def logs(
    name: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL",
            help="The beginning of a trial key, a run id, or the name of a launched sweep.",
            autocompletion=sweeps_and_trials,
        ),
    ],
    *,
    is_followed: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow the log until the end, or Ctrl-C.")
    ] = False,
    lines: Annotated[
        int | None, typer.Option("--lines", "-n", help="Number of last lines [default: all].")
    ] = None,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Print the log of a trial, or of a sweep's launches."""
    from sweeps.execution.launch_process.logs import find_log

    if lines is not None and lines < 1:
        raise BadInput(f"--lines takes a number of lines of at least 1, given was {lines}.")
    is_empty = True
    for text in find_log(name, storage, tracking_uri).texts(lines, is_followed=is_followed):
        typer.echo(text, nl=False)
        is_empty = is_empty and not text
    if is_empty:
        typer.echo("The log is empty: nothing was printed.", err=True)
