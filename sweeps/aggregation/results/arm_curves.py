"""Learning curves of arms: a value per seed at each epoch that all trials of the arm have."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sweeps.aggregation.results.arms import ArmResults, arms_to_their_end
from sweeps.aggregation.results.ranking import with_seeds
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord


@dataclass(frozen=True)
class ArmCurve:
    """The epochs that all finished trials of one arm have.

    Attributes:
        seeds: Those of the finished trials that have the metric.
        points: Epoch -> one value per seed, in the record's unit.
        is_cut: Whether some trial has more epochs than all have.
        num_unmeasured: Finished trials without the metric, as no part of theirs measures it.
    """

    arm: ArmResults
    seeds: tuple[int, ...]
    points: dict[int, tuple[float, ...]]
    is_cut: bool
    num_unmeasured: int = 0

    @property
    def means(self) -> list[float]:
        """Mean over the seeds, at each epoch."""
        return [math.fsum(values) / len(values) for values in self.points.values()]

    @property
    def ends(self) -> tuple[list[float], list[float]]:
        """Lowest and highest value of the seeds, at each epoch."""
        return [min(v) for v in self.points.values()], [max(v) for v in self.points.values()]


def finished_trials(manifest: Manifest, records: Mapping[str, TrialRecord]) -> list[TrialRecord]:
    """Return the trials that ran to their end in this sweep, of which curves are drawn."""
    finishing = [records.get(cell.trial_key) for cell in manifest.cells if cell.stopped is None]
    return [trial for trial in finishing if trial and trial.outcome is Outcome.FINISHED]


def arm_curves(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    histories: Mapping[str, Mapping[int, float]],
) -> list[ArmCurve]:
    """Return a curve per arm in the manifest's order, also of arms without a finished trial.

    Args:
        manifest: The sweep's arms and cells.
        records: Records by trial key.
        histories: Trial key -> epoch -> value of the metric, as `RecordStore.histories` gives it.
    """
    curves: list[ArmCurve] = []
    for arm in (_shown(manifest, arm) for arm in arms_to_their_end(manifest, records)):
        ended = {
            seed: histories.get(trial.trial_key)
            for seed, trial in arm.trials.items()
            if trial and trial.outcome is Outcome.FINISHED
        }
        finished = {seed: history for seed, history in ended.items() if history}
        common = sorted(set.intersection(*map(set, finished.values()))) if finished else []
        points = {epoch: tuple(history[epoch] for history in finished.values()) for epoch in common}
        is_cut = any(len(history) > len(common) for history in finished.values())
        num_unmeasured = len(ended) - len(finished)
        curves.append(ArmCurve(arm, tuple(finished), points, is_cut, num_unmeasured))
    return curves


def _shown(manifest: Manifest, arm: ArmResults) -> ArmResults:
    """Return an arm; a confirmed one without the seeds by which it was chosen."""
    confirmation = manifest.search.confirmation if manifest.search else None
    is_confirmed = confirmation is not None and arm.arm.name in confirmation.confirmed
    return with_seeds(arm, confirmation.seeds) if confirmation and is_confirmed else arm
