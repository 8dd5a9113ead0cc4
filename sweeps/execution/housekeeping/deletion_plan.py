"""What the deletion of a sweep takes with it, and what stays as other sweeps hold it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.housekeeping.needs import trial_keys_of
from sweeps.execution.launch_process.concurrency import concurrency_file
from sweeps.execution.sweep_log import log_path, stored_manifest
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.storage.locations import Storage, bytes_below
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class DeletionPlan:
    """What is deleted with a sweep.

    Attributes:
        manifests: By the logs in the store and in the storage folder, if they exist.
        trial_keys: Trial keys of the cells that no other sweep uses, sorted.
        shared: Other sweep -> how many of the trials it uses too.
    """

    manifests: tuple[Manifest, ...]
    trial_keys: tuple[str, ...]
    shared: Mapping[str, int]

    @property
    def num_shared(self) -> int:
        """The number of trials that stay."""
        return len(_keys(self.manifests)) - len(self.trial_keys)


@dataclass(frozen=True)
class ItemCount:
    """A kind of thing, how many there are, and their bytes on disk; None if on a server."""

    name: str
    number: int
    num_bytes: int | None


def plan_deletion(
    sweep: str, others: Iterable[str], storage: Storage, store: RecordStore
) -> DeletionPlan:
    """Return what is deleted with a sweep.

    Args:
        sweep: Its name.
        others: All other sweeps.
        storage: Where the logs lie.
        store: The tracking store.

    Raises:
        BadInput: If it is not known which trials a sweep uses.
        StoreUnreachable: If the store does not answer.
    """
    manifests = _manifests(sweep, storage, store)
    trial_keys, in_others, numbers = _keys(manifests), set[str](), dict[str, int]()
    for other in others:
        keys = trial_keys_of(other, storage, store)
        if keys is None:
            raise BadInput(
                f"The log of '{other}' cannot be read, so it is not known which trials of "
                f"'{sweep}' it holds, and nothing was deleted: "
                f"{SuggestedCommand('repair', other)}."
            )
        if shared := trial_keys & keys:
            in_others |= shared
            numbers[other] = len(shared)
    return DeletionPlan(manifests, tuple(sorted(trial_keys - in_others)), numbers)


def count_items(
    plan: DeletionPlan, sweep: str, storage: Storage, store: RecordStore
) -> list[ItemCount]:
    """Return how much is deleted, by kind.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    records = store.records(plan.trial_keys) if store.exists() else {}
    sweep_ids = [store.sweep_id(sweep)] if store.exists() and sweep in store.sweeps() else []
    cells = _sizes(storage.cells / key for key in plan.trial_keys)
    files = [path for path in files_of(sweep, storage) if path.is_file()]
    record_ids = [record.record_id for record in records.values()]
    trials, sweeps = (
        _sizes(storage.artifacts / record_id for record_id in ids)
        for ids in (record_ids, sweep_ids)
    )
    return [
        ItemCount("records of trials", len(records), sum(trials) if trials else None),
        ItemCount(
            "record of the sweep, with its reports", len(sweep_ids), sum(sweeps) if sweeps else None
        ),
        ItemCount("cells", len(cells), sum(cells)),
        ItemCount("logs", len(files), sum(f.stat().st_size for f in files)),
    ]


def files_of(sweep: str, storage: Storage) -> tuple[Path, ...]:
    """Return the files of a sweep outside its cells; the one that identifies it comes last."""
    return (
        storage.logs / f"{sweep}.log",
        storage.logs / f"recorder-{sweep}.log",
        storage.journals / concurrency_file(sweep),
        log_path(storage.journals, sweep),
    )


def _manifests(sweep: str, storage: Storage, store: RecordStore) -> tuple[Manifest, ...]:
    """Return the manifests that name a sweep's cells.

    The store's may be gone, in a deletion that was broken off: the log here is there then.
    """
    copy = stored_manifest(storage.journals, sweep)
    if not store.exists() or sweep not in store.sweeps():
        if copy is None:
            raise BadInput(
                f"The log of '{sweep}' is damaged and the store has none, so its cells "
                f"are not known, and nothing was deleted: {SuggestedCommand('clean')} frees "
                f"what nothing needs."
            )
        return (copy,)
    try:
        current = store.manifest(sweep)
    except BadInput:
        if copy is None:
            raise
        return (copy,)
    return (current, copy) if copy else (current,)


def _keys(manifests: Iterable[Manifest]) -> frozenset[str]:
    return frozenset(cell.trial_key for manifest in manifests for cell in manifest.cells)


def _sizes(folders: Iterable[Path]) -> list[int]:
    """Return what each folder that is there takes."""
    return [size for folder in folders if (size := bytes_below(folder)) is not None]
