"""The weights that a sweep keeps after its end: a pure choice, and the deletion of the rest.

Weights exist twice, in the cell's folder and as an artifact of the record. Deleting them changes no
result and no trial key; the model can no longer be loaded.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from sweeps.aggregation.results.ranking import ranking
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.cells.sealed_files import delete_weights
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordStore, RecordWriter

_BEST = re.compile(r"best:(\d{1,9})")


@dataclass(frozen=True)
class WeightsToKeep:
    """Which weights to keep.

    Attributes:
        num_best: Those of this many best arms; None keeps all, 0 none.
    """

    num_best: int | None = None


@dataclass(frozen=True)
class WeightsDeleted:
    """The weights that a launch deleted.

    Attributes:
        num_trials: Number of trials whose weights were deleted.
        freed_bytes: In the cells' folders and in the tracking store together.
        error: Why some were not deleted, in one sentence; "" if all were.
    """

    num_trials: int = 0
    freed_bytes: int = 0
    error: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences for the user, none if there was nothing to delete."""
        freed = f"{self.freed_bytes / 2**20:,.1f} MiB are free."
        trials = "1 trial" if self.num_trials == 1 else f"{self.num_trials} trials"
        deleted = f"The weights of {trials} were not kept: {freed}"
        return tuple(filter(None, (deleted if self.num_trials else "", self.error)))


def weights_to_keep(choice: str) -> WeightsToKeep:
    """Parse `all`, `none` or `best:K`.

    Raises:
        BadInput: If it is something else.
    """
    match = _BEST.fullmatch(choice)
    if match and int(match[1]) > 0:
        return WeightsToKeep(int(match[1]))
    if choice not in {"all", "none"}:
        raise BadInput(
            f"Weights to keep are 'all', 'none' or 'best:K' with a whole number K above 0, as in "
            f"'best:3'; given was '{one_line(choice)}'."
        )
    return WeightsToKeep(None if choice == "all" else 0)


def unwanted_weights(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    to_keep: WeightsToKeep,
    shared: Collection[str] = (),
) -> list[str]:
    """Return the trial keys whose weights are deleted, sorted.

    All seeds of the best arms keep theirs, as `best` ranks them by validation; in a search so do
    the trials that found these arms. A trial that has not ended is not touched.

    Args:
        manifest: The sweep's cells.
        records: Trial key -> record.
        to_keep: The weights to keep.
        shared: Trial keys that another sweep uses.
    """
    if to_keep.num_best is None:
        return []
    best = {ranked.arm.arm.name for ranked in ranking(manifest, records)[: to_keep.num_best]}
    wanted = {cell.trial_key for cell in manifest.cells if cell.arm in best} | set(shared)
    ended = {key for key, record in records.items() if record.outcome.is_final}
    return sorted({cell.trial_key for cell in manifest.cells} & ended - wanted)


def keep_weights(
    manifest: Manifest,
    to_keep: WeightsToKeep,
    storage: Storage,
    store: RecordStore,
    *,
    writer: RecordWriter,
) -> WeightsDeleted:
    """Delete the weights that a sweep does not keep, in the cells' folders and the records.

    Call it after the sweep has ended and everything is recorded. Trials in the current manifest of
    another sweep of the store keep their weights, and so do trials that lack an evaluation. After
    a kill the same call completes the rest. A store that cannot delete keeps its copy, and a
    sentence says so.

    Args:
        manifest: The manifest of the sweep.
        to_keep: The weights to keep.
        storage: The storage with the cells' folders.
        store: The store of the records.
        writer: The same store, for writing.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    if to_keep.num_best is None:
        return WeightsDeleted()
    records = store.records(manifest.cell_keys().values())
    try:
        needed_elsewhere = _used_by_others(manifest.sweep, store) | to_be_evaluated(
            manifest, records
        )
    except BadInput as error:
        return WeightsDeleted(error=f"All weights are kept, as another sweep's are: {error}")
    num_trials, freed, error = 0, 0, ""
    for key in unwanted_weights(manifest, records, to_keep, needed_elsewhere):
        folder = CellFolder(storage.cells, key)
        if folder.is_busy():
            continue
        recorded, why = writer.delete_weights(records[key].record_id)
        bytes_here = recorded + delete_weights(folder)
        num_trials += bytes_here > 0
        freed += bytes_here
        error = error or why
    return WeightsDeleted(num_trials, freed, error)


def to_be_evaluated(manifest: Manifest, records: Mapping[str, TrialRecord]) -> set[str]:
    """Return the trials whose records lack an evaluation that the sweep declares.

    Args:
        manifest: The sweep's cells and evaluations.
        records: Trial key -> record.
    """
    wanted = {evaluation.evaluation_key for evaluation in manifest.evaluations}
    return {
        key
        for key, record in records.items()
        if record.outcome is Outcome.FINISHED and wanted - record.evaluations.keys()
    }


def _used_by_others(sweep: str, store: RecordStore) -> set[str]:
    """Return the trial keys in the current manifests of all other sweeps."""
    others = (store.manifest(name) for name in store.sweeps() if name != sweep)
    return {cell.trial_key for manifest in others for cell in manifest.cells}
