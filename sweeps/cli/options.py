"""The options and arguments of the command line."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from sweeps.cli.program.completion import known_sweeps, launched_sweeps, trial_keys
from sweeps.execution.launch_options import LaunchOptions

STORAGE_VARIABLE = "CAPSWEEP_STORAGE"
TRACKING_VARIABLE = "CAPSWEEP_TRACKING_URI"

SweepArgument = Annotated[
    str,
    typer.Argument(
        metavar="SWEEP",
        help="A named sweep, or the path of a file with one.",
        autocompletion=known_sweeps,
    ),
]
NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="Name of a launched sweep.", autocompletion=launched_sweeps
    ),
]
ReportedArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="Name of a launched sweep, or its file, which tables of its own need.",
        autocompletion=launched_sweeps,
    ),
]
MaybeNameArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="One sweep [default: all of them].", autocompletion=launched_sweeps
    ),
]
LaunchedArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help="Name of a launched sweep [default: lists all].",
        autocompletion=launched_sweeps,
    ),
]
TrialArgument = Annotated[
    str,
    typer.Argument(help="The beginning of a trial key, or a run id.", autocompletion=trial_keys),
]
LaunchedNameOption = Annotated[
    str | None,
    typer.Option("--name", help="What the file's sweep was launched as, if not by its name."),
]
CheckOption = Annotated[
    bool,
    typer.Option(
        "--check",
        help="Write nothing; exit with 1 if files no longer follow from the records.",
    ),
]
CompareOption = Annotated[
    str | None,
    typer.Option(
        "--compare",
        metavar="OTHER",
        autocompletion=launched_sweeps,
        help="Set another launched sweep beside it, arm by arm, instead of the report.",
    ),
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
EffectOption = Annotated[
    float | None,
    typer.Option(
        "--effect",
        metavar="POINTS",
        help="Say how many seeds and test images it takes to find such a difference of test "
        "errors in every arm.",
    ),
]
PowerOption = Annotated[
    float | None,
    typer.Option("--power", help="With --effect: how often each is to be found [default: 0.8]."),
]
PicturesOption = Annotated[
    bool, typer.Option("--pictures", help="Draw what its network draws, and how it routes.")
]
OutOption = Annotated[
    str, typer.Option(help="Where the pictures go, in a folder named by the trial key.")
]
StyleOption = Annotated[
    str | None,
    typer.Option("--style", help="'paper' adds the arms as a paper prints them: mean ± sd (n)."),
]


class Place(NamedTuple):
    """Where records are.

    Attributes:
        tracking_uri: Of the tracking store.
        storage: The storage folder.
    """

    tracking_uri: str | None
    storage: str | None


def placed(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the two options that say where records are, for its argument `place`."""
    own = [each for each in inspect.signature(command).parameters.values() if each.name != "place"]
    option = functools.partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY, default=None)
    where = [
        option("storage", annotation=StorageOption),
        option("tracking_uri", annotation=TrackingOption),
    ]

    @functools.wraps(command)
    def with_place(**given: Any) -> None:
        place = Place(given.pop("tracking_uri"), given.pop("storage"))
        command(**given, place=place)

    with_place.__signature__ = inspect.Signature([*own, *where])  # pyright: ignore
    with_place.__annotations__ = {each.name: each.annotation for each in (*own, *where)}
    return with_place
