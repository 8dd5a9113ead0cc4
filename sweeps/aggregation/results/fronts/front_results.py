"""What came of a search with two objectives: each proposal beside the front."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.fronts.noise import is_worse
from sweeps.aggregation.results.judged import Predictions
from sweeps.aggregation.results.ranking import confirmed_arms, with_seeds
from sweeps.aggregation.results.search_results import SearchResults, search_results
from sweeps.records.errors import BadInput
from sweeps.records.fronts import Point, dominates, front
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord

Standing = Literal["front", "dominated", "within noise", "not judged"]


@dataclass(frozen=True)
class FrontArm:
    """An arm that ran to full length, with both of its objectives.

    Attributes:
        arm: With the seeds that the search went by.
        point: What is to be small: the mean of the objective as a cost, and the other one.
        standing: Dominated is what an arm of the front beats by more than noise at no higher cost;
            "not judged" what one beats, where nothing says by how much they could differ.
        dominated_by: Those of the front that are better in one objective and no worse in both.
        again: The same arm with its fresh seeds, None where it was not confirmed.
    """

    arm: ArmResults
    point: Point
    standing: Standing
    dominated_by: tuple[str, ...]
    again: ArmResults | None

    @property
    def name(self) -> str:
        """What the tables call it."""
        return self.arm.arm.name


@dataclass(frozen=True)
class FrontResults:
    """The proposals of a search that ran to full length, and its base.

    Attributes:
        arms: The proposals, those of the front first; by cost, then in their order.
        base: None where it has not finished.
    """

    results: SearchResults
    arms: tuple[FrontArm, ...]
    base: FrontArm | None

    @cached_property
    def front(self) -> tuple[FrontArm, ...]:
        """Those that none of the proposals dominates."""
        return tuple(arm for arm in self.arms if arm.standing == "front")

    def values(self, arm: ArmResults) -> dict[int, float]:
        """Return the objective of an arm by seed, as the records hold it."""
        return arm.chosen_by(self.results.objective)


def front_results(
    manifest: Manifest,
    records: Mapping[str, TrialRecord],
    predictions: Mapping[str, Predictions] | None = None,
) -> FrontResults:
    """Return each proposal of full length beside the front.

    Args:
        manifest: Of a search with a cost.
        records: By trial key; their order changes nothing.
        predictions: By trial key. Without them noise is judged over seeds alone.

    Raises:
        BadInput: If the sweep is no search, or has one objective.
    """
    results = search_results(manifest, records)
    if not results.search.cost:
        raise BadInput(f"The search '{manifest.sweep}' has one objective, so it has no front.")
    everything = {arm.arm.name: arm for arm in arm_results(manifest, records)}
    chosen_by = {name: with_seeds(arm, manifest.seeds) for name, arm in everything.items()}
    again = {arm.arm.name: arm for arm in confirmed_arms(manifest, records)}
    base, confirmation = results.search.base, results.search.confirmation
    if again and confirmation and base in everything:
        again[base] = with_seeds(everything[base], confirmation.seeds)
    points = {
        result.proposal.arm: (results.cost(result.number), _cost(chosen_by, result.proposal.arm))
        for result in results.counted
    }
    names = list(points)
    on_front = {names[place]: None for place in front([*points.values()])}

    def found(name: str, point: Point) -> FrontArm:
        better = [other for other in on_front if dominates(points[other], point)]
        told = [
            is_worse(chosen_by[name], chosen_by[other], results.objective, predictions or {})
            for other in better
        ]
        standing: Standing = "front"
        if better:
            is_told = any(told)
            standing = "dominated" if is_told else "not judged" if None in told else "within noise"
        return FrontArm(chosen_by[name], point, standing, tuple(better), again.get(name))

    arms = [found(name, point) for name, point in points.items()]
    own = None
    if results.base_value is not None:
        cost = results.objective.cost(results.base_value)
        own = found(base, (cost, _cost(chosen_by, base)))
    ranked = sorted(arms, key=lambda arm: (arm.standing != "front", arm.point[1], arm.point[0]))
    return FrontResults(results, tuple(ranked), own)


def _cost(arms: Mapping[str, ArmResults], name: str) -> float:
    return float(arms[name].arm.num_parameters)
