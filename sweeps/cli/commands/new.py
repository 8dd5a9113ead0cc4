"""`capsweep new`."""

from typing import Annotated

import typer

from sweeps.records.suggested_command import SuggestedCommand

_CONTENTS = {
    "design": "a base, arms, a routing, a loss and data of your own",
    "search": "a base and a space",
    "model": "a base, arms, and a network of your own",
}


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of your sweep; the file is ./NAME.py.")
    ],
    search: Annotated[
        bool, typer.Option("--search", help="Write a search instead of listed arms.")
    ] = False,
    model: Annotated[
        bool,
        typer.Option("--model", help="Write a sweep that compares your network with capsules."),
    ] = False,
) -> None:
    """Write a commented sweep file that runs as it is."""
    from sweeps.execution.launch.writing.new_sweep import Example, new_sweep
    from sweeps.records.errors import BadInput

    if search and model:
        raise BadInput("--search and --model write different files: leave one of them out.")
    example: Example = "search" if search else "model" if model else "design"
    path = new_sweep(name, example)
    typer.echo(f"The sweep is in {path}: {_CONTENTS[example]}.")
    typer.echo(f"See what it would do: {SuggestedCommand('plan', str(path))}")
    typer.echo(f"Run it, about a minute on two cores: {SuggestedCommand('run', str(path))}")
