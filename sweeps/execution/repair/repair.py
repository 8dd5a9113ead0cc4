"""Repair of a storage folder and its tracking store after damage or loss.

Nothing is overwritten: damaged files are archived. Intact files stay as they are, so a second
repair does nothing. Lost folders of cells need no repair: a record is enough for its cell to count
as filled.
"""

from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.launch_process.launch_lock import existing_places, make_folders, sweep_lock
from sweeps.execution.repair.sweep_repair import SweepRepair
from sweeps.execution.sweep_log import ENDING, is_launching, known_sweeps, locked_names, repair_log
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import is_locked
from sweeps.storage.folder import Folder, in_storage
from sweeps.storage.locations import Storage
from sweeps.storage.sqlite_file import archive_file, find_damage
from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.mlflow.connection import OlderSchema, check_database, may_exist
from sweeps.tracking.opening import open_store


def archive_damaged(storage: Storage, tracking_uri: str) -> list[str]:
    """Archive damaged logs, queues and an embedded tracking store. Returns a sentence for each.

    Files in use are not touched. Of a log the intact lines before the damage stay.
    """
    sentences = [
        sentence
        for path in sorted(storage.journals.glob(f"*{ENDING}"))
        if not is_launching(storage.journals, path.stem) and (sentence := repair_log(path))
    ]
    store = sqlite_path(tracking_uri)
    journals = in_storage(storage.journals)
    files = [(journals, name) for name in journals.names() if name.endswith(".db")]
    files += [(Folder(store.parent), store.name)] if store and store.is_file() else []
    for folder, name in files:
        if is_locked(folder, str(Path(name).with_suffix(".lock"))):
            continue
        if why := find_damage(folder, name):
            aside = archive_file(folder, name)
            sentences.append(
                f"{folder.path / name} was damaged ({why}): it was archived as {aside.name}."
            )
    return sentences


def upgraded(tracking_uri: str, storage: Storage) -> list[str]:
    """Bring a database of an older MLflow up to date; return a sentence if there was one.

    Raises:
        BadInput: If that cannot be, or it is no store, or a process may be writing to it.
    """
    path = sqlite_path(tracking_uri)
    if path is None or not may_exist(tracking_uri):
        return []
    try:
        check_database(path)
    except OlderSchema as older:
        if running := sorted(locked_names(storage.journals)):
            raise BadInput(
                f"{path} is of an older MLflow, and is brought up to date only while nothing runs "
                f"over {storage.root}: wait for {running[0]} to end."
            ) from older
        from sweeps.tracking.mlflow.database import upgrade_database  # MLflow takes long to import

        return [upgrade_database(path, older.version)]
    return []


@dataclass(frozen=True)
class Repaired:
    """The result of a repair.

    Attributes:
        sentences: One for each thing that was repaired.
        exit_code: 0, or 3 if something could not be repaired.
    """

    sentences: tuple[str, ...]
    exit_code: int


def repair(
    sweep: str | None = None,
    storage_folder: str | Path | None = None,
    tracking_uri: str | None = None,
) -> Repaired:
    """Repair what was lost or damaged in a storage folder or its tracking store.

    Args:
        sweep: The sweep to repair; None for all that the storage folder and the store know.
        storage_folder: By default `CAPSWEEP_STORAGE` or ./capsweep-store.
        tracking_uri: By default `CAPSWEEP_TRACKING_URI` or in the storage.

    Raises:
        BadInput: If there is no such sweep or storage folder.
        StoreUnreachable: If the tracking store does not answer.
    """
    storage, address = existing_places(storage_folder, tracking_uri)
    store = open_store(address, storage.root)
    make_folders(storage)
    sentences = archive_damaged(storage, address)  # before the store is used
    sentences += upgraded(address, storage)
    known = known_sweeps(sweep, storage, store)
    is_whole = True
    for name in [sweep] if sweep else known:
        if is_launching(storage.journals, name):
            sentences.append(f"'{name}' is being run, and was left alone.")
            continue
        with sweep_lock(name, storage):
            sweep_repair = SweepRepair(storage, store, name)
            sentences += sweep_repair.run()
            is_whole &= sweep_repair.is_whole
    return Repaired(tuple(sentences), 0 if is_whole else 3)
