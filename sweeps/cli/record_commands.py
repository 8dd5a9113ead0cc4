"""Commands that read what launches have recorded."""

from typing import Annotated

import typer

from sweeps.cli.options import (
    NameArgument,
    OutOption,
    PicturesOption,
    StorageOption,
    TrackingOption,
    TrialArgument,
)


def status(
    name: NameArgument, storage: StorageOption = None, tracking_uri: TrackingOption = None
) -> None:
    """Show how far a sweep is: what is finished, running, failed or missing, arm by arm."""
    from sweeps.cli.printing.console import print_status
    from sweeps.execution.driver.status import sweep_status

    print_status(sweep_status(name, tracking_uri, storage))


def best(
    name: NameArgument,
    count: Annotated[int, typer.Option("--count", "-n", help="How many arms.")] = 10,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Rank a sweep's arms by mean last-epoch validation error; of two objectives their front."""
    from sweeps.aggregation.best_words import ranking_words
    from sweeps.aggregation.query import ranked_configs, refuse_count
    from sweeps.cli.printing.console import print_best

    refuse_count(count)
    ranking = ranked_configs(name, tracking_uri, storage)
    print_best(ranking.configs[:count], ranking_words(name, ranking))


def show(
    trial: TrialArgument,
    pictures: PicturesOption = False,
    out: OutOption = "pictures",
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Show one trial: its config, its curve, where its weights lie, and what they draw."""
    from sweeps.cli.printing.console import print_pictures, print_trial

    if pictures:
        from sweeps.aggregation.pictures.trial_pictures import pictures as draw

        print_pictures(draw(trial, tracking_uri, storage, out))
        return
    from sweeps.aggregation.trial_view import show as show_trial

    print_trial(show_trial(trial, tracking_uri, storage))


def ui(
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes a free one.")] = 5000,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Browse the records in MLflow's own UI, on this machine only."""
    from sweeps.tracking.mlflow.dashboard import serve

    serve(port, tracking_uri, storage)
