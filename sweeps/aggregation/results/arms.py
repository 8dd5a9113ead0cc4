"""A sweep's arms with their trials put in place: what tables, figures and rankings start from."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from capsmodel.metrics import Objective
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.trial_record import Outcome, TrialRecord

CellState = Literal["counted", "failed", "diverged", "missing", "unfinished"]


@dataclass(frozen=True)
class ArmResults:
    """One arm and the record of each of its seeds, None where there is none.

    Attributes:
        trials: By seed, in the order of the manifest's cells.
    """

    arm: ManifestArm
    is_baseline: bool
    trials: dict[int, TrialRecord | None]

    @property
    def counted(self) -> dict[int, TrialRecord]:
        """The finished trials with a finite test error, by seed."""
        return {
            seed: trial
            for seed, trial in self.trials.items()
            if trial is not None and trial.is_counted
        }

    @property
    def test_errors(self) -> dict[int, float]:
        """Test error of each counted trial, a fraction, by seed."""
        return {seed: trial.test_error or 0.0 for seed, trial in self.counted.items()}

    def errors(self, metric: str) -> dict[int, float]:
        """Return an error of each counted trial, a fraction, by seed, of those that hold it.

        Args:
            metric: `validation_error`, `test_error`, or `test_error.` and the name of an extra
                test.
        """
        by_seed = {seed: trial.value(metric) for seed, trial in self.counted.items()}
        return {
            seed: error
            for seed, error in by_seed.items()
            if error is not None and math.isfinite(error)
        }

    def chosen_by(self, objective: Objective) -> dict[int, float]:
        """Return the last-epoch objective of each finished trial, by seed, in the record's unit.

        All that ranking may see: whether a trial enters does not depend on its test error.
        """
        by_seed = {
            seed: objective.value(trial.metrics)
            for seed, trial in self.trials.items()
            if trial is not None and trial.outcome is Outcome.FINISHED
        }
        return {
            s: value for s, value in by_seed.items() if value is not None and math.isfinite(value)
        }

    def count(self, state: CellState) -> int:
        """Return how many of the arm's cells are in a state."""
        return sum(cell_state(trial) == state for trial in self.trials.values())


def arm_results(manifest: Manifest, records: Mapping[str, TrialRecord]) -> tuple[ArmResults, ...]:
    """Return the arms in the manifest's order, each with its trials.

    Args:
        manifest: Says which trial key stands at which place.
        records: By trial key, in any order; others than the manifest's are ignored.
    """
    trials: dict[str, dict[int, TrialRecord | None]] = {arm.name: {} for arm in manifest.arms}
    for cell in manifest.cells:
        trials[cell.arm][cell.seed] = records.get(cell.trial_key)
    return tuple(
        ArmResults(
            arm=arm,
            is_baseline=arm.name == manifest.baseline,
            trials=trials[arm.name],
        )
        for arm in manifest.arms
    )


def cell_state(trial: TrialRecord | None) -> CellState:
    """Return what a table may do with a cell: count its trial, or say why it cannot."""
    if trial is None:
        return "missing"
    if trial.is_counted:
        return "counted"
    if trial.outcome is Outcome.DIVERGED:
        return "diverged"
    if trial.outcome in {Outcome.FAILED, Outcome.FINISHED}:
        return "failed"
    return "unfinished"


def cell_reason(trial: TrialRecord | None) -> str:
    """Return why a cell does not count, empty where nothing more is known."""
    if trial is None:
        return ""
    if trial.outcome is Outcome.FINISHED and not trial.is_counted:
        return "finished without a finite test error"
    if cell_state(trial) == "unfinished":
        after = f"{trial.outcome} after {trial.epochs} epoch{'s' * (trial.epochs != 1)}"
        return f"{after}: {trial.reason}" if trial.reason else after
    return trial.reason
