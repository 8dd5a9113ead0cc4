"""What the deletion of a sweep takes with it, and what stays as other sweeps hold it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sweeps.execution.housekeeping.needs import trial_keys_of
from sweeps.execution.recorder.manifest_file import kept_manifest, log_file, manifest_file
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.storage.locations import Storage, bytes_below
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True)
class Doomed:
    """What goes with a sweep.

    Attributes:
        manifests: The store's current one and the kept one, as far as they are there.
        trial_keys: Of the cells that no other sweep holds, sorted.
        held: Other sweep -> how many of the trials it holds.
    """

    manifests: tuple[Manifest, ...]
    trial_keys: tuple[str, ...]
    held: Mapping[str, int]

    @property
    def num_held(self) -> int:
        """Trials that stay."""
        return len(_keys(self.manifests)) - len(self.trial_keys)


@dataclass(frozen=True)
class Counted:
    """Things of a kind, and what they take on the disk: None where they lie on a server."""

    what: str
    number: int
    num_bytes: int | None


def doomed(sweep: str, others: Iterable[str], storage: Storage, store: RecordStore) -> Doomed:
    """Return what goes with a sweep.

    Args:
        sweep: Its name.
        others: All other sweeps.
        storage: Where manifests are kept.
        store: Of the records.

    Raises:
        BadInput: If it cannot be known which trials a sweep holds.
        StoreUnreachable: If the store does not answer.
    """
    manifests = _manifests(sweep, storage, store)
    own, held, numbers = _keys(manifests), set[str](), dict[str, int]()
    for other in others:
        keys = trial_keys_of(other, storage, store)
        if keys is None:
            raise BadInput(
                f"The manifest of '{other}' cannot be read, so it is not known which trials of "
                f"'{sweep}' it holds, and nothing was deleted: capsweep repair {other}."
            )
        if shared := own & keys:
            held |= shared
            numbers[other] = len(shared)
    return Doomed(manifests, tuple(sorted(own - held)), numbers)


def counted(going: Doomed, sweep: str, storage: Storage, store: RecordStore) -> list[Counted]:
    """Return what goes, by kind.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    records = store.records(going.trial_keys) if store.is_there() else {}
    own = [store.sweep_id(sweep)] if store.is_there() and sweep in store.sweeps() else []
    cells = _sizes(storage.cells / key for key in going.trial_keys)
    files = [path for path in files_of(sweep, storage) if path.is_file()]
    record_ids = [record.record_id for record in records.values()]
    trials, sweeps = (
        _sizes(storage.artifacts / record_id for record_id in ids) for ids in (record_ids, own)
    )
    return [
        Counted("records of trials", len(records), sum(trials) if trials else None),
        Counted("record of the sweep, with its reports", len(own), sum(sweeps) if sweeps else None),
        Counted("cells", len(cells), sum(cells)),
        Counted("journal, manifest and logs", len(files), sum(f.stat().st_size for f in files)),
    ]


def files_of(sweep: str, storage: Storage) -> tuple[Path, ...]:
    """Return the files of a sweep beside its cells; that which tells of it comes last."""
    return (
        storage.logs / f"{sweep}.log",
        storage.logs / f"recorder-{sweep}.log",
        *(storage.journals / f"{sweep}.db{end}" for end in ("-journal", "-wal", "-shm", "")),
        log_file(storage.journals, sweep),
        manifest_file(storage.journals, sweep),
    )


def _manifests(sweep: str, storage: Storage, store: RecordStore) -> tuple[Manifest, ...]:
    """Return what tells of a sweep's cells.

    That in the store may be gone, in a deletion that was broken off: the kept one is there then.
    """
    kept = kept_manifest(storage.journals, sweep)
    if not store.is_there() or sweep not in store.sweeps():
        if kept is None:
            raise BadInput(
                f"The kept manifest of '{sweep}' is damaged and the store has none, so its cells "
                f"are not known, and nothing was deleted: capsweep clean frees what nothing needs."
            )
        return (kept,)
    try:
        current = store.manifest(sweep)
    except BadInput:
        if kept is None:
            raise
        return (kept,)
    return (current, kept) if kept else (current,)


def _keys(manifests: Iterable[Manifest]) -> frozenset[str]:
    return frozenset(cell.trial_key for one in manifests for cell in one.cells)


def _sizes(folders: Iterable[Path]) -> list[int]:
    """Return what each folder that is there takes."""
    return [size for folder in folders if (size := bytes_below(folder)) is not None]
