"""What the comparisons of a table tell each other of the variance over seeds."""

from dataclasses import replace

import numpy as np
import pytest

from sweeps.aggregation.statistics.shared_seeds import (
    APART,
    MOST_PRIOR_DEGREES,
    own_variances,
    pool_degrees,
    prior_degrees,
    share_seeds,
    shared_between,
    varies_more,
)
from sweeps.aggregation.statistics.two_way import two_way

ARMS, SEEDS, IMAGES = 5, 3, 80


def errors_of(scales: tuple[float, ...], seeds: int = SEEDS, draws: int = 1) -> np.ndarray:
    """Return errors of arms, the baseline first, whose seeds have standard deviations."""
    chance = np.random.default_rng(seeds)
    size = (draws, len(scales), seeds)
    by_seed = np.asarray(scales)[:, None] * chance.normal(size=size)
    return by_seed[..., None] + 0.3 * chance.normal(size=(*size, IMAGES))


def shared_of(errors: np.ndarray):
    way = two_way(errors[:, 1:] - errors[:, :1])
    own = own_variances(errors.mean(axis=-1))
    return way, share_seeds(way, own[:, 1:], own[:, 0])


@pytest.mark.parametrize("seeds", [3, 10])
@pytest.mark.parametrize("baseline", [1.0, 5.0])
def test_the_mean_variance_has_the_degrees_that_it_shows_in_draws(seeds: int, baseline: float):
    scales = (baseline**0.5, *(1.0,) * ARMS)
    errors = errors_of(scales, seeds, draws=20_000 // seeds)
    pool = two_way(errors[:, 1:] - errors[:, :1]).over_seeds.mean(axis=-1)
    shown = 2 * pool.mean() ** 2 / pool.var()
    expected = float(pool_degrees(ARMS, seeds, np.asarray(baseline)))
    assert shown == pytest.approx(expected, rel=0.08)


def test_others_add_nothing_to_a_single_comparison_and_four_degrees_at_most():
    assert float(prior_degrees(1, 3, np.asarray(1.0))) == 0
    assert float(prior_degrees(5, 3, np.asarray(1.0))) == pytest.approx(3)
    assert float(prior_degrees(5, 3, np.asarray(5.0))) < 1
    assert float(prior_degrees(50, 10, np.asarray(1.0))) == MOST_PRIOR_DEGREES
    way, shared = shared_of(errors_of((1.0, 1.0)))
    assert shared is way


def test_variances_are_drawn_towards_the_mean_and_never_below_it_or_the_residual():
    way, shared = shared_of(errors_of((0.1,) * (ARMS + 1), draws=200))
    assert shared.shared is not None
    over_seeds, pool = shared.shared.over_seeds, way.over_seeds.mean(axis=-1, keepdims=True)
    assert (over_seeds >= pool).all()
    assert (over_seeds >= way.residual).all()
    above = (way.over_seeds > pool) & (pool > way.residual)
    assert (over_seeds[above] < way.over_seeds[above]).all()


def test_an_arm_that_varies_far_more_has_to_hold_by_its_own_seeds():
    way, shared = shared_of(errors_of((0.1, 2.0, *(0.1,) * 4), seeds=8, draws=50))
    assert shared.shared is not None
    is_apart = shared.shared.is_apart
    assert is_apart[:, 0].all()
    assert is_apart[:, 1:].mean() < 0.1
    own_error, own_degrees = shared.errors[1]
    assert own_error[:, 0] == pytest.approx(np.sqrt(way.over_seeds[:, 0]))
    assert (own_degrees[:, 0] == 7).all()
    assert (own_error[~is_apart] == shared.errors[0][0][~is_apart]).all()


def test_three_seeds_that_agree_by_chance_are_not_taken_at_their_word():
    errors = errors_of((0.2,) * (ARMS + 1))
    errors[0, 1] = errors[0, 0] + 0.5 + 1e-3 * np.arange(SEEDS)[:, None]  # almost the same offset
    way, shared = shared_of(errors)
    assert shared.half_width()[0, 0] > 10 * np.sqrt(way.over_seeds[0, 0])


def test_where_all_seeds_differ_alike_nothing_is_different_but_there_is_an_interval():
    errors = errors_of((0.2,) * (ARMS + 1))
    errors[0, 1] = errors[0, 0] + 0.25
    _, shared = shared_of(errors)
    assert shared.p_value[0, 0] == 1
    assert shared.half_width()[0, 0] > 0


def test_comparisons_with_fewer_seeds_take_part():
    errors = errors_of((0.2,) * 4, seeds=5)[0]
    means = errors.mean(axis=-1)
    ways = [two_way(errors[arm, :num] - errors[0, :num]) for arm, num in ((1, 5), (2, 5), (3, 4))]
    by_seed = [dict(enumerate(means[arm][:num])) for arm, num in ((1, 5), (2, 5), (3, 4))]
    first, second, fewer = shared_between(ways, by_seed, dict(enumerate(means[0])))

    assert fewer.shared is not None
    assert first.shared is not None
    assert second.shared is not None
    assert float(fewer.shared.degrees) == pytest.approx(float(first.shared.degrees) * 3 / 4)
    assert [way.num_seeds for way in (first, second, fewer)] == [5, 5, 4]
    assert shared_between(ways[:1], by_seed[:1], dict(enumerate(means[0]))) == ways[:1]
    assert replace(first, shared=None) == ways[0]


def test_what_a_seed_does_to_all_arms_alike_is_not_an_arms_own():
    errors = np.random.default_rng(0).normal(size=(4, 6))
    alike = 10 * np.arange(6)
    assert own_variances(errors + alike) == pytest.approx(own_variances(errors))


def test_how_much_an_arm_errs_does_not_make_its_seeds_vary():
    errors = np.random.default_rng(0).normal(size=(5, 6))
    levels = np.array([0.0, 10.0, 20.0, 40.0, 80.0])[:, None]
    assert own_variances(errors + levels) == pytest.approx(own_variances(errors))


def test_of_arms_of_unlike_levels_the_one_that_varies_is_held_to_its_own_seeds():
    """Test errors of five arms on own pictures, of which the fourth varied most, the second least.

    With three seeds, 120 images, and levels from 1 to 12 %.
    """
    percent = [
        (15.00, 10.83, 11.67),
        (6.67, 7.50, 7.50),
        (14.17, 13.33, 12.50),
        (15.83, 6.67, 11.67),
        (1.67, 0.00, 0.83),
    ]
    of_baseline, *own = own_variances(np.array(percent))
    held = varies_more(np.array(own), np.asarray(of_baseline))
    assert held.tolist() == [False, False, True, False]
    assert own[2] == pytest.approx(14.1, abs=0.1)
    assert own[0] == pytest.approx(1.6, abs=0.1)


def test_an_arm_is_apart_from_a_ratio_of_its_variance_and_the_mean_of_the_others_on():
    ways, own = shared_of(errors_of((0.1,) * (ARMS + 1)))[0], np.ones((1, ARMS))
    for ratio, is_apart in ((0.99 * APART, False), (1.01 * APART, True)):
        own[0, 0] = ratio
        shared = share_seeds(ways, own, np.ones(1)).shared
        assert shared is not None
        assert shared.is_apart[0].tolist() == [is_apart, *[False] * (ARMS - 1)]
