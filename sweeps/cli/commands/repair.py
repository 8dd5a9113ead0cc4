"""`capsweep repair`."""

from typing import Annotated

import typer

from sweeps.cli.completion import launched_sweeps
from sweeps.cli.options import StorageOption, TrackingOption, launched_name
from sweeps.cli.terminal import say


def repair(
    sweep: Annotated[
        str | None,
        typer.Argument(
            metavar="[SWEEP]",
            help="One sweep, its name or file [default: all].",
            callback=launched_name,
            autocompletion=launched_sweeps,
        ),
    ] = None,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Rebuild lost or damaged records and logs from the cells' folders; say what was done."""
    from sweeps.execution.repair.repair import repair as repair_store

    repaired = repair_store(sweep, storage, tracking_uri)
    for sentence in repaired.sentences or ("All is whole: nothing was changed.",):
        say(sentence)
    raise typer.Exit(repaired.exit_code)
