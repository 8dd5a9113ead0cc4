"""The state of each cell: before a launch a pure function of manifest, folders and records."""

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from enum import StrEnum

from capsmodel.metrics import VALIDATION_ERROR
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, ManifestCell
from sweeps.records.trial_record import Outcome, TrialRecord


class CellState(StrEnum):
    """The state of a cell before a launch. The first three are filled."""

    RECORDED = "recorded"
    TO_RECORD = "to record"
    STOPPED = "stopped early"
    NEW = "new"
    SHORTER = "trained shorter"
    UNFINISHED = "unfinished"
    WAITING = "waiting"
    FAILED = "failed before"


@dataclass(frozen=True)
class FolderState:
    """The state of a trial according to its cell's folder.

    Attributes:
        outcome: Outcome of the final record; None while the cell is empty.
        epochs: Number of epochs so far.
        failure: Why the last attempt failed, None if it did not.
        duration_seconds: Duration of those epochs.
        num_bytes: Size of a filled cell's files; 0 if its weights were deleted.
        validation_error: Of the last epoch of a finished trial, a fraction; None of any other.
    """

    outcome: Outcome | None = None
    epochs: int = 0
    failure: str | None = None
    duration_seconds: float = 0.0
    num_bytes: int = 0
    validation_error: float | None = None


@dataclass(frozen=True)
class SurveyedCell:
    """A cell and its state before a launch.

    Attributes:
        cell: Its place in the sweep.
        state: recorded, to record, stopped early, new, trained shorter, unfinished, waiting or
            failed before.
        epochs: Epochs trained so far, by a shorter training that it goes on from too.
        reason: Why it failed before, or cannot go on from a shorter training; else "".
        has_record: Whether the tracking store has any record of it.
        validation_error: Of the last epoch of a finished trial, a fraction; None of any other.
    """

    cell: ManifestCell
    state: CellState
    epochs: int = 0
    reason: str = ""
    has_record: bool = False
    validation_error: float | None = None

    @property
    def is_filled(self) -> bool:
        """Whether it needs no training."""
        return self.is_recorded or self.state is CellState.TO_RECORD

    @property
    def is_recorded(self) -> bool:
        """Whether the tracking store has all of it."""
        return self.state in {CellState.RECORDED, CellState.STOPPED}


@dataclass(frozen=True)
class CellStatus:
    """The status of a cell.

    Attributes:
        cell: Its place in the sweep.
        state: finished, diverged, failed or interrupted; pruned if this sweep's scheduler stopped
            it, missing if nothing is recorded, running if a process trains it, pending if it waits
            for one, waiting if it may be promoted.
        epoch: Epochs trained so far.
        reason: Why it did not finish; "" if it did.
        is_evaluating: Whether it is finished, and a process makes its evaluations.
        gpu: GPU of a running one, "" if it uses none.
        warnings: What is unsound in its training so far, a sentence each.
        peak_gpu_bytes: What a running one has held of its GPU at most, None if that is not known.
        stalled_seconds: How long a running one has gone without a batch, 0 while batches end.
        line: The line of code at which a running one was seen last, "" if that is not known.
    """

    cell: ManifestCell
    state: str
    epoch: int = 0
    reason: str = ""
    is_evaluating: bool = False
    gpu: str = ""
    peak_gpu_bytes: int | None = None
    warnings: tuple[str, ...] = ()
    stalled_seconds: int = 0
    line: str = ""


def surveyed(
    cells: Iterable[ManifestCell],
    folders: Mapping[str, FolderState],
    records: Mapping[str, TrialRecord],
    waiting: Collection[str] = (),
) -> tuple[SurveyedCell, ...]:
    """Return the state of each cell.

    Args:
        cells: The cells of the sweep after the launch.
        folders: By trial key; a key without a folder is left out.
        records: Records by trial key, likewise.
        waiting: Trial keys of trials that wait at a rung for their promotion.
    """
    stood = (
        replace(
            _surveyed(cell, folders.get(cell.trial_key), records.get(cell.trial_key)),
            has_record=cell.trial_key in records,
        )
        for cell in cells
    )
    return tuple(
        replace(cell, state=CellState.WAITING)
        if cell.state is CellState.UNFINISHED and cell.cell.trial_key in waiting
        else cell
        for cell in stood
    )


def _surveyed(
    cell: ManifestCell, folder: FolderState | None, record: TrialRecord | None
) -> SurveyedCell:
    folder = folder or FolderState()
    if cell.stopped:
        is_in_record = record and (record.outcome.is_final or record.outcome is Outcome.PRUNED)
        state = CellState.STOPPED if is_in_record else CellState.TO_RECORD
        return SurveyedCell(cell, state, cell.stopped.epoch)
    if record and record.outcome.is_final:
        error = record.value(VALIDATION_ERROR) if record.outcome is Outcome.FINISHED else None
        return SurveyedCell(
            cell, CellState.RECORDED, record.epochs, record.reason, validation_error=error
        )
    if folder.outcome:
        error = folder.validation_error
        return SurveyedCell(cell, CellState.TO_RECORD, folder.epochs, validation_error=error)
    if folder.failure:
        return SurveyedCell(cell, CellState.FAILED, folder.epochs, folder.failure)
    if folder.epochs:
        return SurveyedCell(cell, CellState.UNFINISHED, folder.epochs)
    if record and record.outcome is Outcome.FAILED:
        return SurveyedCell(cell, CellState.FAILED, 0, record.reason)
    return SurveyedCell(cell, CellState.NEW)


def epochs_taken_over(cells: Iterable[SurveyedCell]) -> dict[str, int]:
    """Return trial key -> epochs of a shorter training, of the cells that go on from one."""
    return {cell.cell.trial_key: cell.epochs for cell in cells if cell.state is CellState.SHORTER}


