"""The arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from sweeps.cli.completion import known_sweeps, launched_sweeps
from sweeps.records.errors import BadInput

STORAGE_VARIABLE = "CAPSWEEP_STORAGE"
TRACKING_VARIABLE = "CAPSWEEP_TRACKING_URI"


def launched_name(ctx: typer.Context, word: str | None) -> str | None:
    """Return the name of the sweep that a word names, or whose file it is; no code is run.

    Raises:
        BadInput: If it is a file that cannot be read, or that does not say its sweep's name.
    """
    return word if ctx.resilient_parsing else name_of(word)


def name_of(word: str | None) -> str | None:
    """Return the same outside of a callback.

    Raises:
        BadInput: As `launched_name` does.
    """
    from search_spaces.sweep_source import is_file_name, name_of_sweep

    if word is None or not is_file_name(word):
        return word
    try:
        return name_of_sweep(Path(word))
    except ValueError as error:
        raise BadInput(str(error)) from error


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
        metavar="SWEEP",
        help="Name of a launched sweep, or its file.",
        callback=launched_name,
        autocompletion=launched_sweeps,
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
