"""Differences over seeds and images, against sums in plain loops and analysis of variance."""

from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from sweeps.aggregation.statistics.two_way import TwoWay, two_way

EXACT = 1e-10
Shape = tuple[int, int, int]


def drawn(seed: int, seeds: int = 4, images: int = 30) -> np.ndarray:
    """Return differences as two networks make them: -1, 0 or 1."""
    chance = np.random.default_rng(seed)
    hard = chance.normal(size=images)
    ours, theirs = chance.normal(size=(2, seeds, images)) + hard > 1
    return ours.astype(float) - theirs


def parts(way: TwoWay) -> np.ndarray:
    return np.array(
        [way.mean, way.over_seeds, way.over_images, way.residual, way.half_width(), way.p_value]
    )


shapes = st.tuples(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 40))


@settings(max_examples=30)
@given(shapes)
def test_the_parts_are_those_of_plain_loops(shape: Shape):
    table = drawn(*shape)
    seeds, images = table.shape
    mean = sum(map(sum, table.tolist())) / (seeds * images)
    by_seed = [sum(row) / images for row in table.tolist()]
    by_image = [sum(column) / seeds for column in table.T.tolist()]
    squares = sum(
        (table[s, i] - by_seed[s] - by_image[i] + mean) ** 2
        for s in range(seeds)
        for i in range(images)
    )

    way = two_way(table)
    assert way.mean == pytest.approx(mean, abs=EXACT)
    over_seeds = sum((of_seed - mean) ** 2 for of_seed in by_seed) / (seeds - 1) / seeds
    assert way.over_seeds == pytest.approx(over_seeds, abs=EXACT)
    over_images = sum((of_image - mean) ** 2 for of_image in by_image) / (images - 1) / images
    assert way.over_images == pytest.approx(over_images, abs=EXACT)
    residual = squares / ((seeds - 1) * (images - 1)) / (seeds * images)
    assert way.residual == pytest.approx(residual, abs=EXACT)
    below = over_seeds**2 / (seeds - 1) + over_images**2 / (images - 1)
    if below > EXACT:
        assert way.degrees == pytest.approx((over_seeds + over_images) ** 2 / below, rel=1e-6)


def test_the_parts_are_the_mean_squares_of_an_analysis_of_variance():
    table = drawn(1)
    seeds, images = table.shape
    frame = pd.DataFrame(
        {
            "difference": table.ravel(),
            "seed": np.repeat(np.arange(seeds), images),
            "image": np.tile(np.arange(images), seeds),
        }
    )
    squares = anova_lm(ols("difference ~ C(seed) + C(image)", frame).fit())["mean_sq"]

    way, cells = two_way(table), seeds * images
    assert way.over_seeds == pytest.approx(squares["C(seed)"] / cells, abs=EXACT)
    assert way.over_images == pytest.approx(squares["C(image)"] / cells, abs=EXACT)
    assert way.residual == pytest.approx(squares["Residual"] / cells, abs=EXACT)


def test_over_either_direction_alone_it_is_the_t_test_of_scipy():
    table = drawn(2)
    way = two_way(table)

    for axis, (error, degrees) in zip((1, 0), way.errors[1:], strict=True):
        t_test: Any = scipy.stats.ttest_1samp(table.mean(axis=axis), 0.0)
        ends = t_test.confidence_interval(0.95)
        half = scipy.stats.t.ppf(0.975, degrees) * error
        assert half == pytest.approx((ends.high - ends.low) / 2, abs=EXACT)
        assert 2 * scipy.stats.t.sf(abs(way.mean) / error, degrees) == pytest.approx(
            t_test.pvalue, abs=EXACT
        )
        assert way.p_value >= t_test.pvalue - EXACT
        assert way.half_width() >= half - EXACT


def test_few_seeds_that_happen_to_agree_are_not_sure_of_what_seeds_decide():
    """All images move with the seed: were two directions joined, many images would add degrees."""
    table = np.zeros((3, 360))
    table[0, :16], table[1, :18], table[2, :20] = 1, 1, 1
    way = two_way(table)

    joined = 2 * scipy.stats.t.sf(way.mean / way.standard_error, way.degrees)
    assert joined < 0.001
    alone: Any = scipy.stats.ttest_1samp(table.mean(axis=1), 0.0)
    assert way.p_value == pytest.approx(max(alone.pvalue, joined), abs=EXACT)


@pytest.mark.parametrize(("seeds", "wrong"), [(3, 50), (3, 9), (5, 5), (6, 5), (7, 5)])
def test_seeds_that_all_agree_are_no_evidence(seeds: int, wrong: int):
    """Also where the sums of equal differences are not equal to the last digit."""
    table = np.zeros((seeds, 360))
    table[:, :wrong] = 1

    assert two_way(table).p_value == 1
    assert two_way(0.1 * table).over_seeds == 0


@settings(max_examples=30)
@given(shapes, st.randoms())
def test_the_order_of_seeds_and_of_images_changes_nothing(shape: Shape, chance: Random):
    table = drawn(*shape)
    seeds, images = (chance.sample(range(count), count) for count in table.shape)

    moved = parts(two_way(table[seeds][:, images]))
    assert moved == pytest.approx(parts(two_way(table)), abs=EXACT)


@settings(max_examples=30)
@given(shapes, st.floats(0.01, 100))
def test_errors_scale_with_the_differences_and_p_does_not(shape: Shape, factor: float):
    plain, more = two_way(drawn(*shape)), two_way(factor * drawn(*shape))

    assert more.half_width() == pytest.approx(factor * plain.half_width(), rel=1e-9, abs=EXACT)
    assert more.degrees == pytest.approx(plain.degrees, rel=1e-9)


@settings(max_examples=30)
@given(shapes)
def test_a_difference_turned_round_changes_its_sign_alone(shape: Shape):
    forth, back = parts(two_way(drawn(*shape))), parts(two_way(-drawn(*shape)))

    assert back[0] == pytest.approx(-forth[0], abs=EXACT)
    assert back[1:] == pytest.approx(forth[1:], abs=EXACT)


@settings(max_examples=30)
@given(shapes)
def test_objects_of_one_image_each_are_images(shape: Shape):
    table = drawn(*shape)
    names = np.random.default_rng(0).permutation(table.shape[1])

    alone = parts(two_way(table, names))
    assert alone == pytest.approx(parts(two_way(table)), abs=EXACT)


def test_views_that_are_copies_count_as_their_objects():
    table = drawn(3)
    copies, objects = np.repeat(table, 5, axis=1), np.repeat(np.arange(table.shape[1]), 5)

    assert parts(two_way(copies, objects)) == pytest.approx(parts(two_way(table)), abs=EXACT)


def test_many_tables_at_once_are_as_each_alone():
    tables = np.stack([[drawn(2 * row + column) for column in range(2)] for row in range(3)])
    together = two_way(tables)

    for row in range(3):
        for column in range(2):
            alone = parts(two_way(tables[row, column]))
            assert parts(together)[:, row, column] == pytest.approx(alone, abs=EXACT)


@pytest.mark.parametrize("shape", [(1, 9), (3, 1)])
def test_one_seed_or_image_has_no_two_directions(shape: tuple[int, int]):
    with pytest.raises(ValueError, match="at least 2 seeds and 2 images"):
        two_way(np.zeros(shape))
