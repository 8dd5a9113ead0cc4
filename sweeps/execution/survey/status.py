"""The status of a sweep, from its manifest, its records and its cells' folders."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from sweeps.aggregation.rendering.notebook_pieces import Grid, Shown, block, summary
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.launch_process.concurrency import (
    ConcurrencyRequest,
    requested_concurrency,
)
from sweeps.execution.launch_process.launch_lock import running_sweeps
from sweeps.execution.survey.surveyed_cells import CellStatus
from sweeps.execution.survey.surveyed_evaluations import (
    EvaluationState,
    SurveyedEvaluation,
    evaluations_by_outcome,
)
from sweeps.execution.sweep_log import (
    Launch,
    is_launching,
    last_launch,
    pending_trials,
    stored_entries,
    waiting_trials,
)
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.manifest_evaluation import ManifestEvaluation
from sweeps.records.sweep_log import decisions_under
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.storage.locations import Storage, resolve_storage
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.recorded_weights import warn_of_replaced_weights


@dataclass(frozen=True, repr=False)
class SweepStatus:
    """The status of a sweep and of all its cells, of which a launch that starts has none yet.

    Attributes:
        last_launch: The last one from this storage folder, None if there was none.
        is_recorded: Whether every filled cell's record is in the tracking store.
        declared: The evaluations that the sweep declares.
        evaluations: Every evaluation of every finished trial, and its state.
        ending: Why a search ended before all proposals were made, "" if it did not.
        concurrency: What its running launch was asked for meanwhile; None for nothing.
        is_running: Whether a process runs it now from this storage folder.
        num_deleted: Cells whose record was deleted in the tracking store.
        tags: Its tags.
        note: Its note, "" for none.
    """

    sweep: str
    cells: tuple[CellStatus, ...]
    arms: tuple[str, ...]
    last_launch: Launch | None
    is_recorded: bool
    declared: tuple[ManifestEvaluation, ...] = ()
    evaluations: tuple[SurveyedEvaluation, ...] = ()
    ending: str = ""
    concurrency: ConcurrencyRequest | None = None
    is_running: bool = False
    num_deleted: int = 0
    tags: tuple[str, ...] = ()
    note: str = ""

    def __repr__(self) -> str:
        counts = (f"{count} {state}" for state, count in self.counts().most_common())
        return summary("SweepStatus", self.sweep, f"{len(self.cells)} cells", *counts)

    def _repr_html_(self) -> str:
        """Return it for a notebook: how many cells of each arm are in which state."""
        states = [state for state, _ in self.counts().most_common()]
        by_arm: dict[str, Counter[str]] = {arm: Counter() for arm in self.arms}
        for cell in self.cells:
            by_arm[cell.cell.arm][cell.state] += 1
        rows = [
            [Shown(arm), *(Shown(str(counts[state] or "")) for state in states)]
            for arm, counts in by_arm.items()
        ]
        grid = Grid(["arm", *states], rows, range(1, len(states) + 1))
        return block(f"status of {self.sweep}", grid.html)

    def counts(self, arm: str | None = None) -> Counter[str]:
        """Return state -> number of cells, of one arm or of all."""
        if arm is None:
            return Counter(cell.state for cell in self.cells)
        return self._by_arm.get(arm, Counter())

    @cached_property
    def _by_arm(self) -> Mapping[str, Counter[str]]:
        counts: dict[str, Counter[str]] = {}
        for cell in self.cells:
            counts.setdefault(cell.cell.arm, Counter())[cell.state] += 1
        return counts


def sweep_status(
    name: str, tracking_uri: str | None = None, storage: str | Path | None = None
) -> SweepStatus:
    """Return the status of a sweep.

    Raises:
        BadInput: If there is no such sweep.
        StoreUnreachable: If the tracking store does not answer.
    """
    place = resolve_storage(storage)
    store = open_to_read(tracking_uri, str(place.root))
    try:
        manifest = store.manifest(name)
    except BadInput:
        if name not in running_sweeps(place.journals):
            raise
        return SweepStatus(name, (), (), None, is_recorded=True, is_running=True)
    records = store.records(cell.trial_key for cell in manifest.cells)
    warn_of_replaced_weights(name, store, records.values())
    waiting = _waiting(place.journals, manifest)
    is_running = is_launching(place.journals, name)
    pending = pending_trials(place.journals, name) if is_running else ()
    cells = tuple(
        _cell_status(cell, place, records.get(cell.trial_key), waiting, pending=pending)
        for cell in manifest.cells
    )
    filled = [cell for cell in cells if cell.state in {Outcome.FINISHED, Outcome.DIVERGED}]
    outcomes = {cell.cell.trial_key: Outcome(cell.state) for cell in filled}
    evaluations = evaluations_by_outcome(manifest, place, outcomes, records, store=store)
    return SweepStatus(
        sweep=name,
        cells=_with_evaluating(cells, evaluations, place) if is_running else cells,
        arms=tuple(arm.name for arm in manifest.arms),
        last_launch=last_launch(place.journals, name),
        is_recorded=all(_is_final(records.get(cell.cell.trial_key)) for cell in filled),
        declared=manifest.evaluations,
        evaluations=evaluations,
        ending=manifest.search.ending if manifest.search else "",
        is_running=is_running,
        concurrency=requested_concurrency(place.journals, name) if is_running else None,
        num_deleted=len(store.deleted(key for key in outcomes if key not in records)),
        tags=manifest.tags,
        note=manifest.note,
    )


status = sweep_status  # as `sweeps.status`


def _is_final(record: TrialRecord | None) -> bool:
    return record is not None and record.outcome.is_final


def _cell_status(
    cell: ManifestCell,
    place: Storage,
    record: TrialRecord | None,
    waiting: Mapping[str, int],
    *,
    pending: Collection[str],
) -> CellStatus:
    folder = CellFolder(place.cells, cell.trial_key)
    if cell.stopped:
        return CellStatus(cell, Outcome.PRUNED.value, cell.stopped.epoch)
    if record and record.outcome.is_final:
        outcome, warnings = record.outcome.value, record.warnings
        return CellStatus(cell, outcome, record.epochs, record.reason, warnings=warnings)
    if final := folder.read_final():
        outcome, warnings = final.outcome.value, final.warnings
        return CellStatus(cell, outcome, len(final.curve), final.reason, warnings=warnings)
    return replace(
        _unfilled_status(cell, folder, record, waiting, pending=pending), warnings=folder.warnings()
    )


def _unfilled_status(
    cell: ManifestCell,
    folder: CellFolder,
    record: TrialRecord | None,
    waiting: Mapping[str, int],
    *,
    pending: Collection[str],
) -> CellStatus:
    if folder.is_busy():
        stats = folder.stats
        return CellStatus(
            cell,
            "running",
            folder.epochs_done(),
            gpu=stats.gpu(),
            peak_gpu_bytes=stats.peak_gpu_bytes(),
            stalled_seconds=stats.stalled_seconds(),
            line=stats.line(),
        )
    if cell.trial_key in pending:
        return CellStatus(cell, "pending", folder.epochs_done())
    if epoch := waiting.get(cell.trial_key):
        return CellStatus(cell, "waiting", epoch)
    if reason := folder.failure_since() or (record.reason if record else ""):
        return CellStatus(cell, Outcome.FAILED.value, folder.epochs_done(), reason)
    epochs = folder.epochs_done()
    return CellStatus(cell, Outcome.INTERRUPTED.value if epochs else "missing", epochs)


def _with_evaluating(
    cells: tuple[CellStatus, ...], evaluations: Iterable[SurveyedEvaluation], place: Storage
) -> tuple[CellStatus, ...]:
    """Return the cells of a running sweep with those noted whose evaluations are being made."""
    lacking = {
        surveyed.trial_key for surveyed in evaluations if surveyed.state is EvaluationState.TO_MAKE
    }
    return tuple(
        replace(cell, is_evaluating=CellFolder(place.cells, cell.cell.trial_key).is_busy())
        if cell.cell.trial_key in lacking
        else cell
        for cell in cells
    )


def _waiting(journals: Path, manifest: Manifest) -> Mapping[str, int]:
    """Return trial key -> epoch for the trials that wait for their promotion."""
    if manifest.search is None:
        return {}
    entries = stored_entries(journals, manifest.sweep)
    return waiting_trials(decisions_under(manifest.search.definition, entries))
