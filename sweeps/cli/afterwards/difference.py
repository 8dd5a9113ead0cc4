"""In what two trials, or two sweeps, differ."""

from typing import Annotated

import typer

from sweeps.cli.answers.text import JsonOption, answer
from sweeps.cli.options import StorageOption, TrackingOption
from sweeps.cli.program.completion import sweeps_and_trials


def diff(
    first: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="Name of a launched sweep, or the beginning of a trial key.",
            autocompletion=sweeps_and_trials,
        ),
    ],
    second: Annotated[
        str,
        typer.Argument(
            metavar="B", help="Another of the same sort.", autocompletion=sweeps_and_trials
        ),
    ],
    as_json: JsonOption = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Hold two trials, or two sweeps, against each other: settings that differ, and results."""
    from sweeps.aggregation.comparison.diff import diff as held_against

    differing = held_against(first, second, tracking_uri, storage)
    if as_json:
        from sweeps.cli.answers.records import diff_answer

        answer(diff_answer(differing))
        return
    from sweeps.aggregation.rendering.renderers import for_terminal
    from sweeps.cli.printing.console import console

    for shown in for_terminal([differing.table], elsewhere="--json"):
        console().print(shown)
