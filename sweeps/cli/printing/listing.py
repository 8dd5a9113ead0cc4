"""What `capsweep status` prints without a name: the launched sweeps."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sweeps.cli.printing.console import console, table_of
from sweeps.cli.program.speech import is_quiet
from sweeps.cli.terminal import plain
from sweeps.storage.disk_room import in_words

if TYPE_CHECKING:
    from sweeps.execution.survey.listing import ListedSweep

_UNITS = ((172_800, 86_400, "days"), (3600, 3600, "h"), (60, 60, "min"))


def print_listing(listed: "Sequence[ListedSweep]") -> None:
    """Print a line a sweep, and why any cannot be read."""
    out = console()
    if not listed:
        out.print("No sweep was launched yet.")
        return
    has_failed = any(one.num_failed for one in listed)
    headings = ["sweep", "state", "cells", *["failed"] * has_failed, "size", "last told of"]
    giving = ("size", "last told of", "failed")
    table = table_of(*headings, numbers=len(headings) - 2, giving=giving)
    for one in listed:
        failed = [str(one.num_failed or "")] * has_failed
        size = "-" if one.num_bytes is None else in_words(one.num_bytes)
        cells = f"{one.num_filled:,} of {one.num_cells:,}" if one.num_cells else "-"
        table.add_row(plain(one.sweep), one.state, cells, *failed, size, ago(one.last_at))
    out.print(table)
    for one in listed:
        if one.complaint:
            out.print(f"{plain(one.sweep)}: {plain(one.complaint)}", soft_wrap=True)
    if not is_quiet():
        out.print("\nHow far one of them is: capsweep status NAME.")


def ago(moment: float | None, now: float | None = None) -> str:
    """Return how long ago a moment was: "3 h ago", "-" where it is not known.

    Args:
        moment: In seconds since 1970.
        now: Likewise; None takes the clock.
    """
    if moment is None:
        return "-"
    seconds = (time.time() if now is None else now) - moment
    for least, size, unit in _UNITS:
        if seconds >= least:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"
