"""Deleting a sweep: said first, done only where it is asked for.

Never touched are trials that another sweep holds, and what lies outside the storage folder. Killed
at any point, it does the rest when it is given again: what tells of the sweep goes last.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.driver.launch_guards import existing_places, make_folders
from sweeps.execution.housekeeping.doomed import Counted, Doomed, counted, doomed
from sweeps.execution.housekeeping.needs import held_sweeps
from sweeps.execution.housekeeping.removing import remove
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import is_locked
from sweeps.storage.locations import Storage
from sweeps.tracking.addresses import public, sqlite_path
from sweeps.tracking.opening import open_store


@dataclass(frozen=True)
class Deleted:
    """What goes with a sweep, or has gone.

    Attributes:
        is_done: Whether it was asked for, not only to be told.
        counts: By kind.
        sentences: What stays, and why.
        exit_code: 0, or 3 where something could not be deleted.
    """

    sweep: str
    is_done: bool
    counts: tuple[Counted, ...]
    sentences: tuple[str, ...]
    exit_code: int = 0


def delete(
    sweep: str,
    *,
    is_deleting: bool = False,
    storage_folder: str | Path | None = None,
    tracking_uri: str | None = None,
) -> Deleted:
    """Say what would go with a sweep, and delete it where that is asked for.

    Args:
        sweep: Its name.
        is_deleting: Whether it is done. While that lasts, no known sweep can be launched.
        storage_folder: By default `CAPSWEEP_STORAGE` or ./capsweep-store.
        tracking_uri: By default `CAPSWEEP_TRACKING_URI` or in the storage.

    Raises:
        BadInput: If there is no such sweep or storage folder, a launch runs there, or it is not
            known which trials other sweeps hold.
        StoreUnreachable: If the tracking store does not answer.
    """
    storage, address = existing_places(storage_folder, tracking_uri)
    store = open_store(address, storage.root)
    with ExitStack() as locks:
        known = held_sweeps(sweep, storage, store, None)
        journals = storage.journals
        _refuse_launches(sweep, storage, [p.stem for p in journals.glob("*.lock") if is_locked(p)])
        if is_deleting:
            make_folders(storage)
            known = held_sweeps(sweep, storage, store, locks)
            _refuse_launches(sweep, storage, [name for name, is_run in known.items() if is_run])
        going = doomed(sweep, known.keys() - {sweep}, storage, store)
        counts = tuple(counted(going, sweep, storage, store))
        told = _what_stays(sweep, going, address)
        if storage.replaced.is_dir():
            told = ("What --fresh put aside of these trials goes too, and is not counted.", *told)
        if not is_deleting:
            return Deleted(sweep, False, counts, told)
        complaints = remove(sweep, going, storage, store)
    return Deleted(sweep, True, counts, (*told, *complaints), 3 if complaints else 0)


def _refuse_launches(sweep: str, storage: Storage, running: Sequence[str]) -> None:
    """Refuse while anything runs: a launch that has just begun takes over trials that it finds.

    Raises:
        BadInput: Naming it.
    """
    if sweep in running:
        raise BadInput(
            f"'{sweep}' is being run over {storage.root}, so nothing was deleted: wait for it to "
            f"end, or end it by capsweep stop {sweep}."
        )
    if running:
        raise BadInput(
            f"'{running[0]}' is at work over {storage.root} and may take over trials of '{sweep}', "
            f"so nothing was deleted: wait for it to end."
        )


def _what_stays(sweep: str, going: Doomed, address: str) -> tuple[str, ...]:
    told: list[str] = []
    if going.held:
        names = sorted(going.held)
        others = ", ".join(f"'{name}'" for name in names[:3]) + " and others" * (len(names) > 3)
        is_one = going.num_held == 1
        told.append(
            f"{going.num_held} of its trials {'stays' if is_one else 'stay'}, record and cell, as "
            f"other sweeps hold {'it' if is_one else 'them'}: {others}."
        )
    reports = Path("reports", sweep)
    there = f", such as those in {reports}" if reports.is_dir() else ""
    where = "the store" if sqlite_path(address) else public(address)
    told.append(
        f"Records are marked as deleted in {where}, as in MLflow's own UI: `mlflow gc` frees them. "
        f"Reports outside of the storage folder stay{there}."
    )
    return tuple(told)
