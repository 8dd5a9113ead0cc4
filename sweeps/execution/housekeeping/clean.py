"""Freeing what nothing needs: said first, done only where it is asked for.

Never touched is what a table is made of: final records, weights, predictions, outboxes, artifacts,
journals, manifests, evaluations. Nothing of a cell that a trial holds is looked at, nor of a sweep
that is being run.
"""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.driver.launch_guards import existing_places
from sweeps.execution.housekeeping.freeing import free
from sweeps.execution.housekeeping.leftovers import Leftover, untouched_since
from sweeps.execution.housekeeping.looking import look
from sweeps.execution.housekeeping.needs import held_sweeps, needs_of
from sweeps.tracking.opening import open_store


@dataclass(frozen=True)
class Cleaned:
    """What may be freed, or what was.

    Attributes:
        leftovers: Each thing.
        is_freed: Whether they were deleted.
        sentences: What was left alone, and why.
        exit_code: 0, or 3 where something could not be deleted.
    """

    leftovers: tuple[Leftover, ...]
    is_freed: bool
    sentences: tuple[str, ...]
    exit_code: int


def clean(
    sweep: str | None = None,
    *,
    older_than_seconds: float = 0.0,
    is_freeing: bool = False,
    storage_folder: str | Path | None = None,
    tracking_uri: str | None = None,
) -> Cleaned:
    """Say what nothing in a storage folder needs, and free it where that is asked for.

    Args:
        sweep: Its name: only its cells are looked at. None is all that the storage folder holds.
        older_than_seconds: Only what has not been written to for so long.
        is_freeing: Whether it is deleted. While that lasts, the sweeps cannot be launched.
        storage_folder: By default `CAPSWEEP_STORAGE` or ./capsweep-store.
        tracking_uri: By default `CAPSWEEP_TRACKING_URI` or in the storage.

    Raises:
        BadInput: If there is no such sweep or storage folder.
        StoreUnreachable: If the tracking store does not answer.
    """
    storage, address = existing_places(storage_folder, tracking_uri)
    store = open_store(address, storage.root)
    with ExitStack() as locks:
        sweeps = held_sweeps(sweep, storage, store, locks if is_freeing else None)
        needs, told = needs_of(sweep, sweeps, storage, store)
        found = untouched_since(look(storage, store, needs), time.time() - older_than_seconds)
        if not is_freeing:
            return Cleaned(tuple(found), is_freed=False, sentences=told, exit_code=0)
        freed = free(found)
    code = 3 if freed.complaints else 0
    return Cleaned(freed.leftovers, True, (*told, *freed.complaints), code)
