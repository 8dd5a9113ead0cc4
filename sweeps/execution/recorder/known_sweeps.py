"""The sweeps that a storage folder or its tracking store knows."""

from sweeps.execution.recorder.manifest_file import kept_sweeps
from sweeps.storage.locations import Storage
from sweeps.tracking.answers import no_sweep
from sweeps.tracking.store import RecordStore


def known_sweeps(sweep: str | None, storage: Storage, store: RecordStore) -> list[str]:
    """Return the names of all of them, from the kept manifests and from the records.

    Args:
        sweep: One that has to be among them.
        storage: Where manifests are kept.
        store: Of the records.

    Raises:
        BadInput: If it is not.
        StoreUnreachable: If the store does not answer.
    """
    known = kept_sweeps(storage.journals) | set(store.sweeps() if store.is_there() else ())
    if sweep is not None and sweep not in known:
        raise no_sweep(sweep, sorted(known), store.address)
    return sorted(known)
