"""`capsweep diff`."""

from typing import Annotated

import typer

from sweeps.cli.completion import sweeps_and_trials
from sweeps.cli.json_output import JsonOption, print_json
from sweeps.cli.options import StorageOption, TrackingOption, launched_name
from sweeps.cli.terminal import console


def diff(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="A launched sweep, its name or its file, or the beginning of a trial key.",
            callback=launched_name,
            autocompletion=sweeps_and_trials,
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(
            metavar="B",
            help="Another sweep, or another trial.",
            callback=launched_name,
            autocompletion=sweeps_and_trials,
        ),
    ],
    *,
    as_json: JsonOption = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Compare two trials, or two sweeps: settings that differ, and results."""
    from sweeps.aggregation.comparison.diff import diff as differences

    difference = differences(first, second, tracking_uri, storage)
    if as_json:
        from sweeps.cli.answers import DiffAnswer

        print_json(DiffAnswer.of(difference))
        return
    from sweeps.aggregation.rendering.renderers import for_terminal

    for part in for_terminal([difference.table], elsewhere="--json"):
        console().print(part)
