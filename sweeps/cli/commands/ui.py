"""`capsweep ui`."""

from typing import Annotated

import typer

from sweeps.cli.options import StorageOption, TrackingOption


def ui(
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes a free one.")] = 5000,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Browse the records in MLflow's own UI, on this machine only."""
    from sweeps.tracking.mlflow.ui import serve

    serve(port, tracking_uri, storage)
