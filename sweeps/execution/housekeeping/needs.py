"""What the sweeps of a storage folder need, from their manifests and locks."""

from collections.abc import Mapping
from contextlib import ExitStack

from sweeps.execution.housekeeping.leftovers import Needs
from sweeps.execution.sweep_log import (
    is_launching,
    known_sweeps,
    locked_names,
    stored_manifest,
)
from sweeps.records.errors import BadInput
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.storage.file_lock import FileLock
from sweeps.storage.folder import in_storage
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordStore


def sweeps_and_whether_running(
    sweep: str | None, storage: Storage, store: RecordStore, locks: ExitStack | None
) -> dict[str, bool]:
    """Return name -> whether it runs, for all known sweeps.

    Args:
        sweep: A sweep that has to exist.
        storage: The storage with their logs.
        store: The store of the records.
        locks: Gets the locks of the sweeps that do not run, so that none starts; None to take no
            locks.

    Raises:
        BadInput: If there is no such sweep.
        StoreUnreachable: If the store does not answer.
    """
    known = known_sweeps(sweep, storage, store)
    if locks is None or not storage.journals.is_dir():
        return {name: is_launching(storage.journals, name) for name in known}
    own = {name: FileLock(in_storage(storage.journals), f"{name}.lock") for name in known}
    return {name: not locks.enter_context(lock).acquire() for name, lock in own.items()}


def needs_of(
    sweep: str | None, sweeps: Mapping[str, bool], storage: Storage, store: RecordStore
) -> tuple[Needs, tuple[str, ...]]:
    """Return what sweeps need, and sentences on what is not touched for that.

    Args:
        sweep: The one sweep to clean, None for all.
        sweeps: Name -> whether it runs, of all known sweeps.
        storage: The storage with their logs.
        store: The store of the records.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    keys = {name: trial_keys_of(name, storage, store) for name in sweeps}
    unknown = [name for name, sweep_keys in keys.items() if sweep_keys is None]
    launched = [name for name, is_run in sweeps.items() if is_run]
    is_quiet = not launched and locked_names(storage.journals) <= {*sweeps}
    known = {name: sweep_keys or frozenset[str]() for name, sweep_keys in keys.items()}
    needs = Needs(
        named=frozenset[str]().union(*known.values()),
        launched=frozenset[str]().union(*(known[name] for name in launched)),
        only=None if sweep is None else known[sweep],
        is_certain=is_quiet and not unknown and store.exists(),
    )
    sentences = [f"'{name}' is being run, and was left alone." for name in launched]
    repair = SuggestedCommand("repair")
    sentences += [f"The log of '{name}' cannot be read: {repair}." for name in unknown]
    if not store.exists():
        sentences.append(f"The tracking store is missing: {repair} fills it from the folders.")
    if sweep is None and not needs.is_certain:
        sentences.append(
            "So unfinished cells of no known sweep were left alone, and what lies outside the "
            "cells: clean again when nothing runs."
        )
    return needs, tuple(sentences)


def trial_keys_of(sweep: str, storage: Storage, store: RecordStore) -> frozenset[str] | None:
    """Return the trial keys that a sweep's logs name, here and in the store; None if unknown."""
    manifests = [stored_manifest(storage.journals, sweep)]
    if store.exists() and sweep in store.sweeps():
        try:
            manifests.append(store.manifest(sweep))
        except BadInput:
            return None
    keys = [cell.trial_key for manifest in manifests if manifest for cell in manifest.cells]
    return frozenset(keys) if any(manifests) else None
