"""Records of a sweep that nobody runs, and that look as if somebody did, ended."""

from sweeps.execution.cells.folder import CellFolder
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome
from sweeps.storage.locations import Storage
from sweeps.tracking.record_facts import OutcomeFacts
from sweeps.tracking.store import RecordStore

_INTERRUPTED_EXIT_CODE = 130


def settle(store: RecordStore, storage: Storage, manifest: Manifest) -> int:
    """Mark what looks as if it ran as interrupted, the sweep as finished where it is.

    Args:
        store: Of the records.
        storage: Where the cells' folders are: a trial whose process lives is left alone.
        manifest: Of a sweep that nobody runs.

    Returns:
        How many records were ended.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    writer, num_settled = store.writer(), 0
    records = store.records(manifest.cell_keys().values())
    for key, record in records.items():
        if record.outcome is Outcome.RUNNING and not CellFolder(storage.cells, key).is_busy():
            told = OutcomeFacts(epochs=record.epochs)
            writer.set_outcome(record.record_id, Outcome.INTERRUPTED, told)
            num_settled += 1
    found = writer.find_sweep(manifest.sweep)
    if found and found.is_running:
        ended = {key for key, record in records.items() if record.outcome.is_final}
        is_filled = len(manifest.cells) == manifest.num_expected and all(
            cell.stopped or cell.trial_key in ended for cell in manifest.cells
        )
        writer.settle_sweep(found.record_id, 0 if is_filled else _INTERRUPTED_EXIT_CODE)
        num_settled += 1
    return num_settled
