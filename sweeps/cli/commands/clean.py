"""`capsweep clean`."""

from typing import TYPE_CHECKING, Annotated

import typer

from sweeps.cli.arguments import read_duration
from sweeps.cli.completion import launched_sweeps
from sweeps.cli.options import StorageOption, TrackingOption, launched_name
from sweeps.cli.terminal import console, say, table_of

if TYPE_CHECKING:
    from sweeps.execution.housekeeping.clean import Cleaned


def clean(
    sweep: Annotated[
        str | None,
        typer.Argument(
            metavar="[SWEEP]",
            help="Only the cells of this sweep, its name or file [default: all].",
            callback=launched_name,
            autocompletion=launched_sweeps,
        ),
    ] = None,
    *,
    older_than: Annotated[
        str | None,
        typer.Option(help="Only files not written to for this long: 12h, 30d."),
    ] = None,
    states: Annotated[
        bool,
        typer.Option("--states", help="Also what longer trainings may go on from."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete them; without --yes, only show them.")
    ] = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Show which files nothing needs, and delete them with --yes; never what a table needs."""
    from sweeps.execution.housekeeping.clean import clean as clean_storage

    cleaned = clean_storage(
        sweep,
        older_than_seconds=read_duration("--older-than", older_than) or 0.0,
        is_freeing=yes,
        with_states=states,
        storage_folder=storage,
        tracking_uri=tracking_uri,
    )
    _print(cleaned)
    raise typer.Exit(cleaned.exit_code)


def _print(cleaned: "Cleaned") -> None:
    """Print what would be freed, or was, by kind."""
    from sweeps.execution.housekeeping.leftovers import Kind
    from sweeps.storage.disk_room import size_text

    out = console()
    table = table_of("what", "number", "size", numbers=2, elsewhere="")
    for kind in Kind:
        sizes = [leftover.num_bytes for leftover in cleaned.leftovers if leftover.kind is kind]
        if sizes:
            table.add_row(kind.value, f"{len(sizes):,}", size_text(sum(sizes)))
    if cleaned.leftovers:
        out.print(table)
    for sentence in cleaned.sentences:
        say(sentence)
    total = size_text(sum(leftover.num_bytes for leftover in cleaned.leftovers))
    if not cleaned.leftovers:
        out.print("Nothing was freed." if cleaned.is_freed else "There is nothing to free.")
    elif cleaned.is_freed:
        out.print(f"{total} are free.")
    else:
        out.print(f"{total} would be free: the same command with --yes frees them.")
