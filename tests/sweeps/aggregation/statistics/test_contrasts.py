"""Contrasts and sums of squares, against textbooks, statsmodels and scipy."""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from sweeps.aggregation.statistics.block_anova import block_anova
from sweeps.aggregation.statistics.contrasts import (
    ABSENT,
    all_terms,
    contrasts,
    differences_from_first,
)

EXACT = 1e-10
# Box, Hunter and Hunter, Statistics for Experimenters, a pilot plant: the yield by temperature,
# concentration and catalyst, the first of them fastest.
PILOT_PLANT = np.array([60, 72, 54, 68, 52, 83, 45, 80], dtype=float)
PILOT_EFFECTS = {(0,): 23, (1,): -5, (2,): 1.5, (0, 1): 1.5, (0, 2): 10, (1, 2): 0}


def grid(*shape: int, without: Sequence[int] = ()) -> np.ndarray:
    points = [*itertools.product(*map(range, shape))]
    return np.array([point for place, point in enumerate(points) if place not in without])


def test_the_effects_of_a_textbooks_factorial_are_those_of_the_textbook():
    levels = grid(2, 2, 2)[:, ::-1]
    estimated = contrasts(levels, (2, 2, 2), all_terms(3))

    effects = {
        contrast.term: float(contrast.effect @ PILOT_PLANT)
        for contrast in estimated
        if contrast.effect is not None
    }
    assert effects == pytest.approx(PILOT_EFFECTS, abs=EXACT)


def test_sums_of_squares_of_a_textbooks_factorial_are_twice_its_squared_effects():
    levels = grid(2, 2, 2)[:, ::-1]
    anova = block_anova(PILOT_PLANT[:, None], contrasts(levels, (2, 2, 2), all_terms(3)))

    assert anova.squares == pytest.approx([2 * e**2 for e in PILOT_EFFECTS.values()], abs=1e-9)
    assert anova.residual == pytest.approx(2 * 0.5**2)  # the three together
    assert anova.residual_degrees == 1


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(2, 2, 2), (2, 3, 2), (3, 3, 2), (4, 2, 2)]),
    st.integers(0, 7),
)
def test_sums_of_squares_are_those_of_statsmodels(seed: int, shape: tuple[int, ...], lost: int):
    levels = grid(*shape, without=[lost])
    errors = np.random.default_rng(seed).normal(size=(len(levels), 3))
    anova = block_anova(errors, contrasts(levels, shape, all_terms(3)))

    frame = pd.DataFrame(
        {"a": str(a), "b": str(b), "c": str(c), "seed": str(s), "y": errors[place, s]}
        for place, (a, b, c) in enumerate(levels)
        for s in range(3)
    )
    expected = anova_lm(ols("y ~ (a + b + c)**2 + C(seed)", frame).fit(), typ=2)
    expected = expected.loc[["a", "b", "c", "a:b", "a:c", "b:c", "Residual"]]
    assert [*anova.squares, anova.residual] == pytest.approx(expected["sum_sq"].tolist(), abs=EXACT)
    assert [*anova.degrees, anova.residual_degrees] == expected["df"].tolist()
    f_values = [anova.f_value(place) for place in range(6)]
    assert f_values == pytest.approx(expected["F"].tolist()[:-1], rel=1e-9)
    p_values = [anova.p_value(place) for place in range(6)]
    assert p_values == pytest.approx(expected["PR(>F)"].tolist()[:-1], abs=EXACT)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_one_factor_alone_is_scipys_one_way_analysis(seed: int, num_levels: int):
    levels = np.repeat(np.arange(num_levels), 4)[:, None]
    errors = np.random.default_rng(seed).normal(size=(len(levels), 1))
    anova = block_anova(errors, contrasts(levels, (num_levels,), [(0,)]))

    expected = scipy.stats.f_oneway(*errors.reshape(num_levels, 4))
    assert anova.f_value(0) == pytest.approx(expected.statistic, abs=EXACT)
    assert anova.p_value(0) == pytest.approx(expected.pvalue, abs=EXACT)


def test_levels_are_compared_with_the_first():
    levels, means = grid(3, 2), np.array([1.0, 3, 5, 7, 6, 8])
    differences = differences_from_first(levels, (3, 2), all_terms(2), 0)
    assert [
        float(weights @ means) for weights in differences if weights is not None
    ] == pytest.approx([4, 5])


def test_an_alias_cannot_be_estimated_and_one_of_both_alone_can():
    levels = grid(2, 2)
    levels = np.column_stack([levels, (levels.sum(axis=1) + 1) % 2])
    degrees = {
        contrast.term: contrast.degrees for contrast in contrasts(levels, (2, 2, 2), all_terms(3))
    }
    assert set(degrees.values()) == {0}

    estimated = contrasts(levels, (2, 2, 2), [(0,), (1,), (2,)])
    assert [contrast.degrees for contrast in estimated] == [1, 1, 1]
    assert [
        float(contrast.effect @ [0, 2, 6, 8.0])
        for contrast in estimated
        if contrast.effect is not None
    ] == (pytest.approx([6, 2, 0], abs=EXACT))


def test_a_setting_that_some_arms_do_not_have_is_estimated_by_the_others():
    levels = np.array([[0, 0], [0, 1], [1, ABSENT]])  # dynamic with 1 and 3 iterations, uniform
    by_term = {contrast.term: contrast for contrast in contrasts(levels, (2, 2), all_terms(2))}
    means = np.array([4.0, 2.0, 9.0])

    assert by_term[(0,)].effect @ means == pytest.approx(9 - 3)  # type: ignore[operator]
    assert by_term[(1,)].effect @ means == pytest.approx(2 - 4)  # type: ignore[operator]
    assert by_term[(0, 1)].degrees == 0
    assert by_term[(0, 1)].effect is None


def test_cells_that_are_not_there_leave_fewer_degrees_of_freedom():
    levels = grid(2, 3, without=[0])
    by_term = {contrast.term: contrast for contrast in contrasts(levels, (2, 3), all_terms(2))}
    assert (by_term[(0, 1)].degrees, by_term[(0, 1)].num_wanted) == (1, 2)


def test_the_unit_is_the_size_of_an_effect_of_two_levels():
    by_term = {contrast.term: contrast for contrast in contrasts(grid(3, 2), (3, 2), all_terms(2))}
    main, both = by_term[(0,)], by_term[(0, 1)]
    assert main.unit * np.linalg.norm(main.basis @ [0, 0, 0.5, 0.5, 1, 1]) == pytest.approx(1)
    # half of the difference between 2 and 0
    assert both.unit * np.linalg.norm(both.basis @ [0, 0, 0, 0, 0, 2]) >= 1
    assert both.unit * np.linalg.norm(both.basis @ [0.5, -0.5, 0, 0, -0.5, 0.5]) == (
        pytest.approx(1)
    )


def test_of_no_arms_nothing_can_be_estimated():
    of_no_arms = contrasts(np.empty((0, 2), dtype=int), (2, 2), all_terms(2))
    assert [contrast.degrees for contrast in of_no_arms] == [0, 0, 0]
    assert block_anova(np.empty((0, 0)), of_no_arms).f_value(0) is None
