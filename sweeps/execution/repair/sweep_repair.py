"""One sweep repaired: its manifest, what its folders tell of, and what looks as if it ran."""

from collections.abc import Generator

from sweeps.execution.driver.folder_states import folder_states
from sweeps.execution.launch.recording.unrecorded import unrecorded
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.recorder.manifest_file import hand_over
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.repair.settling import settle
from sweeps.execution.repair.showing import show_again
from sweeps.execution.repair.standing_manifest import standing_manifest
from sweeps.records.manifest import Manifest
from sweeps.storage.locations import Storage
from sweeps.tracking.manifests import publish_manifest
from sweeps.tracking.store import RecordStore

_SILENCE_SECONDS = 60.0  # twice what one request may take on a busy machine


class SweepRepair:
    """What there is to repair of one sweep that nobody runs.

    Args:
        storage: Where its folders are.
        store: Where its records are to be.
        sweep: Its name.

    Attributes:
        is_whole: Whether nothing is left, once it has run.
    """

    def __init__(self, storage: Storage, store: RecordStore, sweep: str) -> None:
        self.is_whole = True
        self._storage = storage
        self._store = store
        self._sweep = sweep

    def run(self) -> Generator[str]:
        """Repair it, and say what was done.

        Raises:
            StoreUnreachable: If the tracking store does not answer.
        """
        manifest, is_recorded = standing_manifest(self._store, self._storage, self._sweep)
        if manifest is None:
            self.is_whole = False
            yield (
                f"The manifest of '{self._sweep}' is gone from the tracking store and from beside "
                f"the journals: launch the sweep with --replace as it was launched before."
            )
            return
        told = [*self._recorded(manifest, is_recorded=is_recorded)]
        yield from told
        if told and self.is_whole and (complaint := show_again(self._store, manifest)):
            self.is_whole = False
            yield complaint

    def _recorded(self, manifest: Manifest, *, is_recorded: bool) -> Generator[str]:
        if not is_recorded:
            publish_manifest(self._store.writer(), manifest)
            yield f"The manifest of '{self._sweep}' was written to the tracking store again."
        yield from self._fill(manifest)
        if num_settled := settle(self._store, self._storage, manifest):
            yield f"{num_settled} records of '{self._sweep}' that looked as if they ran were ended."

    def _fill(self, manifest: Manifest) -> Generator[str]:
        """Carry what folders hold and the store lacks: whole records, epochs, evaluations."""
        missing = unrecorded(self._store, self._storage, manifest)
        keys = list(dict.fromkeys([*missing.to_carry, *self._with_holes(manifest)]))
        num_filled = len({*keys, *missing.evaluated})
        if not num_filled:
            return
        found = self._store.writer().find_sweep(self._sweep)
        assert found is not None
        queue = RecorderQueue(self._storage.journals, self._store.address)
        queue.forget(keys)
        queue.add_more(keys, self._sweep, found.record_id)
        queue.add_evaluated(missing.evaluated, self._sweep)
        queue.close()
        hand_over(self._storage.journals, manifest)  # what is kept, the recorder makes current
        recorder = RecorderClient(self._storage, self._store.address, self._sweep)
        if not recorder.finish(_SILENCE_SECONDS):
            self.is_whole = False
            yield f"Not all records of '{self._sweep}' could be filled: {recorder.complaint}"
            return
        yield f"{num_filled} records of '{self._sweep}' were filled from the cells' folders."

    def _with_holes(self, manifest: Manifest) -> list[str]:
        """Return the trials whose records lack epochs that their folders hold."""
        records = self._store.records(manifest.cell_keys().values())
        writer = self._store.writer()
        final = {key for key, record in records.items() if record.outcome.is_final}
        folders = folder_states(self._storage, sorted(final))
        return [
            key
            for key, folder in folders.items()
            if folder.outcome and len(writer.epochs(records[key].record_id)) < folder.epochs
        ]
