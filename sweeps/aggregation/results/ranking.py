"""A sweep's arms, best first: by validation alone, and in a search by the seeds that count."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import cast

from capsmodel.metrics import VALIDATION_LOSS, Objective
from sweeps.aggregation.results.arms import ArmResults, arm_results, cell_state
from sweeps.aggregation.results.search_results import search_results
from sweeps.records.fronts import front
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Json, TrialRecord


@dataclass(frozen=True)
class RankedArm:
    """An arm with the trials that rank it.

    Attributes:
        arm: With only those seeds that rank it.
        objective: Last-epoch validation error, or the search's objective.
        is_confirmed: Whether those seeds played no part in choosing it.
    """

    arm: ArmResults
    objective: Objective
    is_confirmed: bool

    @cached_property
    def mean(self) -> float | None:
        """Mean of the objective over the seeds, in the record's unit."""
        return self.arm.interval(self.values).mean

    @cached_property
    def cost(self) -> float:
        """What is small for a good arm, rounded as equal means may differ in the last bit."""
        return round(self.objective.cost(self.mean or 0.0), 12)

    @cached_property
    def is_whole(self) -> bool:
        """Whether every one of its trials has finished."""
        return len(self.values) == len(self.arm.trials)

    @cached_property
    def loss(self) -> float:
        """Mean validation loss over the same seeds, infinite where it is not known."""
        losses = self.arm.chosen_by(Objective(VALIDATION_LOSS))
        mean = self.arm.interval(losses).mean
        return math.inf if mean is None else round(mean, 12)

    @cached_property
    def values(self) -> dict[int, float]:
        """The objective of each finished trial, by seed."""
        return self.arm.chosen_by(self.objective)


def ranking(manifest: Manifest, records: Mapping[str, TrialRecord]) -> list[RankedArm]:
    """Return the arms with a result, that of the best mean objective first.

    In a design all arms are ranked, each by its finished trials. In a search the confirmed arms are
    ranked by their fresh seeds only; until all of those trials have ended, the proposals of full
    length within the limits are ranked by the search's seeds. Test figures play no part. Arms with
    a failed, diverged or missing trial come after the complete ones, and arms whose fresh trials
    have not all finished after those whose have. Equal means are ordered by validation loss if all
    arms have the same loss and reconstruction, else by the order of the arms.

    In a search with a cost only the arms of the front are ranked, by the fresh seeds of the
    confirmed ones or by the search's own. None has more parameters than those before it.
    """
    ranked = [arm for arm in _candidates(manifest, records) if arm.values]
    if manifest.search and manifest.search.cost:
        ranked = _of_the_front(ranked)
    placed = sorted(ranked, key=_place)
    if len({_loss_settings(arm) for arm in ranked}) > 1:
        return placed
    by_loss = attrgetter("loss")
    equals = (list(some) for _, some in groupby(placed, _place))
    return [arm for some in equals for arm in (sorted(some, key=by_loss) if some[1:] else some)]


def _place(arm: RankedArm) -> tuple[bool, bool, float]:
    return not arm.is_confirmed, not arm.is_whole, arm.cost


def first_choice(manifest: Manifest, records: Mapping[str, TrialRecord]) -> str | None:
    """Return the arm that a search chose first, None while no proposal can be chosen.

    It was chosen before its results on fresh seeds were known; else it is the best so far.
    """
    confirmation = manifest.search.confirmation if manifest.search else None
    chosen = (confirmation and confirmation.arms) or ()
    ranked = () if chosen else ranking(manifest, records)
    return next(iter((*chosen, *(arm.arm.arm.name for arm in ranked))), None)


def without_place(manifest: Manifest, records: Mapping[str, TrialRecord]) -> tuple[ArmResults, ...]:
    """Return the arms of a design without a finished trial, which have no rank."""
    if manifest.search:
        return ()
    arms = arm_results(manifest, records)
    return tuple(arm for arm in arms if not arm.chosen_by(manifest.objective))


def confirmed_arms(
    manifest: Manifest, records: Mapping[str, TrialRecord]
) -> tuple[ArmResults, ...]:
    """Return the arms that a search chose to confirm, each with only its fresh seeds."""
    confirmation = manifest.search.confirmation if manifest.search else None
    if confirmation is None or confirmation.arms is None:
        return ()
    arms = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    return tuple(with_seeds(arms[name], confirmation.seeds) for name in confirmation.arms)


def with_seeds(arm: ArmResults, seeds: Sequence[int]) -> ArmResults:
    """Return the arm with only the trials of some seeds."""
    return replace(arm, trials={seed: arm.trials[seed] for seed in seeds if seed in arm.trials})


def _candidates(manifest: Manifest, records: Mapping[str, TrialRecord]) -> list[RankedArm]:
    objective = manifest.objective
    if manifest.search is None:
        arms = arm_results(manifest, records)
        return [RankedArm(arm, objective, is_confirmed=True) for arm in arms]
    chosen = confirmed_arms(manifest, records)
    if chosen and all(_has_ended(arm) for arm in chosen):
        return [RankedArm(arm, objective, is_confirmed=_is_whole(arm, objective)) for arm in chosen]
    candidates = {result.proposal.arm for result in search_results(manifest, records).candidates}
    return [
        RankedArm(with_seeds(arm, manifest.seeds), objective, is_confirmed=False)
        for arm in arm_results(manifest, records)
        if arm.arm.name in candidates
    ]


def _of_the_front(arms: Sequence[RankedArm]) -> list[RankedArm]:
    complete = [arm for arm in arms if arm.is_whole] or [*arms]
    points = [(arm.cost, float(arm.arm.arm.num_parameters)) for arm in complete]
    return [complete[place] for place in front(points)]


def _loss_settings(arm: RankedArm) -> str:
    """Return all that the loss depends on besides the weights, as text to compare."""
    config = arm.arm.arm.config
    model = config.get("model")
    decoder = cast(Json, model).get("reconstruction") if isinstance(model, dict) else None
    return json.dumps([config.get("loss"), decoder], sort_keys=True, default=str)


def _is_whole(arm: ArmResults, objective: Objective) -> bool:
    return len(arm.chosen_by(objective)) == len(arm.trials)


def _has_ended(arm: ArmResults) -> bool:
    return all(cell_state(trial) not in {"missing", "unfinished"} for trial in arm.trials.values())
