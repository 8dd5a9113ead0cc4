"""How many seeds and images a pilot asks for."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from sweeps.aggregation.seed_planning import (
    FEWEST_IF_LESS,
    MOST_SEEDS,
    PLANNED,
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
        for part, _ in pilot_study.parts(PLANNED, effect).values()
    ]


def test_the_number_is_the_smallest_that_finds_the_difference_in_each_arm(answered):
    pilot_study, effect, needed = answered
    planned = needed.all_arms.planned

    assert planned is not None
    assert planned > FEWEST_SEEDS
    assert min(powers(pilot_study, planned, effect, MANY)) >= 0.8
    assert min(powers(pilot_study, planned - 1, effect, MANY)) < 0.8
    assert planned == max(needed.each_arm.values())


def test_to_be_safe_and_to_keep_what_was_looked_at_takes_more(answered):
    _, _, needed = answered

    assert needed.all_arms.planned < needed.all_arms.safe
    assert needed.all_arms.planned < needed.with_pilot_seeds.planned < needed.with_pilot_seeds.safe
    assert needed.images is None, "these images cap nothing"


def arms_at(error: float, excess: float) -> Pilot:
    """Return a pilot of one arm, whose baseline errs so much and the arm so much more."""
    usual = pilot(0.04, 0.05, num_arms=1, num_images=MANY)
    (arm,) = usual.arms
    middle = np.mean([*arm.errors.values()])
    errors = {seed: drawn - middle + error + excess for seed, drawn in arm.errors.items()}
    baseline = dict.fromkeys(errors, error)
    return replace(usual, arms=(replace(arm, errors=errors, baseline=baseline),))


def test_arms_that_err_less_take_fewer_seeds():
    study = arms_at(0.1, 0.0)
    if_more, if_less = (seeds_needed(study, effect).all_arms for effect in (0.035, -0.035))

    assert if_less.planned < if_more.planned
    assert if_less.planned >= FEWEST_IF_LESS
    assert (study.allows(-0.1), study.allows(-0.11)) == (True, False)
    assert (study.allows(0.9), study.allows(0.91)) == (True, False)


def test_an_arm_that_erred_more_when_it_was_seen_is_not_taken_to_vary_still_more():
    alike, worse = (arms_at(0.1, excess).parts(PLANNED, 0.1)["arm 0"][0] for excess in (0.0, 0.1))

    assert alike.way(5, MANY, 0.1).over_seeds > 1.2 * alike.way(5, MANY, 0.0).over_seeds
    assert worse.way(5, MANY, 0.1).over_seeds == pytest.approx(
        alike.way(5, MANY, 0.0).over_seeds, rel=0.02
    )


def test_arms_that_err_less_vary_less_unless_they_erred_less_when_they_were_seen():
    usual, less = (
        arms_at(0.1, excess).parts(PLANNED, -0.05)["arm 0"][0] for excess in (0.0, -0.05)
    )
    seen, _ = arms_at(0.1, 0.0).parts(PLANNED, 0.05)["arm 0"]

    assert usual.seeds is None
    assert usual.of_seeds < 0.6 * seen.of_seeds
    assert less.of_seeds == pytest.approx(seen.of_seeds)


def test_where_images_cap_it_no_number_suffices_and_more_images_do():
    pilot_study, effect = pilot(0.01, 0.5), 0.1
    needed = seeds_needed(pilot_study, effect)

    assert (needed.all_arms.planned, needed.all_arms.safe) == (None, None)
    at_best = max(needed.at_best.values())
    assert at_best > effect
    assert max(powers(pilot_study, 10**9, effect)) < 0.8
    assert min(powers(pilot_study, 10**9, at_best * 1.001)) >= 0.799
    assert needed.images is not None
    assert needed.images > IMAGES
    assert needed.with_images is not None
    assert min(powers(pilot_study, needed.with_images.planned or 0, effect, needed.images)) >= 0.8


def test_more_arms_and_smaller_differences_take_more_seeds():
    parts = VarianceParts(1.0, 0.1, 0.1)

    def seeds(effect: float, compared: int, power: float = 0.8) -> int:
        asked = Requirement(0.05 / compared)
        num_seeds = num_seeds_to_find(
            [(parts, parts)], IMAGES, effect=effect, requirement=asked, power=power
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
    fewest = num_seeds_to_find([(parts, parts)], IMAGES, effect=effect, requirement=asked)

    assert fewest is not None
    assert fewest <= most
    assert TTestPower().power(effect, fewest, 0.05) >= 0.8
    assert TTestPower().power(effect, fewest - 1, 0.05) < 0.8 or fewest == FEWEST_SEEDS
