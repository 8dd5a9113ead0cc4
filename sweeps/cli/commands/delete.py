"""`capsweep delete`."""

from typing import TYPE_CHECKING, Annotated

import typer

from sweeps.cli.options import NameArgument, StorageOption, TrackingOption
from sweeps.cli.terminal import console, plain, say, table_of

if TYPE_CHECKING:
    from sweeps.execution.housekeeping.delete import Deleted


def delete(
    sweep: NameArgument,
    yes: Annotated[
        bool, typer.Option("--yes", help="Delete it; without --yes, only show what would go.")
    ] = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Show what would go with a sweep, and delete it with --yes; trials of other sweeps stay."""
    from sweeps.execution.housekeeping.delete import delete as delete_sweep

    deleted = delete_sweep(
        sweep, is_deleting=yes, storage_folder=storage, tracking_uri=tracking_uri
    )
    _print(deleted)
    raise typer.Exit(deleted.exit_code)


def _print(deleted: "Deleted") -> None:
    """Print what goes, by kind, what stays, and what is to be done next."""
    from sweeps.storage.disk_room import size_text

    out = console()
    table = table_of("what", "number", "size", numbers=2, elsewhere="")
    for kind in deleted.counts:
        size = "-" if kind.num_bytes is None else size_text(kind.num_bytes)
        table.add_row(kind.name, f"{kind.number:,}", size if kind.number else "-")
    out.print(table)
    for sentence in deleted.sentences:
        say(sentence)
    total = size_text(sum(kind.num_bytes or 0 for kind in deleted.counts))
    name = f"'{plain(deleted.sweep)}'"
    if not deleted.is_done:
        out.print(f"{name} would go, {total}: the same command with --yes deletes it.")
    elif deleted.exit_code:
        out.print(f"{name} is not deleted yet.")
    else:
        out.print(f"{name} is deleted: {total} are free.")
