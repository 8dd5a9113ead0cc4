"""Repairing what an accident has left: a pure look would not do, so each step does and tells.

Nothing is overwritten: damaged files are put aside, rows are rewritten after a copy. What is whole
is left as it is, so that a second repair does nothing. Folders of cells that are lost need none: a
record is enough for its cell to count as filled.
"""

from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.driver.launch_guards import existing_places, make_folders, only_driver
from sweeps.execution.recorder.known_sweeps import known_sweeps
from sweeps.execution.repair.files import put_damaged_aside, rewrite_recorded_places
from sweeps.execution.repair.sweep_repair import SweepRepair
from sweeps.storage.file_lock import is_locked
from sweeps.tracking.opening import open_store


@dataclass(frozen=True)
class Repaired:
    """What a repair has done.

    Attributes:
        sentences: A sentence for each thing, none where all was whole.
        exit_code: 0, or 3 where something could not be repaired.
    """

    sentences: tuple[str, ...]
    exit_code: int


def repair(
    sweep: str | None = None,
    storage_folder: str | Path | None = None,
    tracking_uri: str | None = None,
) -> Repaired:
    """Make good what was lost or damaged in a storage folder or its tracking store.

    Args:
        sweep: Its name; None is all that the storage folder and the store know.
        storage_folder: By default `CAPSWEEP_STORAGE` or ./capsweep-store.
        tracking_uri: By default `CAPSWEEP_TRACKING_URI` or in the storage.

    Raises:
        BadInput: If there is no such sweep or storage folder.
        StoreUnreachable: If the tracking store does not answer.
    """
    storage, address = existing_places(storage_folder, tracking_uri)
    store = open_store(address, storage.root)
    make_folders(storage)
    told = put_damaged_aside(storage, address)  # before the store is asked
    known = known_sweeps(sweep, storage, store)
    is_whole = True
    for name in [sweep] if sweep else known:
        if is_locked(storage.journals / f"{name}.lock"):
            told.append(f"'{name}' is being run, and was left alone.")
            continue
        with only_driver(name, storage):
            one = SweepRepair(storage, store, name)
            told += one.run()
            is_whole &= one.is_whole
    told += rewrite_recorded_places(storage, address)
    return Repaired(tuple(told), 0 if is_whole else 3)
