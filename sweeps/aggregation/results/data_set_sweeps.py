"""The sweeps of the data sets of a sweep across several, by its name."""

from collections.abc import Mapping

from search_spaces.tables import PartOfAcross, column_sweep_name
from sweeps.records.manifest import Manifest
from sweeps.tracking.store import RecordStore


def column_manifests(store: RecordStore, sweep: str) -> dict[str, Manifest]:
    """Return the manifest of each launched data set of a sweep across several, in no order.

    Returns:
        Data set -> manifest; empty if there is no such sweep.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    if not store.exists():
        return {}
    names = [name for name in store.sweeps() if name.startswith(column_sweep_name(sweep, ""))]
    manifests = [store.manifest(name) for name in names]
    return {
        manifest.part_of.data_set: manifest
        for manifest in manifests
        if manifest.part_of and manifest.part_of.sweep == sweep
    }


def sweeps_by_data_set(store: RecordStore, sweep: str) -> dict[str, str]:
    """Return the sweep of each launched data set of a sweep across several, in the table's order.

    Returns:
        Data set -> name of its sweep; empty where the name is that of no sweep across data sets.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    if not store.exists() or sweep in store.sweeps():
        return {}
    manifests = column_manifests(store, sweep)
    return {name: manifests[name].sweep for name in data_sets_of(manifests) if name in manifests}


def newest_part(manifests: Mapping[str, Manifest]) -> PartOfAcross | None:
    """Return what the last launch that changed data sets or table says of it, None without any."""
    parts = [manifest.part_of for manifest in manifests.values() if manifest.part_of]
    return max(parts, key=lambda part: part.revision, default=None)


def data_sets_of(manifests: Mapping[str, Manifest]) -> tuple[str, ...]:
    """Return the data sets of a sweep across several in the order of its table."""
    newest = newest_part(manifests)
    return tuple(dict.fromkeys((*(newest.data_sets if newest else ()), *manifests)))
