"""The arguments and options that several commands take."""

from typing import Annotated

import typer

from sweeps.cli.completion import known_sweeps, launched_sweeps

STORAGE_VARIABLE = "CAPSWEEP_STORAGE"
TRACKING_VARIABLE = "CAPSWEEP_TRACKING_URI"

SweepArgument = Annotated[
    str,
    typer.Argument(
        metavar="SWEEP",
        help="A sweep's name, or the path of its file.",
        autocompletion=known_sweeps,
    ),
]
NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Name of a launched sweep.", autocompletion=launched_sweeps
    ),
]
StorageOption = Annotated[
    str | None,
    typer.Option(envvar=STORAGE_VARIABLE, help="Storage folder [default: ./capsweep-store]."),
]
TrackingOption = Annotated[
    str | None,
    typer.Option(
        envvar=TRACKING_VARIABLE,
        help="MLflow tracking store [default: the SQLite file in the storage folder].",
    ),
]
