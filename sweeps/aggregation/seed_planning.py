"""How many seeds and test images it takes to find a difference, by the spread of trained arms."""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import count, islice

import numpy as np

from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.comparisons import (
    NO_SPREAD,
    TOO_FEW_ERRORS,
    Comparison,
    comparisons,
    evidence_needed,
    few_errors,
)
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.statistics.arm_spread import (
    ArmSpread,
    joined_degrees,
    pooled,
    set_apart,
    with_errors,
    with_others,
)
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.power import (
    FEWEST_ERRORS,
    POWER,
    Requirement,
    VarianceParts,
    detectable,
    power_of_rule,
)
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord

MOST_SEEDS = 10_000
MOST_PILOT_SEEDS = 10
"""Seeds 0 to 9 are where pilots are looked for."""
LIKELY, SAFE = 0.5, 0.8  # confidence of the spread that is reckoned with
_WITHOUT_END = 10**9


@dataclass(frozen=True)
class NeededSeeds:
    """The number of seeds needed; None if `MOST_SEEDS` are not enough.

    Attributes:
        likely: By a spread that is as often too large as too small.
        safe: By a spread that is large enough with 80 % confidence: the number to plan.
    """

    likely: int | None
    safe: int | None


@dataclass(frozen=True)
class Pilot:
    """The trials before planning. Only their spread is used, never which arm was better.

    The spread over seeds is pooled over arms, as three seeds of one arm say little. An arm that is
    apart has its own. The spread over images is each arm's own.

    Attributes:
        arms: Compared arms with three seeds and predictions.
        num_compared: Number of comparisons in the sweep's table.
        num_images: Number of test images.
        without: Names of arms without a spread yet, which are assumed to be like the others.
    """

    arms: tuple[ArmSpread, ...]
    num_compared: int
    num_images: int
    without: tuple[str, ...] = ()

    @property
    def num_clusters(self) -> int:
        """Number of images, or of objects where several images show one."""
        return self.arms[0].way.num_clusters

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that any arm has."""
        return tuple(sorted({seed for arm in self.arms for seed in arm.differences}))

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the pooled spread over seeds; the arms share the baseline."""
        return joined_degrees(pooled(self.arms))

    def parts(self, confidence: float) -> dict[str, VarianceParts]:
        """Return upper limits of the variance parts, by arm.

        The confidence says how often they are no smaller than the true parts. With 0.5 they are as
        often too large as too small.

        Source: upper limits of variances for sample sizes: Browne 1995, On the use of a pilot
        sample for sample size determination.
        """
        together = pooled(self.arms)
        of_all = float(np.mean([arm.of_seeds for arm in together]))
        rest = float(np.mean([arm.of_rest for arm in together]))
        of_seeds = _limit(of_all, self.degrees, confidence) - rest

        def parts_of(arm: ArmSpread) -> VarianceParts:
            clusters = arm.way.num_clusters
            alone = _limit(arm.of_seeds, arm.degrees, confidence) - arm.of_rest
            images = _limit(float(arm.way.over_images), clusters - 1.0, confidence)
            residual = float(arm.way.residual)
            seen = with_errors(VarianceParts.of(arm.way), self.arms, clusters)
            return replace(
                seen,
                of_seeds=max(alone if arm.is_apart else of_seeds, 0.0),
                of_images=max(images - residual, 0.0) * clusters,
            )

        return {arm.arm: parts_of(arm) for arm in self.arms}


@dataclass(frozen=True)
class SeedsNeeded:
    """How many seeds and images it takes to find a difference.

    Attributes:
        pilot: What they were computed from.
        each_arm: Fresh seeds for each arm alone, by name.
        with_pilot_seeds: All seeds, if those of the pilot stay in the table. They were looked at,
            so more evidence is needed.
        at_best: The smallest difference that any number of seeds can find with these images.
        images: With so many images, seeds and images limit the result about equally; None where
            the present images do not limit it.
        with_images: Fresh seeds needed with that many images.
    """

    pilot: Pilot
    each_arm: dict[str, NeededSeeds]
    with_pilot_seeds: NeededSeeds
    at_best: float
    images: int | None = None
    with_images: NeededSeeds | None = None

    @property
    def all_arms(self) -> NeededSeeds:
        """Fresh seeds, for all arms together."""
        each = self.each_arm.values()
        return NeededSeeds(
            _most([needed.likely for needed in each]), _most([needed.safe for needed in each])
        )


