"""How many seeds and test images it takes to find a difference, by the spread of trained arms."""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    with_errors,
    with_others,
    with_tails,
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
FEWEST_IF_LESS = 5
"""Seeds that are planned at least to find arms that err less, see `VarianceParts.erring_less`."""
MOST_PILOT_SEEDS = 10
"""Seeds 0 to 9 are where pilots are looked for."""
PLANNED, SAFE = 0.6, 0.8
"""Confidence that the spread which a number follows from is no smaller than the true one.

By `tools/acceptance/planned_seeds.py`, for a power of .8: at .5 the mean power is too often
below it, and .8 takes more than twice the seeds that are needed.
"""
_WITHOUT_END = 10**9


@dataclass(frozen=True)
class NeededSeeds:
    """The number of seeds needed; None if `MOST_SEEDS` are not enough.

    Attributes:
        planned: By a spread that is large enough with 60 % confidence: the number to plan.
        safe: The same with 80 % confidence.
    """

    planned: int | None
    safe: int | None


@dataclass(frozen=True)
class Pilot:
    """The trials before planning.

    Used are their spread and, as arms that err more vary more, how much they err; never which arm
    was better. The spread over seeds is pooled over arms, as three seeds of one arm say little. An
    arm that is apart has its own. The spread over images is each arm's own.

    Attributes:
        arms: Compared arms with three seeds and predictions.
        num_compared: Number of comparisons in the sweep's table.
        num_images: Number of test images.
        without: Arms without a spread yet, which are assumed to be like the others, each with the
            reason.
    """

    arms: tuple[ArmSpread, ...]
    num_compared: int
    num_images: int
    without: Mapping[str, str] = field(default_factory=dict[str, str])

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

    @property
    def baseline_error(self) -> float:
        """Mean error of the baseline, a fraction."""
        return float(np.mean([*self.arms[0].baseline.values()]))

    def allows(self, effect: float) -> bool:
        """Return whether an arm can differ so much: none errs on fewer than no images.

        Args:
            effect: By how much it errs more than the baseline, a fraction; below 0 if it errs less.
        """
        return 0 <= self.baseline_error + effect <= 1

    def parts(
        self, confidence: float, effect: float
    ) -> dict[str, tuple[VarianceParts, VarianceParts]]:
        """Return upper limits of the variance parts of each arm, and of the others of its table.

        The confidence says how often they are no smaller than the true parts. With 0.5 they are as
        often too large as too small.

        Source: upper limits of variances for sample sizes: Browne 1995, On the use of a pilot
        sample for sample size determination.

        Args:
            confidence: Between 0 and 1.
            effect: By how much the arms to be found err more than the baseline, a fraction; below 0
                if they err less. Arms that err more vary more. What an arm of the pilot already
                differs by, its spread has in it.
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
            seen = replace(
                VarianceParts.of(arm.way),
                of_seeds=max(alone if arm.is_apart else of_seeds, 0.0),
                of_images=max(images - residual, 0.0) * clusters,
            )
            differs_by = float(np.mean([*arm.differences.values()]))
            excess = max(differs_by, 0.0) if effect > 0 else min(differs_by, 0.0)
            return with_errors(seen, self.arms, clusters).seen_at(excess)

        by_arm = with_others({arm.arm: parts_of(arm) for arm in self.arms})
        if effect > 0:
            return by_arm
        return {
            name: (parts.erring_less(-effect), replace(others, seeds=None))
            for name, (parts, others) in by_arm.items()
        }


@dataclass(frozen=True)
class SeedsNeeded:
    """How many seeds and images it takes to find arms that err more, or arms that err less.

    Attributes:
        pilot: What they were computed from.
        effect: By how much the arms err more than the baseline, a fraction; below 0 if they err
            less.
        each_arm: Fresh seeds to plan for each arm alone, by name; None if `MOST_SEEDS` are not
            enough.
        all_arms: Fresh seeds, for all arms together.
        with_pilot_seeds: All seeds, if those of the pilot stay in the table. They were looked at,
            so more evidence is needed.
        at_best: The smallest difference in each arm that any number of seeds can find with these
            images; 0 where images count for nothing.
        images: With so many images, seeds and images limit the result about equally; None where
            the present images do not limit it.
        with_images: Fresh seeds needed with that many images.
    """

    pilot: Pilot
    effect: float
    each_arm: Mapping[str, int | None]
    all_arms: NeededSeeds
    with_pilot_seeds: NeededSeeds
    at_best: Mapping[str, float]
    images: int | None = None
    with_images: NeededSeeds | None = None


def seeds_needed(pilot: Pilot, effect: float, power: float = POWER) -> SeedsNeeded:
    """Return how many seeds and images it takes to find a difference in each arm of a table.

    It uses the rule of tables: Holm's first step over all comparisons, by seeds and images. An arm
    that errs more varies more than the baseline does.

    Args:
        pilot: The trials so far.
        effect: The true difference of test errors that is to be found, a fraction: above 0 of arms
            that err more than the baseline, below 0 of arms that err less.
        power: How often an arm that differs by it is to be found different.
    """
    num, clusters, distance = pilot.num_compared, pilot.num_clusters, abs(effect)
    fresh = Requirement(SIGNIFICANCE / num, num_sharing=num)
    after_looking = Requirement(fresh.level / 2, evidence_needed(num), num)
    planned, safe = (pilot.parts(sure, effect) for sure in (PLANNED, SAFE))
    fewest = FEWEST_SEEDS if effect > 0 else FEWEST_IF_LESS
    find = partial(num_seeds_to_find, effect=distance, power=power, fewest=fewest)

    def needed(asked: Requirement, num_clusters: int = clusters) -> NeededSeeds:
        numbers = (
            find([*arms.values()], num_clusters, requirement=asked) for arms in (planned, safe)
        )
        return NeededSeeds(*numbers)

    def without_end(parts: VarianceParts, num_clusters: int, effect: float) -> float:
        return power_of_rule(parts, _WITHOUT_END, num_clusters, effect, requirement=fresh)

    def are_found(num_clusters: int) -> bool:
        return all(without_end(parts, num_clusters, distance) >= power for parts, _ in every)

    every = [*planned.values()]
    at_best = {
        name: detectable(partial(without_end, parts, clusters), power) if parts.of_images else 0.0
        for name, (parts, _) in planned.items()
    }
    is_limited = max(at_best.values()) > distance
    images = _first(range(clusters, _WITHOUT_END), are_found) if is_limited else None
    twice = 2 * (images or 0)  # which then cause half of the variance that is allowed
    return SeedsNeeded(
        pilot=pilot,
        effect=effect,
        each_arm={name: find([arm], clusters, requirement=fresh) for name, arm in planned.items()},
        all_arms=needed(fresh),
        with_pilot_seeds=needed(after_looking),
        at_best=at_best,
        images=math.ceil(twice * pilot.num_images / clusters) if twice else None,
        with_images=needed(fresh, twice) if twice else None,
    )


def num_seeds_to_find(
    arms: Collection[tuple[VarianceParts, VarianceParts]],
    num_clusters: int,
    *,
    effect: float,
    requirement: Requirement,
    power: float = POWER,
    fewest: int = FEWEST_SEEDS,
) -> int | None:
    """Return how many seeds find the difference in each arm; None if `MOST_SEEDS` do not.

    Args:
        arms: The variance parts of each, and of the other arms of its table.
        num_clusters: Number of images, or of objects where several images show one.
        effect: The true difference, a fraction.
        requirement: What the verdict requires.
        power: How often it is to be found.
        fewest: Seeds that are planned in any case.
    """

    def is_found(parts: VarianceParts, others: VarianceParts, num: int) -> bool:
        achieved = power_of_rule(
            parts, num, num_clusters, effect, requirement=requirement, others=others
        )
        return achieved >= power

    number: int | None = fewest
    for parts, others in arms:
        if number is None:
            break
        number = _first(range(number, MOST_SEEDS + 1), partial(is_found, parts, others))
    return number


def _first(numbers: range, is_enough: Callable[[int], bool]) -> int | None:
    """Return the first number that is enough; all after it are enough too, and it is mostly early.

    Source: Bentley and Yao 1976, An almost optimal algorithm for unbounded searching.
    """
    most = 1
    while most <= len(numbers) and not is_enough(numbers[most - 1]):
        most *= 2
    place = bisect_left(numbers, True, lo=most // 2, hi=min(most - 1, len(numbers)), key=is_enough)
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
    without = {
        comparison.arm.arm.name: comparison.why_seeds_alone
        for comparison in compared
        if comparison.way is None
    }
    return Pilot(
        arms=with_tails(spread),
        num_compared=len(compared),
        num_images=images,
        without=without,
    )


def _limit(variance: float, degrees: float, confidence: float) -> float:
    """Return an upper limit of the true variance, with some confidence."""
    from scipy.special import chdtri

    return variance * degrees / float(chdtri(degrees, confidence))