def dropped_cells(current: Manifest | None, new: Manifest) -> list[ManifestCell]:
    """Return the cells of the current manifest that are not in a new one.

    What a search has confirmed does not count: a longer search may choose others. Nor does a cell
    of a design whose arm has another name now: its trial is still there.
    """
    return [] if current is None else _not_in(new, current.proposed_cells())


def _not_in(new: Manifest, cells: Iterable[ManifestCell]) -> list[ManifestCell]:
    """Return those cells that are not in a manifest."""
    remaining = {(cell.arm, cell.seed, cell.trial_key) for cell in new.cells}
    standing = {arm.name for arm in new.arms}
    renamed = set[str]() if new.search else {cell.trial_key for cell in new.cells}
    return [
        cell
        for cell in cells
        if (cell.arm, cell.seed, cell.trial_key) not in remaining
        and (cell.arm in standing or cell.trial_key not in renamed)
    ]


def check_dropped_cells(
    current: Manifest | None,
    new: Manifest,
    filled: Set[str] | None = None,
    *,
    goes_on: bool = False,
) -> None:
    """Check that a launch drops no cells of the current manifest.

    An empty cell may change if its arm's settings are the same, so that only code has changed:
    somebody fixed a routing whose trials failed, and nothing is lost.

    Args:
        current: The current manifest, None for a new sweep.
        new: The manifest that the launch would make current.
        filled: Trial keys of dropped cells that hold a result; None means all of them.
        goes_on: Whether the launch would go on from shorter trainings.

    Raises:
        BadInput: It names what differs, and what to do.
    """
    if current is None:
        return
    dropped = dropped_cells(current, new)
    if current and filled is not None:
        mended = _same_places(current, new)
        dropped = [
            cell
            for cell in dropped
            if cell.trial_key in filled or (cell.arm, cell.seed) not in mended
        ]
    if not dropped:
        return
    proposed = {(cell.arm, cell.seed) for cell in current.proposed_cells()}
    confirmed = [cell for cell in current.cells if (cell.arm, cell.seed) not in proposed]
    num_dropped = len(dropped) + len(_not_in(new, confirmed))
    warm = f", and NEW may --warm-start {new.sweep}" if new.search and current.search else ""
    shorter = " Both flags go on from the shorter trainings." * goes_on
    raise BadInput(
        f"The sweep '{new.sweep}' exists already, and this launch leaves out {num_dropped} of "
        f"its {len(current.cells)} cells: {_difference(current, new)}. No record is deleted, but "
        f"those cells would no longer be in the sweep's table. --name NEW keeps both tables{warm}; "
        f"--replace goes on with this launch's cells alone; the settings of the last launch "
        f"continue that one.{shorter}"
    )


def _same_places(current: Manifest, new: Manifest) -> set[tuple[str, int]]:
    """Return the places (arm, seed) whose settings are the same in both."""
    old = {arm.name: arm.config for arm in current.arms}
    same = {arm.name for arm in new.arms if old.get(arm.name) == arm.config}
    return {(cell.arm, cell.seed) for cell in new.cells if cell.arm in same}


def _difference(current: Manifest, new: Manifest) -> str:
    arms = {arm.name: arm for arm in new.arms}
    differences: list[str] = []
    if current.search and new.search:
        return _search_difference(current, new)
    if current.plan and new.plan and current.plan.definition != new.plan.definition:
        differences.append("its plan's code or settings, its base or its seeds have changed")
    if gone := [seed for seed in current.seeds if seed not in new.seeds]:
        differences.append(f"the seeds {', '.join(map(str, gone))} are not in it")
    if gone := [arm.name for arm in current.arms if arm.name not in arms]:
        differences.append(f"the arms {', '.join(gone)} are not in it")
    if any(new.splits.get(seed) != current.splits.get(seed) for seed in current.seeds):
        differences.append("its seeds would be trained on other splits")
    shared_arms = [arm for arm in current.arms if arm.name in arms]
    changed = [
        path for arm in shared_arms for path in _changed_paths(arm.config, arms[arm.name].config)
    ]
    if changed:
        differences.append("other settings: " + ", ".join(list(dict.fromkeys(changed))[:5]))
    return "; ".join(differences) or "its data or the code of its parts have changed"


def _search_difference(current: Manifest, new: Manifest) -> str:
    """Return the difference of two searches, in the words of their definitions."""
    assert current.search is not None
    assert new.search is not None
    if current.search.definition == new.search.definition:
        if new.search.num_trials >= len(current.search.proposals):
            return "its data or the code of its parts have changed"
        return f"it proposed {len(current.search.proposals)}, and {new.search.num_trials} are asked"
    before, after = current.search, new.search
    names = ("objective", "sampler", "scheduler", "dimensions", "limits", "forbidden")
    names += ("num_startup", "rules")
    differing = [name for name in names if getattr(before, name) != getattr(after, name)]
    if "limits" not in differing and before.measured_limits != after.measured_limits:
        differing.append("limits")
    differing += ["seeds"] * (current.seeds != new.seeds)
    if before.balance and not after.balance:  # without balance it goes on as it began
        differing = differing or ["balance"]
    shown_names = {"dimensions": "space", "num_startup": "startup", "forbidden": "forbid"}
    names = ", ".join(shown_names.get(name, name) for name in differing or ["base or data"])
    return f"its {names} would change"


def _changed_paths(old: object, new: object, path: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        names = [*old, *(name for name in new if name not in old)]
        return [
            change
            for name in names
            for change in _changed_paths(old.get(name), new.get(name), f"{path}.{name}".strip("."))
        ]
    before, after = ("unset" if value is None else value for value in (old, new))
    return [] if old == new else [f"{path} {before} -> {after}"]
