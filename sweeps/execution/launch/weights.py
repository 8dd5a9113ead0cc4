"""Which trained weights a sweep keeps: the choice is pure, and what is not chosen is deleted.

Weights lie twice, in the cell's folder and as an artifact of the record. Deleting them changes no
result and no trial key; only a model can no longer be loaded.
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
    """Whose weights are kept.

    Attributes:
        num_best: Of so many of the best arms; None keeps all, 0 none.
    """

    num_best: int | None = None


@dataclass(frozen=True)
class WeightsDeleted:
    """What became of weights that were not to be kept.

    Attributes:
        num_trials: Trials that lost theirs.
        freed_bytes: In the cells' folders and in the tracking store together.
        complaint: Why some are still there, in one sentence; "" where none are.
    """

    num_trials: int = 0
    freed_bytes: int = 0
    complaint: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to tell of it, nothing where there was nothing to delete."""
        freed = f"{self.freed_bytes / 2**20:,.1f} MiB are free."
        trials = "1 trial" if self.num_trials == 1 else f"{self.num_trials} trials"
        deleted = f"The weights of {trials} were not kept: {freed}"
        return tuple(filter(None, (deleted if self.num_trials else "", self.complaint)))


def weights_to_keep(words: str) -> WeightsToKeep:
    """Read what the command line says: `all`, `none` or `best:K`.

    Raises:
        BadInput: If it says something else.
    """
    match = _BEST.fullmatch(words)
    if match and int(match[1]) > 0:
        return WeightsToKeep(int(match[1]))
    if words not in {"all", "none"}:
        raise BadInput(
            f"Weights to keep are 'all', 'none' or 'best:K' with a whole number K above 0, as in "
            f"'best:3'; given was '{one_line(words)}'."
        )
    return WeightsToKeep(None if words == "all" else 0)


def unwanted_weights(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    which: WeightsToKeep,
    shared: Collection[str] = (),
) -> list[str]:
    """Return the trial keys whose weights are not kept, sorted.

    Kept are all seeds of the best arms, as `best` ranks them by validation, and of a search those
    that found them too. A trial that has not ended is left alone.

    Args:
        manifest: The sweep's cells.
        records: By trial key.
        which: Whose are kept.
        shared: Trial keys that another sweep uses.
    """
    if which.num_best is None:
        return []
    best = {ranked.arm.arm.name for ranked in ranking(manifest, records)[: which.num_best]}
    wanted = {cell.trial_key for cell in manifest.cells if cell.arm in best} | set(shared)
    ended = {key for key, record in records.items() if record.outcome.is_final}
    return sorted({cell.trial_key for cell in manifest.cells} & ended - wanted)


def keep_weights(
    manifest: Manifest,
    which: WeightsToKeep,
    storage: Storage,
    store: RecordStore,
    *,
    writer: RecordWriter,
) -> WeightsDeleted:
    """Delete the weights of a sweep that are not kept, in the cells' folders and the records.

    To be called after a sweep has ended and all of it is recorded. Weights of trials that another
    sweep of the store holds in its current manifest are kept, and those that an evaluation of this
    one is still to look at. Killed at any point, it does the rest when it is called again. A store
    that cannot delete keeps its copy, and that is said.

    Args:
        manifest: Of the sweep that has ended.
        which: Whose weights are kept.
        storage: Where the cells' folders are.
        store: Of the records.
        writer: The same store, for writing.

    Raises:
        StoreUnreachable: If the tracking store does not answer.
    """
    if which.num_best is None:
        return WeightsDeleted()
    records = store.records(manifest.cell_keys().values())
    try:
        needed_elsewhere = _used_by_others(manifest.sweep, store) | to_be_evaluated(
            manifest, records
        )
    except BadInput as error:
        return WeightsDeleted(complaint=f"All weights are kept, as another sweep's are: {error}")
    num_trials, freed, complaint = 0, 0, ""
    for key in unwanted_weights(manifest, records, which, needed_elsewhere):
        folder = CellFolder(storage.cells, key)
        if folder.is_busy():
            continue
        recorded, why = writer.delete_weights(records[key].record_id)
        bytes_here = recorded + delete_weights(folder)
        num_trials += bytes_here > 0
        freed += bytes_here
        complaint = complaint or why
    return WeightsDeleted(num_trials, freed, complaint)


def to_be_evaluated(manifest: Manifest, records: Mapping[str, TrialRecord]) -> set[str]:
    """Return the trials whose records lack an evaluation that the sweep declares.

    Args:
        manifest: The sweep's cells and evaluations.
        records: By trial key.
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
