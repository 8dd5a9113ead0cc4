"""Repair of one sweep: its log, its unrecorded trials, and records that claim to run."""

from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import NamedTuple

from sweeps.aggregation.report import summary_of
from sweeps.execution.cells.folder import PREDICTIONS, WEIGHTS, CellFolder
from sweeps.execution.cells.sealed_files import check_files, is_sealed
from sweeps.execution.launch.unrecorded import unrecorded
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.survey.surveyed_cells import dropped_cells
from sweeps.execution.sweep_log import EarlierLog, SweepLog, stored_entries
from sweeps.records.cell_contents import SealedFile
from sweeps.records.errors import BadInput, StoreRefused
from sweeps.records.manifest import Manifest
from sweeps.records.sweep_log import Entry, declared_last, manifest_of
from sweeps.records.trial_record import ARTIFACT_PREDICTIONS, ARTIFACT_WEIGHTS, Outcome
from sweeps.storage.locations import Storage
from sweeps.tracking.addresses import is_server
from sweeps.tracking.recorded_weights import trials_with_replaced_weights
from sweeps.tracking.store import RecordStore
from sweeps.tracking.sweep_logs import publish_log

_INTERRUPTED_EXIT_CODE = 130
_TIMEOUT_SECONDS = 60.0  # twice the time of one request on a busy machine


