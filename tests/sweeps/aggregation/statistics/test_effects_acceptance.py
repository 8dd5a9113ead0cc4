"""Tables of effects of drawn networks have the error rates that they promise: a few draws of each.

`python -m tools.acceptance.effects` counts them at length. Chance is the same in every run.
`test_contrasts.py` and `test_power.py` have the laws.
"""

from collections.abc import Iterable

import numpy as np
import pytest

from sweeps.aggregation.statistics.block_anova import block_anova
from tools.acceptance import effect_criteria as criteria
from tools.acceptance.effect_criteria import Grid, judged_effects, p_over_seeds
from tools.acceptance.figures import Figure
from tools.acceptance.networks import (
    BOTH_MATTER,
    GENERATORS,
    IMAGES_DOMINATE,
    SEEDS_MATTER,
    Generator,
    images_of,
)

pytestmark = pytest.mark.nightly


def assert_within_limits(figures: Iterable[Figure]) -> None:
    all_figures = list(figures)
    assert all_figures
    for figure in all_figures:
        low, high = figure.ends
        assert low <= figure.most, figure.as_line()
        assert high >= figure.least, figure.as_line()


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.name)
@pytest.mark.parametrize("grid", criteria.GRIDS, ids=lambda grid: grid.name)
def test_intervals_cover_and_hardly_anything_is_bold_where_no_arm_differs(
    generator: Generator, grid: Grid
):
    assert_within_limits(criteria.under_null(generator, grid, (300, 3, images_of(generator))))


def test_seeds_as_blocks_alone_would_find_effects_that_are_of_these_images():
    bold, _ = criteria.under_null(IMAGES_DOMINATE, criteria.SMALL, (200, 5, 360))
    assert bold.context["seeds as blocks"] > 0.4


@pytest.mark.parametrize(
    ("generator", "grid", "term", "seeds"),
    [
        (SEEDS_MATTER, criteria.SMALL, 3, 5),
        (BOTH_MATTER, criteria.MIXED, 1, 5),
        (BOTH_MATTER, criteria.MIXED, 1, 3),
        (IMAGES_DOMINATE, criteria.MIXED, 2, 5),
    ],
    ids=[
        "interaction of two levels",
        "three levels",
        "three levels, few seeds",
        "interaction of three levels",
    ],
)
def test_effects_as_large_as_tables_print_are_found(
    generator: Generator, grid: Grid, term: int, seeds: int
):
    shape = (200, seeds, images_of(generator))
    assert_within_limits(criteria.power(generator, grid, term, shape, num_printed=30))


def test_many_tables_at_once_are_judged_as_each_by_itself():
    chance = np.random.default_rng(0)
    wrong = chance.random((4, 6, 3, 30)) < 0.3
    grid = criteria.MIXED
    together = p_over_seeds(wrong.mean(axis=-1), grid)
    each = [block_anova(errors, grid.contrasts) for errors in wrong.mean(axis=-1)]
    expected = [[anova.p_value(place) for place in range(3)] for anova in each]
    assert together == pytest.approx(np.array(expected))
    assert judged_effects(wrong, grid).p_value.shape == (4, 3)
