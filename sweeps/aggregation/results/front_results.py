"""The results of a search with two objectives: each proposal, and whether it is on the front."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from capsmodel.metrics import VALIDATION_ERROR, Objective
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.mean_errors import MeanOfArm, mean_of
from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.results.ranking import confirmed_arms, with_seeds
from sweeps.aggregation.results.search_results import SearchResults, search_results
from sweeps.aggregation.statistics.intervals import paired_difference
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, two_way
from sweeps.records.errors import BadInput
from sweeps.records.fronts import Point, dominates, front
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord

_NORMAL = 1.96  # of 95 %, two-sided
FrontState = Literal["front", "dominated", "within noise", "not judged", "beyond a limit"]


@dataclass(frozen=True)
class FrontArm:
    """An arm that ran to full length, with both of its objectives.

    Attributes:
        arm: With the search's own seeds.
        point: What to minimise: the mean of the objective as a cost, and the second objective.
        standing: "dominated" if an arm of the front is better by more than noise at no higher cost;
            "not judged" if one is better, but the noise is unknown; "beyond a limit" if it measured
            more than the search allows.
        dominated_by: Arms of the front that are better in one objective and no worse in the other.
        confirmed: The same arm with its fresh seeds; None where it was not confirmed.
    """

    arm: ArmResults
    point: Point
    standing: FrontState
    dominated_by: tuple[str, ...]
    confirmed: ArmResults | None

    @property
    def name(self) -> str:
        """Its name in the tables."""
        return self.arm.arm.name


@dataclass(frozen=True)
class FrontResults:
    """A search's proposals of full length, and its base.

    Attributes:
        arms: The proposals: those of the front first, each part by cost and number.
        base: None where it has not finished.
        predictions: By trial key.
    """

    results: SearchResults
    arms: tuple[FrontArm, ...]
    base: FrontArm | None
    predictions: Mapping[str, Predictions] = field(default_factory=dict[str, Predictions])

    @cached_property
    def front(self) -> tuple[FrontArm, ...]:
        """The proposals that no other dominates."""
        return tuple(arm for arm in self.arms if arm.standing == "front")

    def values(self, arm: ArmResults) -> dict[int, float]:
        """Return the objective of an arm by seed, in the record's unit."""
        return arm.chosen_by(self.results.objective)

    def mean(self, arm: ArmResults) -> MeanOfArm:
        """Return the mean of the objective of an arm."""
        metric = self.results.objective.metric.name
        return mean_of(arm, self.values(arm), metric, self.predictions)


def front_results(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    predictions: Mapping[str, Predictions] | None = None,
) -> FrontResults:
    """Return a search's proposals of full length and where they lie relative to the front.

    Args:
        manifest: Manifest of a search with a cost.
        records: Records by trial key; their order changes nothing.
        predictions: Predictions by trial key. Without them noise is judged over seeds only.

    Raises:
        BadInput: If the sweep is no search, or has one objective.
    """
    results = search_results(manifest, records)
    if not results.search.cost:
        raise BadInput(f"The search '{manifest.sweep}' has one objective, so it has no front.")
    everything = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    chosen_by = {name: with_seeds(arm, manifest.seeds) for name, arm in everything.items()}
    confirmed = {arm.arm.name: arm for arm in confirmed_arms(manifest, records)}
    base, confirmation = results.search.base, results.search.confirmation
    if confirmed and confirmation and base in everything:
        confirmed[base] = with_seeds(everything[base], confirmation.seeds)
    points = {
        result.proposal.arm: (results.cost(result.number), _cost(chosen_by, result.proposal.arm))
        for result in results.counted
    }
    beyond = {result.proposal.arm for result in results.beyond_limits}
    names = [name for name in points if name not in beyond]
    on_front = {names[place]: None for place in front([points[name] for name in names])}

    def front_arm(name: str, point: Point) -> FrontArm:
        better = [other for other in on_front if dominates(points[other], point)]
        verdicts = [
            is_worse(chosen_by[name], chosen_by[other], results.objective, predictions or {})
            for other in better
        ]
        standing = "beyond a limit" if name in beyond else _standing(verdicts)
        return FrontArm(chosen_by[name], point, standing, tuple(better), confirmed.get(name))

    arms = [front_arm(name, point) for name, point in points.items()]
    base_arm = None
    if results.base_value is not None:
        cost = results.objective.cost(results.base_value)
        base_arm = front_arm(base, (cost, _cost(chosen_by, base)))
    ranked = sorted(arms, key=lambda arm: (arm.standing != "front", arm.point[1], arm.point[0]))
    return FrontResults(results, tuple(ranked), base_arm, predictions or {})


def _standing(verdicts: Sequence[bool | None]) -> FrontState:
    """Return the state of an arm, given whether it is worse than each better arm of the front."""
    if not verdicts:
        return "front"
    if any(verdicts):
        return "dominated"
    return "not judged" if None in verdicts else "within noise"


def _cost(arms: Mapping[str, ArmResults], name: str) -> float:
    return float(arms[name].arm.num_parameters)


def is_worse(
    arm: ArmResults, other: ArmResults, objective: Objective, predictions: Mapping[str, Predictions]
) -> bool | None:
    """Return whether one arm is worse by the 95 % interval of the difference; None without one.

    For validation errors the interval is over images, and from three seeds on over seeds too; for
    other objectives over three seeds or more. It does not correct for choosing among arms.

    Args:
        arm: With the search's own seeds.
        other: The same of the arm compared with.
        objective: What they are chosen by.
        predictions: Predictions by trial key.
    """
    if objective == Objective(VALIDATION_ERROR):
        judged = _judged(arm, predictions), _judged(other, predictions)
        seeds = sorted(judged[0].keys() & judged[1].keys())
        pairs = [(judged[0][seed], judged[1][seed]) for seed in seeds]
        first = pairs[0][0] if pairs else None
        if first and all(each.shows_the_same(first) for pair in pairs for each in pair):
            differences = [values.errors - others.errors for values, others in pairs]
            return _is_above_zero(np.stack(differences), first.objects)
    values, others = (
        {seed: objective.cost(value) for seed, value in results.chosen_by(objective).items()}
        for results in (arm, other)
    )
    interval = paired_difference(values, others)
    return interval.low > 0 if interval.low is not None and interval.n >= FEWEST_SEEDS else None


def _is_above_zero(
    differences: Float[np.ndarray, "seeds images"], objects: Int[np.ndarray, " images"] | None
) -> bool:
    """Return whether the interval of the mean lies above 0.

    Two more images are taken to differ as much as the one that differs most.
    """
    if len(differences) >= FEWEST_SEEDS:
        way = two_way(differences, objects).with_rare_images
        return bool(way.mean > way.half_width())
    means = differences.mean(axis=0)
    if objects is not None:
        means = np.bincount(np.unique(objects, return_inverse=True)[1], weights=means)
    deviations = (means - means.mean()) ** 2
    error = np.sqrt(deviations.sum() + 2 * deviations.max())  # of the sum
    return bool(means.sum() > _NORMAL * error)


def _judged(arm: ArmResults, predictions: Mapping[str, Predictions]) -> dict[int, SplitPredictions]:
    """Return the validation predictions of an arm's trials, by seed."""
    validation = {
        seed: predictions[trial.trial_key].validation
        for seed, trial in arm.trials.items()
        if trial is not None and trial.trial_key in predictions
    }
    return {seed: judged for seed, judged in validation.items() if judged is not None}