def seeds_needed(pilot: Pilot, effect: float, power: float = POWER) -> SeedsNeeded:
    """Return how many seeds and images it takes to find a difference in each arm of a table.

    It uses the rule of tables: Holm's first step over all comparisons, by seeds and images. An arm
    that errs more varies more than those of the pilot did.

    Args:
        pilot: The trials so far.
        effect: The true difference of test errors that is to be found, a fraction.
        power: How often an arm that differs by it is to be found different.
    """
    num, clusters = pilot.num_compared, pilot.num_clusters
    fresh = Requirement(SIGNIFICANCE / num, num_sharing=num)
    after_looking = Requirement(fresh.level / 2, evidence_needed(num), num)
    likely, safe = (with_others(pilot.parts(sure)) for sure in (LIKELY, SAFE))

    def needed(
        names: Collection[str], asked: Requirement, num_clusters: int = clusters
    ) -> NeededSeeds:
        find = partial(num_seeds_to_find, requirement=asked, power=power)
        num_likely, num_safe = (
            find([arms[name] for name in names], num_clusters, effect) for arms in (likely, safe)
        )
        return NeededSeeds(num_likely, num_safe)

    def without_end(parts: VarianceParts, num_clusters: int, effect: float) -> float:
        return power_of_rule(parts, _WITHOUT_END, num_clusters, effect, requirement=fresh)

    def are_found(num_clusters: int) -> bool:
        return all(without_end(parts, num_clusters, effect) >= power for parts in alone)

    alone = [parts for parts, _ in likely.values()]
    at_best = max(
        detectable(partial(without_end, parts, clusters), power) if parts.of_images else 0.0
        for parts in alone
    )
    images = _first(range(clusters, _WITHOUT_END), are_found) if at_best > effect else None
    twice = 2 * (images or 0)  # which then cause half of the variance that is allowed
    return SeedsNeeded(
        pilot=pilot,
        each_arm={name: needed([name], fresh) for name in likely},
        with_pilot_seeds=needed(likely, after_looking),
        at_best=at_best,
        images=math.ceil(twice * pilot.num_images / clusters) if twice else None,
        with_images=needed(likely, fresh, twice) if twice else None,
    )


def num_seeds_to_find(
    arms: Collection[tuple[VarianceParts, VarianceParts]],
    num_clusters: int,
    effect: float,
    *,
    requirement: Requirement,
    power: float = POWER,
) -> int | None:
    """Return how many seeds find the difference in each arm; None if `MOST_SEEDS` do not.

    Args:
        arms: The variance parts of each, and of the other arms of its table.
        num_clusters: Number of images, or of objects where several images show one.
        effect: The true difference, a fraction.
        requirement: What the verdict requires.
        power: How often it is to be found.
    """

    def are_found(num: int) -> bool:
        powers = (
            power_of_rule(parts, num, num_clusters, effect, requirement=requirement, others=others)
            for parts, others in arms
        )
        return all(achieved >= power for achieved in powers)

    return _first(range(FEWEST_SEEDS, MOST_SEEDS + 1), are_found)


def _most(numbers: Collection[int | None]) -> int | None:
    """Return the largest, None where one is unknown."""
    known = [number for number in numbers if number is not None]
    return max(known) if len(known) == len(numbers) else None


def _first(numbers: range, is_enough: Callable[[int], bool]) -> int | None:
    """Return the first number that is enough; all after it are enough too."""
    place = bisect_left(numbers, True, key=is_enough)
    return numbers[place] if place < len(numbers) else None


