"""A sweep's arms, best first: by validation alone, and in a search by the seeds that count."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sweeps.aggregation.results.arms import ArmResults, arm_results, cell_state
from sweeps.aggregation.results.search_results import search_results
from sweeps.aggregation.results.statistics import Interval, mean_interval
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import METRIC_VALIDATION_ERROR, Outcome, TrialRecord


@dataclass(frozen=True)
class RankedArm:
    """An arm with the trials that rank it.

    Attributes:
        arm: With the seeds alone that it is ranked by.
        objective: The metric that ranks: last-epoch validation error, in a search its objective.
        is_confirmed: Whether those seeds had no part in finding it.
    """

    arm: ArmResults
    objective: str
    is_confirmed: bool

    @property
    def value(self) -> Interval:
        """Mean of the objective over the seeds, in the record's unit."""
        return mean_interval(self.values.values())

    @property
    def values(self) -> dict[int, float]:
        """The objective of each finished trial, by seed."""
        return objective_values(self.arm, self.objective)


def ranking(manifest: Manifest, records: Mapping[str, TrialRecord]) -> list[RankedArm]:
    """Return the arms that have a result, the lowest mean of the objective first.

    Of a design all arms are ranked, each by its finished trials. Of a search those that were run
    again, by these fresh seeds alone; until all those trials have ended, the proposals that ran to
    full length, by the search's seeds. Test figures play no part, and equal means keep the order
    of the arms. An arm whose fresh trials have not all finished stands behind those whose have.
    """
    ranked = [arm for arm in _candidates(manifest, records) if arm.values]
    # means of the same counts may differ in the last bit
    return sorted(ranked, key=lambda arm: (not arm.is_confirmed, round(arm.value.mean or 0.0, 12)))


def confirmed_arms(
    manifest: Manifest, records: Mapping[str, TrialRecord]
) -> tuple[ArmResults, ...]:
    """Return the arms that a search chose to run again, each with its fresh seeds alone."""
    again = manifest.search.confirmation if manifest.search else None
    if again is None or again.arms is None:
        return ()
    arms = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    return tuple(with_seeds(arms[name], again.seeds) for name in again.arms)


def with_seeds(arm: ArmResults, seeds: Sequence[int]) -> ArmResults:
    """Return the arm with those of its trials that have one of the seeds."""
    return replace(arm, trials={seed: arm.trials[seed] for seed in seeds if seed in arm.trials})


def objective_values(arm: ArmResults, objective: str) -> dict[int, float]:
    """Return the last-epoch objective of each finished trial, by seed, in the record's unit."""
    values = {
        seed: getattr(trial, objective)
        for seed, trial in arm.trials.items()
        if trial is not None and trial.outcome is Outcome.FINISHED
    }
    return {seed: v for seed, v in values.items() if v is not None and math.isfinite(v)}


def _candidates(manifest: Manifest, records: Mapping[str, TrialRecord]) -> list[RankedArm]:
    if manifest.search is None:
        arms = arm_results(manifest, records)
        return [RankedArm(arm, METRIC_VALIDATION_ERROR, is_confirmed=True) for arm in arms]
    objective = manifest.search.objective
    chosen = confirmed_arms(manifest, records)
    if chosen and all(_has_ended(arm) for arm in chosen):
        return [RankedArm(arm, objective, is_confirmed=_is_whole(arm, objective)) for arm in chosen]
    whole = {one.proposal.arm for one in search_results(manifest, records).counted}
    return [
        RankedArm(with_seeds(arm, manifest.seeds), objective, is_confirmed=False)
        for arm in arm_results(manifest, records)
        if arm.arm.name in whole
    ]


def _is_whole(arm: ArmResults, objective: str) -> bool:
    return len(objective_values(arm, objective)) == len(arm.trials)


def _has_ended(arm: ArmResults) -> bool:
    return all(cell_state(trial) not in {"missing", "unfinished"} for trial in arm.trials.values())
