"""The command that makes good what an accident has left."""

from typing import Annotated

import typer

from sweeps.cli.options import StorageOption, TrackingOption


def repair(
    sweep: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One sweep [default: all of them].")
    ] = None,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Rebuild what was lost or damaged: records from folders, journals; say what was done."""
    from sweeps.cli.console import print_repaired
    from sweeps.execution.repair.repair import repair as repair_store

    repaired = repair_store(sweep, storage, tracking_uri)
    print_repaired(repaired.sentences)
    raise typer.Exit(repaired.exit_code)