@dataclass(frozen=True)
class TrainedArms:
    """The trials of a sweep's arms, whatever sweep trained them.

    Attributes:
        manifest: With the seeds of which any arm has a record.
        records: Records by trial key.
        predictions: Predictions by trial key.
    """

    manifest: Manifest
    records: Mapping[str, TrialRecord]
    predictions: Mapping[str, Predictions]

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds that any arm was trained with, finished or not."""
        return self.manifest.seeds

    @cached_property
    def spread(self) -> Pilot | str:
        """The pilot of these trials, or why there is none."""
        baseline = next(arm for arm in self._arms if arm.is_baseline)
        return pilot_of(comparisons(self._arms, self.predictions), baseline.test_errors)

    @property
    def pilot_seeds(self) -> tuple[int, ...]:
        """Seeds to train so that there is a pilot; empty where none would help.

        Three, without seeds that some arm has lost; more if that many gave no spread, or too few
        errors: as many as will have enough, if these are not too many.
        """
        usable = [
            seed for seed in self.seeds if all(self._is_usable(arm, seed) for arm in self._arms)
        ]
        num = FEWEST_SEEDS * (1 + len(usable) // FEWEST_SEEDS)
        if len(usable) >= FEWEST_SEEDS and self.spread == TOO_FEW_ERRORS:
            num = self._num_seeds_with_errors
            if num > MOST_PILOT_SEEDS:
                return ()
        elif len(usable) >= FEWEST_SEEDS and self.spread != NO_SPREAD:
            return ()
        return tuple(islice((seed for seed in count() if not self._is_lost(seed)), int(num)))

    @property
    def _num_seeds_with_errors(self) -> float:
        """How many seeds will show enough errors of the baseline, at the rate so far."""
        baseline = next(arm for arm in self._arms if arm.is_baseline)
        images = [len(predicted.test.labels) for predicted in self.predictions.values()]
        each = max(images, default=0) * float(np.mean([*baseline.test_errors.values()]))
        return math.ceil(FEWEST_ERRORS / each) if each else math.inf

    @cached_property
    def _arms(self) -> tuple[ArmResults, ...]:
        return arm_results(self.manifest, self.records)

    def _is_usable(self, arm: ArmResults, seed: int) -> bool:
        trial = arm.counted.get(seed)
        return trial is not None and trial.trial_key in self.predictions

    def _is_lost(self, seed: int) -> bool:
        """Return whether a trial of a seed ended without a result that can be compared."""
        ended = [(arm, arm.trials.get(seed)) for arm in self._arms]
        return any(
            trial is not None and trial.outcome.is_final and not self._is_usable(arm, seed)
            for arm, trial in ended
        )


def pilot_of(compared: Sequence[Comparison], baseline: Mapping[int, float]) -> Pilot | str:
    """Return the pilot of a sweep, or why there is none.

    Args:
        compared: All comparisons of the sweep's table, as far as they were trained.
        baseline: Test errors of the baseline, by seed.
    """
    spread = [
        ArmSpread(comparison.arm.arm.name, comparison.arm.test_errors, baseline, comparison.way)
        for comparison in compared
        if comparison.way is not None
    ]
    if not spread:
        reasons = dict.fromkeys(comparison.why_seeds_alone for comparison in compared)
        return "; ".join(reasons)
    if not any(arm.of_seeds for arm in spread):
        return NO_SPREAD
    images = max(comparison.num_images for comparison in compared if comparison.way is not None)
    if few_errors(images, baseline.values()):
        return TOO_FEW_ERRORS
    without = tuple(comparison.arm.arm.name for comparison in compared if comparison.way is None)
    return Pilot(
        arms=set_apart(spread),
        num_compared=len(compared),
        num_images=images,
        without=without,
    )


def _limit(variance: float, degrees: float, confidence: float) -> float:
    """Return an upper limit of the true variance, with some confidence."""
    from scipy.special import chdtri

    return variance * degrees / float(chdtri(degrees, confidence))
