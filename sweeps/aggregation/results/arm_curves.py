"""The epochs of each arm's trials: one value a seed, as far as all of them have it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sweeps.aggregation.results.arms import ArmResults, arms_to_their_end
from sweeps.aggregation.results.ranking import with_seeds
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord


@dataclass(frozen=True)
class ArmCurve:
    """One arm's epochs, as far as each of its trials that enter has them.

    Attributes:
        seeds: Whose trials enter: those that ran to their end.
        points: Epoch -> one value a seed, as the records hold it.
    """

    arm: ArmResults
    seeds: tuple[int, ...]
    points: dict[int, tuple[float, ...]]
    is_cut: bool

    @property
    def means(self) -> list[float]:
        """Mean over the seeds, an epoch each."""
        return [math.fsum(values) / len(values) for values in self.points.values()]

    @property
    def ends(self) -> tuple[list[float], list[float]]:
        """Lowest and highest of the seeds, an epoch each."""
        return [min(v) for v in self.points.values()], [max(v) for v in self.points.values()]


def finished_trials(manifest: Manifest, records: Mapping[str, TrialRecord]) -> list[TrialRecord]:
    """Return the trials that curves are drawn of: those that ran to their end in this sweep."""
    kept = [records.get(cell.trial_key) for cell in manifest.cells if cell.stopped is None]
    return [trial for trial in kept if trial and trial.outcome is Outcome.FINISHED]


def arm_curves(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    histories: Mapping[str, Mapping[int, float]],
) -> list[ArmCurve]:
    """Return the arms' curves in the manifest's order, those without a finished trial as well.

    Args:
        manifest: The sweep's arms and cells.
        records: By trial key.
        histories: Trial key -> epoch -> value of the metric, as `RecordStore.histories` gives it.
    """
    curves: list[ArmCurve] = []
    for arm in (_shown(manifest, arm) for arm in arms_to_their_end(manifest, records)):
        own = {
            seed: histories[trial.trial_key]
            for seed, trial in arm.trials.items()
            if trial and trial.outcome is Outcome.FINISHED and histories.get(trial.trial_key)
        }
        common = sorted(set.intersection(*map(set, own.values()))) if own else []
        points = {epoch: tuple(history[epoch] for history in own.values()) for epoch in common}
        is_cut = any(len(history) > len(common) for history in own.values())
        curves.append(ArmCurve(arm, tuple(own), points, is_cut))
    return curves


def _shown(manifest: Manifest, arm: ArmResults) -> ArmResults:
    """Return an arm; one that was run again without the seeds that it was chosen by."""
    again = manifest.search.confirmation if manifest.search else None
    is_again = again is not None and arm.arm.name in again.confirmed
    return with_seeds(arm, again.seeds) if again and is_again else arm
