"""The arms of a sweep with the records of their trials: where tables and rankings start."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import mean
from typing import Any, Literal

from capsmodel.metrics import Objective
from sweeps.aggregation.statistics.intervals import (
    FEWEST_SPLITS,
    Interval,
    mean_interval,
)
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import (
    EPOCH_METRICS,
    METRIC_TEST_ERROR,
    Json,
    Outcome,
    TrialRecord,
)

CellState = Literal["counted", "failed", "diverged", "missing", "unfinished"]
GAPS: tuple[CellState, ...] = ("failed", "diverged", "missing", "unfinished")
_MOST_HELD_OUT = 1.0  # where a record does not say: half of them


@dataclass(frozen=True)
class ArmResults:
    """One arm and the record of each of its seeds, None where there is none.

    Attributes:
        trials: By seed, in the order of the manifest's cells.
        splits: Seed -> split of its data; empty where all have one.
    """

    arm: ManifestArm
    is_baseline: bool
    trials: dict[int, TrialRecord | None]
    splits: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def shown_name(self) -> str:
        """The arm's name as readers see it."""
        return one_line(self.arm.name)

    @cached_property
    def counted(self) -> Mapping[int, TrialRecord]:
        """The finished trials with a finite test error, by seed."""
        return {
            seed: trial
            for seed, trial in self.trials.items()
            if trial is not None and trial.is_counted
        }

    @property
    def tested_on(self) -> Json:
        """The settings of its data that decide the validation and test images; {} if unknown."""
        data: Any = self.arm.config.get("data")
        settings: Json = data if isinstance(data, dict) else {}
        return {name: value for name, value in settings.items() if name != "train_fraction"}

    @property
    def test_errors(self) -> dict[int, float]:
        """Test error of each counted trial, a fraction, by seed."""
        return {seed: trial.test_error or 0.0 for seed, trial in self.counted.items()}

    def errors(self, metric: str) -> dict[int, float]:
        """Return the values of an error by seed, as fractions, of the counted trials that have it.

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

        Ranking sees nothing else, so whether a trial enters does not depend on its test error.
        """
        by_seed = {
            seed: objective.value(trial.metrics)
            for seed, trial in self.trials.items()
            if trial is not None and trial.outcome is Outcome.FINISHED
        }
        return {
            s: value for s, value in by_seed.items() if value is not None and math.isfinite(value)
        }

    def by_split(self, values: Mapping[int, float]) -> Mapping[int, float]:
        """Return the mean over the seeds of each split; without splits the values themselves."""
        if not self.splits:
            return values
        of_split: dict[int, list[float]] = {}
        for seed, value in values.items():
            of_split.setdefault(self.splits[seed], []).append(value)
        return {split: mean(some) for split, some in of_split.items()}

    def interval(self, values: Mapping[int, float]) -> Interval:
        """Return the mean of one value per seed with its interval over seeds.

        Over splits, the mean of a split is one value, and the variance is enlarged because splits
        share images (see `two_way.over_splits`). With fewer than five splits there are no ends.
        """
        if not self.splits:
            return mean_interval(values.values())
        plain = mean_interval(self.by_split(values).values())
        mean, half = plain.mean, plain.half_width
        if mean is None or half is None or plain.n < FEWEST_SPLITS:
            return replace(plain, n=len(values), low=None, high=None)
        half *= math.sqrt(1 + plain.n * self.held_out)
        return replace(plain, n=len(values), low=mean - half, high=mean + half)

    @property
    def held_out(self) -> float:
        """Images held out for validation, divided by those trained on."""
        data: Any = self.arm.config.get("data")
        settings: Json = data if isinstance(data, dict) else {}
        share = settings.get("validation_fraction")
        of_train = settings.get("train_fraction", 1.0)
        if isinstance(share, float) and 0 < share < 1 and of_train:
            return share / ((1 - share) * of_train)
        return _MOST_HELD_OUT

    def count(self, state: CellState) -> int:
        """Return how many of the arm's cells are in a state."""
        return sum(cell_state(trial) == state for trial in self.trials.values())


def arm_results(manifest: Manifest, records: Mapping[str, TrialRecord]) -> tuple[ArmResults, ...]:
    """Return the arms that the sweep compares, in the manifest's order, each with its trials.

    Trials that only serve a plan's choice are left out: see `arms_as_trained`.

    Args:
        manifest: Says which trial key stands at which place.
        records: Records by trial key, in any order; those of other sweeps are ignored.
    """
    return arms_as_trained(manifest.compared(), records)


def arms_to_their_end(
    manifest: Manifest, records: Mapping[str, TrialRecord]
) -> tuple[ArmResults, ...]:
    """Return the arms that the sweep compares, without trials resumed after their early stop.

    Another sweep may have resumed such a trial; or this sweep did, for an arm drawn at random.
    """
    stopped = {(cell.arm, cell.seed) for cell in manifest.cells if cell.stopped}

    def has_gone_on(place: tuple[str, int], trial: TrialRecord | None) -> bool:
        return place in stopped and trial is not None and trial.outcome is not Outcome.PRUNED

    def trials(arm: ArmResults) -> dict[int, TrialRecord | None]:
        name = arm.arm.name
        return {s: None if has_gone_on((name, s), t) else t for s, t in arm.trials.items()}

    return tuple(replace(arm, trials=trials(arm)) for arm in arm_results(manifest, records))


def arms_as_trained(
    manifest: Manifest, records: Mapping[str, TrialRecord]
) -> tuple[ArmResults, ...]:
    """Return all arms with all trials, also those that only serve a plan's choice."""
    trials: dict[str, dict[int, TrialRecord | None]] = {arm.name: {} for arm in manifest.arms}
    for cell in manifest.cells:
        trials[cell.arm][cell.seed] = records.get(cell.trial_key)
    return tuple(
        ArmResults(
            arm=arm,
            is_baseline=arm.name == manifest.baseline,
            trials=trials[arm.name],
            splits=manifest.splits,
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


def gap_text(arm: ArmResults, states: Sequence[CellState] = GAPS) -> str:
    """Return how many of an arm's cells do not count, "" where all do: `1 failed, 2 missing`."""
    counts = [(arm.count(state), state) for state in states]
    return ", ".join(f"{count} {state}" for count, state in counts if count)


def identical_groups(arms: Sequence[ArmResults]) -> list[list[ArmResults]]:
    """Return the arms in groups of identical results, in the order of each group's first arm.

    Arms are identical if their last-epoch losses and errors are exactly equal on every seed: they
    are one arm in truth and count once. An arm with a cell that does not count is on its own.
    """
    groups: dict[object, list[ArmResults]] = {}
    for place, arm in enumerate(arms):
        groups.setdefault(_fingerprint(arm) or place, []).append(arm)
    return list(groups.values())


def _fingerprint(arm: ArmResults) -> tuple[tuple[float | None, ...], ...]:
    """Return every last-epoch metric of every seed, or nothing where a seed is not counted."""
    if len(arm.counted) < len(arm.trials):
        return ()
    names = (*EPOCH_METRICS, METRIC_TEST_ERROR)
    return tuple(
        (seed, *(getattr(trial, name) for name in names)) for seed, trial in arm.counted.items()
    )
