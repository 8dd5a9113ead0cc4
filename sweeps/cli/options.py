"""The options and arguments of the command line."""

from typing import Annotated

import typer

from sweeps.execution.driver.options import LaunchOptions

STORAGE_VARIABLE = "CAPSWEEP_STORAGE"
TRACKING_VARIABLE = "CAPSWEEP_TRACKING_URI"

SweepArgument = Annotated[
    str, typer.Argument(metavar="SWEEP", help="A named sweep, or the path of a file with one.")
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name of a launched sweep.")]
ReportedArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name of a launched sweep, or its file, which tables of its own need.",
    ),
]
LaunchedNameOption = Annotated[
    str | None,
    typer.Option("--name", help="What the file's sweep was launched as, if not by its name."),
]
StorageOption = Annotated[
    str | None,
    typer.Option(envvar=STORAGE_VARIABLE, help=LaunchOptions.model_fields["storage"].description),
]
TrackingOption = Annotated[
    str | None,
    typer.Option(
        envvar=TRACKING_VARIABLE, help=LaunchOptions.model_fields["tracking_uri"].description
    ),
]
PicturesOption = Annotated[
    bool, typer.Option("--pictures", help="Draw what its network draws, and how it routes.")
]
OutOption = Annotated[
    str, typer.Option(help="Where the pictures go, in a folder named by the trial key.")
]