def settle(store: RecordStore, storage: Storage, manifest: Manifest) -> int:
    """Close records that claim to run: trials as interrupted, the sweep as finished if it is.

    Args:
        store: The store of the records.
        storage: The cells' folders; a trial whose process lives is not touched.
        manifest: The manifest of a sweep that no process runs.

    Returns:
        The number of records that were closed.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    writer, num_settled = store.writer(), 0
    records = store.records(manifest.cell_keys().values())
    for key, record in records.items():
        if record.outcome is Outcome.RUNNING and not CellFolder(storage.cells, key).is_busy():
            writer.set_outcome(record.record_id, Outcome.INTERRUPTED, epochs=record.epochs)
            num_settled += 1
    sweep_record = writer.find_sweep(manifest.sweep)
    if sweep_record and sweep_record.is_running:
        ended = {key for key, record in records.items() if record.outcome.is_final}
        is_filled = len(manifest.cells) == manifest.num_expected and all(
            cell.stopped or cell.trial_key in ended for cell in manifest.cells
        )
        writer.settle_sweep(sweep_record.record_id, 0 if is_filled else _INTERRUPTED_EXIT_CODE)
        num_settled += 1
    return num_settled


def refresh_shown(store: RecordStore, manifest: Manifest) -> str:
    """Update what MLflow's pages show of a sweep.

    Args:
        store: The store of the records; it holds the sweep.
        manifest: The manifest of the sweep.

    Returns:
        Why it is not up to date, in one sentence; "" if it is.
    """
    writer = store.writer()
    sweep_record = writer.find_sweep(manifest.sweep)
    assert sweep_record is not None
    try:
        writer.write_summary(sweep_record.record_id, summary_of(store, manifest))
    except StoreRefused as error:
        return f"What is shown of '{manifest.sweep}' is not up to date: {error}"
    return ""


class LogToRestore(NamedTuple):
    """The logs to repair a sweep by.

    Attributes:
        earlier: Both logs, without one that cannot be read.
        manifest: The manifest to repair by, None if there is none.
        is_recorded: Whether the tracking store has that.
    """

    earlier: EarlierLog
    manifest: Manifest | None
    is_recorded: bool


def log_to_restore(store: RecordStore, storage: Storage, sweep: str) -> LogToRestore:
    """Return the logs in store and storage folder, and which of them counts.

    A store that was restored from a backup is behind the log in the storage folder. That is behind
    the store if the sweep was launched from another storage folder since.

    Raises:
        StoreUnreachable: If the store does not answer.
    """
    here, copy = _readable(lambda: stored_entries(storage.journals, sweep))
    stored, current = (), None
    if store.exists() and sweep in store.sweeps():
        stored, current = _readable(lambda: store.sweep_log(sweep))
    earlier = EarlierLog(here, stored)
    if current is None or (copy and _is_ahead(copy, current)):
        return LogToRestore(earlier, copy, is_recorded=False)
    return LogToRestore(earlier, current, is_recorded=True)


def _readable(read: Callable[[], Sequence[Entry]]) -> tuple[Sequence[Entry], Manifest | None]:
    """Return entries and the manifest that they come to; none if they cannot be read."""
    try:
        entries = read()
        return entries, manifest_of(entries)
    except (BadInput, ValueError):
        return (), None


def _is_ahead(copy: Manifest, stored: Manifest) -> bool:
    """Return whether a copy has all cells of the stored manifest, and more content."""
    if dropped_cells(stored, copy):
        return False
    if len(copy.proposed_cells()) > len(stored.proposed_cells()):
        return True
    return _contents(copy) > _contents(stored)


def _contents(manifest: Manifest) -> set[object]:
    """Return the content that a manifest gains while its sweep runs."""
    cells = {(cell.arm, cell.seed, cell.trial_key) for cell in manifest.cells}
    stopped = {cell.trial_key for cell in manifest.cells if cell.stopped}
    evaluations = {evaluation.evaluation_key for evaluation in manifest.evaluations}
    return {*cells, *stopped, *evaluations, *(["is over"] if not manifest.is_growing else [])}


def _replaced_sentence(trial_key: str, *, is_whole: bool) -> str:
    """Return a sentence on a trial whose recorded files were replaced.

    Args:
        trial_key: Its key.
        is_whole: Whether its folder has them as they were.
    """
    then = (
        "they are put back from its folder."
        if is_whole
        else "its folder holds none that are whole: train it again, --retrain."
    )
    return (
        f"The predictions or weights of trial {trial_key} in the tracking store are damaged or "
        f"were replaced, and {then}"
    )


class SweepRepair:
    """The repair of one sweep that no process runs.

    Args:
        storage: The storage with its folders.
        store: The store of its records.
        sweep: Its name.

    Attributes:
        is_whole: Whether everything is repaired, after the run.
    """

    def __init__(self, storage: Storage, store: RecordStore, sweep: str) -> None:
        self.is_whole = True
        self._storage = storage
        self._store = store
        self._sweep = sweep
        self._earlier, self._is_recorded = EarlierLog((), ()), False

    def run(self) -> Generator[str]:
        """Repair the sweep. Yields a sentence for each thing that was done.

        Raises:
            StoreUnreachable: If the tracking store does not answer.
        """
        self._earlier, manifest, self._is_recorded = log_to_restore(
            self._store, self._storage, self._sweep
        )
        if manifest is None:
            self.is_whole = False
            yield (
                f"The log of '{self._sweep}' is gone from the tracking store and from the storage "
                f"folder: launch the sweep with --replace as it was launched before."
            )
            return
        sentences = [*self._recorded(manifest)]
        yield from sentences
        if sentences and self.is_whole and (error := refresh_shown(self._store, manifest)):
            self.is_whole = False
            yield error

    def _recorded(self, manifest: Manifest) -> Generator[str]:
        if not self._is_recorded:
            log = self._bring_up_to_date()
            publish_log(self._store.writer(), manifest, log.shared())
            yield f"The log of '{self._sweep}' was written to the tracking store again."
        yield from self._fill(manifest)
        if num_settled := settle(self._store, self._storage, manifest):
            yield f"{num_settled} records of '{self._sweep}' that looked as if they ran were ended."

    def _fill(self, manifest: Manifest) -> Generator[str]:
        """Record what the folders hold and the store lacks: records, epochs, evaluations."""
        missing = unrecorded(self._store, self._storage, manifest)
        replaced = self._with_replaced_files(manifest)
        again = [key for key, kinds in replaced.items() if self._holds_files(key, kinds)]
        yield from (_replaced_sentence(key, is_whole=key in again) for key in replaced)
        self.is_whole &= len(again) == len(replaced)
        keys = list(dict.fromkeys([*missing.to_carry, *self._with_holes(manifest), *again]))
        num_filled = len({*keys, *missing.evaluated})
        if not num_filled:
            return
        writer = self._store.writer()
        writer.mark_replaced(
            set(keys) - self._store.records(keys).keys()
        )  # what is no valid record
        sweep_record = writer.find_sweep(self._sweep)
        assert sweep_record is not None
        queue = RecorderQueue(self._storage.journals, self._store.address)
        queue.forget(keys)
        queue.add_more(keys, self._sweep, sweep_record.record_id)
        queue.add_evaluated(missing.evaluated, self._sweep)
        queue.close()
        self._bring_up_to_date()
        recorder = RecorderClient(self._storage, self._store.address, self._sweep)
        if not recorder.finish(_TIMEOUT_SECONDS):
            self.is_whole = False
            yield f"Not all records of '{self._sweep}' could be filled: {recorder.error}"
            return
        yield f"{num_filled} records of '{self._sweep}' were filled from the cells' folders."

    def _with_replaced_files(self, manifest: Manifest) -> dict[str, set[str]]:
        """Return trial key -> the recorded files that differ from those the trial made.

        The seals of its folder show that. Without a seal only its weights are checked.
        """
        if is_server(self._store.address):  # all would have to be downloaded
            return {}
        records = self._store.records(manifest.cell_keys().values())
        replaced = defaultdict[str, set[str]](set)
        for key in trials_with_replaced_weights(self._store, records.values()):
            replaced[key].add(WEIGHTS)
        for kind, name in ((PREDICTIONS, ARTIFACT_PREDICTIONS), (WEIGHTS, ARTIFACT_WEIGHTS)):
            for key, path in self._store.artifacts(records.values(), name).items():
                seal = self._seal(key, kind)
                if seal and not is_sealed(path, seal):
                    replaced[key].add(kind)
        return replaced

    def _seal(self, trial_key: str, kind: str) -> SealedFile | None:
        with suppress(BadInput):
            final = CellFolder(self._storage.cells, trial_key).read_final()
            seals = final.files.items() if final else ()
            return next((seal for name, seal in seals if name.startswith(kind)), None)
        return None

    def _holds_files(self, trial_key: str, kinds: set[str]) -> bool:
        """Return whether a trial's folder has its files of these kinds as they were sealed."""
        cell = CellFolder(self._storage.cells, trial_key)
        try:
            final = cell.read_final()
            if final is None:
                return False
            check_files(cell, final)
        except (BadInput, OSError):
            return False
        return {kind for kind in kinds if cell.attempt_files(kind)} == kinds

    def _bring_up_to_date(self) -> SweepLog:
        """Write to the log here what only the store has: the recorder copies it to the store."""
        earlier = self._earlier
        declared = declared_last(earlier.stored if self._is_recorded else earlier.here)
        assert declared
        plain = declared.model_copy(update={"starts_over": False})
        plan = declared.manifest.decided_by
        log = SweepLog(self._storage.journals, self._sweep)
        log.declare(plain, earlier.decisions(plan), earlier.num_starts(plan))
        return log

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
