"""The options and arguments of the command line."""

from typing import Annotated

import typer

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
    typer.Option(envvar="CAPSWEEP_STORAGE", help="Storage folder [default: ./capsweep-store]."),
]
TrackingOption = Annotated[
    str | None,
    typer.Option(
        envvar="CAPSWEEP_TRACKING_URI",
        help="MLflow tracking store [default: the SQLite file in the storage folder].",
    ),
]
RenameOption = Annotated[str | None, typer.Option("--name", help="Record it under this name.")]
SeedsOption = Annotated[
    str | None, typer.Option(help="Seeds instead of the sweep's: a list and ranges, 0,1,2 or 0-4.")
]
AddSeedsOption = Annotated[
    str | None, typer.Option(help="Seeds besides those that the launched sweep has.")
]
EpochsOption = Annotated[
    int | None,
    typer.Option(
        help="Epochs of a full training: stopping.epochs, or stopping.max_epochs where a training "
        "ends with a target."
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Change a setting of every arm."),
]
CpusOption = Annotated[int, typer.Option(help="Cores and threads of each trial.")]
GpusOption = Annotated[
    float | None, typer.Option(help="GPUs of each trial [default: 1 where Ray sees one, else 0].")
]
ConcurrentOption = Annotated[
    int | None, typer.Option(help="Trials at once at most [default: as many as fit now].")
]
LimitOption = Annotated[
    str | None, typer.Option(help="End as Ctrl-C does after this time: 90s, 30m, 2h, 1h30m.")
]
AddressOption = Annotated[
    str | None, typer.Option(help="A running Ray cluster [default: start Ray here].")
]
CheckpointingOption = Annotated[
    bool,
    typer.Option(
        "--gradient-checkpointing",
        help="Less memory for more time, and the same results: a run's choice, no setting.",
    ),
]
FreshOption = Annotated[
    bool, typer.Option("--fresh", help="Put what was trained aside and train all of it anew.")
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Let this launch drop cells that the sweep had.")
]
TrialsOption = Annotated[int | None, typer.Option(help="Proposals of a search.")]
SamplerOption = Annotated[
    str | None, typer.Option(help="Of a search: tpe, random, gp, grid or qmc.")
]
SchedulerOption = Annotated[str | None, typer.Option(help="Of a search: none, asha or median.")]
KeepWeightsOption = Annotated[
    str,
    typer.Option(metavar="all|best:K|none", help="Weights that are kept when the sweep has ended."),
]
PicturesOption = Annotated[
    bool, typer.Option("--pictures", help="Draw what its network draws, and how it routes.")
]
OutOption = Annotated[
    str, typer.Option(help="Where the pictures go, in a folder named by the trial key.")
]
