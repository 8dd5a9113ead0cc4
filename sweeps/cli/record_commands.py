"""Commands that read what launches have recorded."""

from typing import Annotated

import typer

from sweeps.cli.answers.text import JsonOption, answer
from sweeps.cli.options import (
    LaunchedArgument,
    OutOption,
    PicturesOption,
    Place,
    StorageOption,
    TrackingOption,
    TrialArgument,
)


def status(
    name: LaunchedArgument = None,
    as_json: JsonOption = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Show how far a sweep is, arm by arm; without a name list all that were launched."""
    if name is None:
        _list(Place(tracking_uri, storage), as_json=as_json)
        return
    from sweeps.execution.survey.status import sweep_status

    told = sweep_status(name, tracking_uri, storage)
    if as_json:
        from sweeps.cli.answers.records import status_answer

        answer(status_answer(told))
        return
    from sweeps.cli.printing.console import print_status

    print_status(told)


def _list(place: Place, *, as_json: bool) -> None:
    """Tell of all sweeps that were launched."""
    from sweeps.execution.survey.listing import listed_sweeps

    listed = listed_sweeps(*place)
    if as_json:
        from sweeps.cli.answers.records import sweeps_answer

        answer(sweeps_answer(listed))
        return
    from sweeps.cli.printing.listing import print_listing

    print_listing(listed)


def show(
    trial: TrialArgument,
    pictures: PicturesOption = False,
    out: OutOption = "pictures",
    as_json: JsonOption = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Show one trial: its config, its curve, where its weights lie, and what they draw."""
    if pictures:
        _draw(trial, Place(tracking_uri, storage), out, as_json=as_json)
        return
    from sweeps.aggregation.trial_view import show as show_trial

    view = show_trial(trial, tracking_uri, storage)
    if as_json:
        from sweeps.cli.answers.records import show_answer

        answer(show_answer(view))
        return
    from sweeps.cli.printing.console import print_trial

    print_trial(view)


def _draw(trial: str, place: Place, out: str, *, as_json: bool) -> None:
    """Draw a trial's pictures, and say which."""
    from sweeps.aggregation.pictures.trial_pictures import pictures as draw

    drawn = draw(trial, *place, out=out)
    if as_json:
        from sweeps.cli.answers.records import pictures_answer

        answer(pictures_answer(drawn))
        return
    from sweeps.cli.printing.console import print_pictures

    print_pictures(drawn)


def ui(
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes a free one.")] = 5000,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Browse the records in MLflow's own UI, on this machine only."""
    from sweeps.tracking.mlflow.ui import serve

    serve(port, tracking_uri, storage)
