"""Variance of a grid in parts, against sums by hand and in plain loops."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.aggregation.statistics.shapley import GridVariance, grid_variance

shapes = st.lists(st.integers(2, 3), min_size=1, max_size=4).map(tuple)


def parts_of(shape: tuple[int, ...], means: np.ndarray) -> GridVariance:
    return grid_variance(shape, means, np.zeros((len(means), len(means))))


def drawn(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=math.prod(shape))


def test_a_grid_by_hand():
    # y = 2 a + 1 b + 4 a b with a and b of -1 and 1
    means = np.array([2 * a + b + 4 * a * b for a in (-1, 1) for b in (-1, 1)], dtype=float)
    variance = parts_of((2, 2), means)
    assert variance.parts == pytest.approx({(0,): 4, (1,): 1, (0, 1): 16}, abs=1e-10)
    assert variance.of_factor(0) == pytest.approx(12)
    assert variance.of_factor(1) == pytest.approx(9)
    assert variance.of_pair(0, 1) == pytest.approx(16)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), shapes)
def test_parts_and_shares_add_up_to_the_variance(seed: int, shape: tuple[int, ...]):
    means = drawn(seed, shape)
    variance = parts_of(shape, means)
    singles = [variance.parts[(place,)] for place in range(len(shape))]
    pairs = {pair: variance.of_pair(*pair) for pair in itertools.combinations(range(len(shape)), 2)}

    assert variance.total == pytest.approx(means.var())
    shapley = [variance.of_factor(place) for place in range(len(shape))]
    assert sum(shapley) == pytest.approx(means.var())
    if len(shape) > 1:
        assert sum(singles) + sum(pairs.values()) == pytest.approx(means.var())
    for place, share in enumerate(shapley):
        of_pairs = sum(value for pair, value in pairs.items() if place in pair)
        assert share == pytest.approx(singles[place] + of_pairs / 2)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), shapes)
def test_shares_are_mean_gains_over_all_orders(seed: int, shape: tuple[int, ...]):
    means = drawn(seed, shape).reshape(shape)
    places = range(len(shape))

    def explained(known: frozenset[int]) -> float:
        others = tuple(place for place in places if place not in known)
        return float(means.mean(axis=others).var()) if known else 0.0

    gains = [0.0] * len(shape)
    orders = [*itertools.permutations(places)]
    for order in orders:
        for count, place in enumerate(order):
            before = frozenset(order[:count])
            gains[place] += explained(before | {place}) - explained(before)

    variance = parts_of(shape, means.ravel())
    shares = [variance.of_factor(place) for place in places]
    assert shares == pytest.approx([gain / len(orders) for gain in gains], abs=1e-10)


def test_noise_is_taken_off_each_part():
    shape, sd = (2, 3), 0.5
    true = np.array([0, 0, 0, 1, 1, 1.0])
    chance = np.random.default_rng(0)
    noise = sd**2 * np.eye(6)
    draws = [grid_variance(shape, true + sd * chance.normal(size=6), noise) for _ in range(4000)]

    expected = {(0,): 0.25, (1,): 0.0, (0, 1): 0.0}
    for key, value in expected.items():
        estimates = [draw.parts[key] for draw in draws]
        assert np.mean(estimates) == pytest.approx(value, abs=4 * np.std(estimates) / 4000**0.5)
    assert min(draw.parts[(1,)] for draw in draws) < 0
