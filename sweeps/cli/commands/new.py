"""`capsweep new`."""

from typing import Annotated

import typer

from sweeps.cli.hints import program_name


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of your sweep; the file is ./NAME.py.")
    ],
    search: Annotated[
        bool, typer.Option("--search", help="Write a search instead of listed arms.")
    ] = False,
) -> None:
    """Write a commented sweep file that runs as it is."""
    from sweeps.execution.launch.writing.new_sweep import new_sweep

    path = new_sweep(name, is_search=search)
    has = "a base and a space" if search else "a base, arms, a routing, a loss and data of your own"
    typer.echo(f"The sweep is in {path}: {has}.")
    typer.echo(f"See what it would do: {program_name()} plan {path}")
    typer.echo(f"Run it, about a minute on two cores: {program_name()} run {path}")
