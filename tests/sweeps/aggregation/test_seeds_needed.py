"""How many seeds and images a pilot asks for."""

from collections.abc import Iterable

import numpy as np
import pytest

from sweeps.aggregation.seed_planning import (
    LIKELY,
    MOST_SEEDS,
    Pilot,
    num_seeds_to_find,
    seeds_needed,
)
from sweeps.aggregation.statistics.arm_spread import ArmSpread
from sweeps.aggregation.statistics.power import Requirement, VarianceParts, power_of_rule
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS, two_way

SEEDS, IMAGES, MANY = 3, 100, 4000


def pilot(of_seeds: float, of_images: float, num_arms: int = 2, num_images: int = IMAGES) -> Pilot:
    """Return a pilot that has drawn arms with these spreads, as standard deviations."""
    chance = np.random.default_rng(0)

    def arm(place: int) -> ArmSpread:
        shape = (SEEDS, num_images)
        drawn = of_seeds * chance.normal(size=(SEEDS, 1)) + 0.1 * chance.normal(size=shape)
        drawn = drawn + of_images * chance.normal(size=(1, num_images))
        by_seed = dict(enumerate((0.5 + drawn.mean(axis=1)).tolist()))
        baseline = dict.fromkeys(by_seed, 0.5)
        return ArmSpread(f"arm {place}", by_seed, baseline, two_way(drawn))

    arms = tuple(arm(place) for place in range(num_arms))
    return Pilot(arms, num_arms, num_images)


@pytest.fixture(scope="module")
def answered():
    """A pilot that many images leave to its seeds, what is asked of it, and the answer."""
    pilot_study, effect = pilot(0.01, 0.05, num_images=MANY), 0.02
    return pilot_study, effect, seeds_needed(pilot_study, effect)


def powers(
    pilot_study: Pilot, num_seeds: int, effect: float, images: int = IMAGES
) -> Iterable[float]:
    num = pilot_study.num_compared
    asked = Requirement(0.05 / num, num_sharing=num)
    return [
        power_of_rule(part, num_seeds, images, effect, requirement=asked)
        for part in pilot_study.parts(LIKELY).values()
    ]


def test_the_number_is_the_smallest_that_finds_the_difference_in_each_arm(answered):
    pilot_study, effect, needed = answered

    assert needed.all_arms.likely is not None
    assert needed.all_arms.likely > FEWEST_SEEDS
    assert min(powers(pilot_study, needed.all_arms.likely, effect, MANY)) >= 0.8
    assert min(powers(pilot_study, needed.all_arms.likely - 1, effect, MANY)) < 0.8
    each = [seeds.likely or 0 for seeds in needed.each_arm.values()]
    assert needed.all_arms.likely == max(each)


def test_to_be_safe_and_to_keep_what_was_looked_at_takes_more(answered):
    _, _, needed = answered

    assert needed.all_arms.safe is not None
    assert needed.with_pilot_seeds.safe is not None
    assert (needed.all_arms.likely or 0) < needed.all_arms.safe < needed.with_pilot_seeds.safe
    assert needed.images is None, "these images cap nothing"


def test_where_images_cap_it_no_number_suffices_and_more_images_do():
    pilot_study, effect = pilot(0.01, 0.5), 0.1
    needed = seeds_needed(pilot_study, effect)

    assert (needed.all_arms.likely, needed.all_arms.safe) == (None, None)
    assert needed.at_best > effect
    assert max(powers(pilot_study, 10**9, effect)) < 0.8
    assert min(powers(pilot_study, 10**9, needed.at_best * 1.001)) >= 0.799
    assert needed.images is not None
    assert needed.images > IMAGES
    assert needed.with_images is not None
    assert min(powers(pilot_study, needed.with_images.likely or 0, effect, needed.images)) >= 0.8


def test_more_arms_and_smaller_differences_take_more_seeds():
    parts = VarianceParts(1.0, 0.1, 0.1)

    def seeds(effect: float, compared: int, power: float = 0.8) -> int:
        asked = Requirement(0.05 / compared)
        num_seeds = num_seeds_to_find(
            [(parts, parts)], IMAGES, effect, requirement=asked, power=power
        )
        return num_seeds or MOST_SEEDS + 1

    assert seeds(1.0, 1) < seeds(1.0, 6) < seeds(0.5, 6)
    assert seeds(1.0, 1) < seeds(1.0, 1, power=0.95)
    assert seeds(100.0, 1) == FEWEST_SEEDS
    assert seeds(0.003, 1) == MOST_SEEDS + 1


@pytest.mark.parametrize(("effect", "most"), [(1.0, 12), (2.0, 6)])
def test_where_seeds_alone_count_it_is_what_statsmodels_gives(effect: float, most: int):
    from statsmodels.stats.power import TTestPower

    asked, parts = Requirement(0.05), VarianceParts(1.0, 0.0, 0.0)
    fewest = num_seeds_to_find([(parts, parts)], IMAGES, effect, requirement=asked)

    assert fewest is not None
    assert fewest <= most
    assert TTestPower().power(effect, fewest, 0.05) >= 0.8
    assert TTestPower().power(effect, fewest - 1, 0.05) < 0.8 or fewest == FEWEST_SEEDS
