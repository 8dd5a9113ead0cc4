"""How many seeds and images it takes to find a difference in every arm of a table."""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection
from dataclasses import dataclass

from sweeps.aggregation.planning.pilot import Pilot
from sweeps.aggregation.results.comparisons import evidence_needed
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.power import detectable_difference
from sweeps.aggregation.statistics.rule_power import Requirement, VarianceParts, power_of_rule
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS

MOST_SEEDS = 10_000
LIKELY, SAFE = 0.5, 0.8  # confidence of the spread that is reckoned with
_WITHOUT_END = 10**9
_HALF = math.sqrt(0.5)  # of a difference whose square the images alone take up


@dataclass(frozen=True)
class Aim:
    """What is to be found.

    Attributes:
        effect: A true difference of test errors, a fraction.
        power: How often each arm that differs so much is to be found different.
    """

    effect: float
    power: float


@dataclass(frozen=True)
class Needed:
    """Seeds that it takes, None where no number up to `MOST_SEEDS` does.

    Attributes:
        likely: By a spread as often too large as too small.
        safe: By one that is large enough with 80 % confidence: what is planned.
    """

    likely: int | None
    safe: int | None


@dataclass(frozen=True)
class SeedsNeeded:
    """How many seeds and images a difference takes.

    Attributes:
        pilot: What it was reckoned from.
        all_arms: Fresh seeds, for all arms together.
        each_arm: The same for each arm alone, by name.
        kept: Seeds in all where those of the pilot stay in the table: whoever has looked at them
            needs more evidence.
        at_best: The smallest difference that any number of seeds finds with these images.
        images: With which about as much is left to the seeds as to the images, None where these
            images do not cap what can be found.
        with_images: Fresh seeds with so many images.
    """

    pilot: Pilot
    all_arms: Needed
    each_arm: dict[str, Needed]
    kept: Needed
    at_best: float
    images: int | None = None
    with_images: Needed | None = None


def seeds_needed(pilot: Pilot, aim: Aim) -> SeedsNeeded:
    """Return how many seeds and images it takes to find a difference in each arm of a table.

    By the rule of tables: Holm's first step over all of their comparisons, by seeds and images.

    Args:
        pilot: What was trained before.
        aim: What is to be found.
    """
    clusters, level = pilot.num_clusters, SIGNIFICANCE / pilot.num_compared
    fresh = Requirement(level)
    after_looking = Requirement(level / 2, evidence_needed(pilot.num_compared))

    def needed(arms: Collection[str], asked: Requirement, num_clusters: int = clusters) -> Needed:
        likely, safe = (
            fewest_seeds([pilot.parts(sure)[arm] for arm in arms], num_clusters, aim, asked)
            for sure in (LIKELY, SAFE)
        )
        return Needed(likely, safe)

    names = [arm.arm for arm in pilot.arms]
    at_best = _at_best(pilot, aim.power)
    images = _clusters_needed(pilot, aim) if at_best > aim.effect else None
    return SeedsNeeded(
        pilot=pilot,
        all_arms=needed(names, fresh),
        each_arm={name: needed([name], fresh) for name in names},
        kept=needed(names, after_looking),
        at_best=at_best,
        images=None if images is None else _as_images(images, pilot),
        with_images=None if images is None else needed(names, fresh, images),
    )


def fewest_seeds(
    arms: Collection[VarianceParts], num_clusters: int, aim: Aim, asked: Requirement
) -> int | None:
    """Return how many seeds find a difference in each arm; None where `MOST_SEEDS` do not.

    Args:
        arms: What makes each vary.
        num_clusters: Images, or objects where images are views of one.
        aim: What is to be found.
        asked: Of the verdict.
    """

    def is_enough(num_seeds: int) -> bool:
        found = (power_of_rule(one, num_seeds, num_clusters, aim.effect, asked) for one in arms)
        return all(power >= aim.power for power in found)

    return _first(range(FEWEST_SEEDS, MOST_SEEDS + 1), is_enough)


def _clusters_needed(pilot: Pilot, aim: Aim) -> int | None:
    """Return with how many images or objects these take up half of the variance there may be."""
    asked = Requirement(SIGNIFICANCE / pilot.num_compared)
    arms = pilot.parts(LIKELY).values()

    def is_enough(num: int) -> bool:
        effect = aim.effect * _HALF
        found = (power_of_rule(one, _WITHOUT_END, num, effect, asked) for one in arms)
        return all(power >= aim.power for power in found)

    return _first(range(pilot.num_clusters, _WITHOUT_END), is_enough)


def _at_best(pilot: Pilot, power: float) -> float:
    """Return what is found without an end of seeds; 0 where images make no difference."""
    degrees = pilot.num_clusters - 1.0
    parts = pilot.parts(LIKELY).values()
    errors = [math.sqrt(one.of_images / pilot.num_clusters) for one in parts if one.of_images]
    found = (detectable_difference(one, degrees, pilot.num_compared, power) for one in errors)
    return max(found, default=0.0)


def _as_images(num_clusters: int, pilot: Pilot) -> int:
    return math.ceil(num_clusters * pilot.num_images / pilot.num_clusters)


def _first(numbers: range, is_enough: Callable[[int], bool]) -> int | None:
    """Return the first of rising numbers that is enough, as are all after it."""
    place = bisect_left(numbers, True, key=is_enough)
    return numbers[place] if place < len(numbers) else None
