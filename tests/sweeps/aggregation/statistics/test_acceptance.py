"""Tables of drawn networks have the error rates that they promise: a few draws of each.

`python -m tools.acceptance.statistics` counts them at length. Chance is the same in every run.
`test_two_way.py`, `test_intervals.py` and `test_families.py` have the laws.
"""

from collections.abc import Iterable

import pytest

from tools.acceptance import best_arms, criteria, planned_seeds
from tools.acceptance.figures import Figure
from tools.acceptance.networks import (
    BOTH_MATTER,
    FEW_ERRORS,
    GENERATORS,
    HEAVY_TAILS,
    IMAGES_DOMINATE,
    SEEDS_DOMINATE,
    SEEDS_MATTER,
    VIEWS,
    Generator,
    images_of,
)

pytestmark = pytest.mark.nightly
by_name = pytest.mark.parametrize("generator", GENERATORS, ids=lambda generator: generator.name)


def assert_within_limits(figures: Iterable[Figure]) -> None:
    all_figures = list(figures)
    assert all_figures
    for figure in all_figures:
        low, high = figure.ends
        assert low <= figure.most, figure.as_line()
        assert high >= figure.least, figure.as_line()


@by_name
@pytest.mark.parametrize(("seeds", "draws"), [(2, 200), (3, 2000), (5, 1200), (10, 500)])
def test_intervals_cover_and_hardly_anything_is_bold_where_no_arm_differs(
    generator: Generator, seeds: int, draws: int
):
    assert_within_limits(criteria.under_null(generator, seeds, images_of(generator), draws))


def test_intervals_cover_and_hardly_anything_is_bold_where_seeds_and_images_both_matter():
    assert_within_limits(criteria.under_null(BOTH_MATTER, 10, 360, 3000))


def test_seeds_alone_would_neither_cover_nor_keep_what_is_bold_rare():
    covers, bold = criteria.under_null(IMAGES_DOMINATE, 10, 360, 400)

    assert covers.context["seeds alone"] < 0.7
    assert bold.context["old rule"] > 0.8


@pytest.mark.parametrize(
    ("generator", "seeds", "compared"),
    [(IMAGES_DOMINATE, 5, 6), (SEEDS_MATTER, 3, 1)],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_what_is_printed_as_detectable_is_found_four_times_of_five(
    generator: Generator, seeds: int, compared: int
):
    images = images_of(generator)
    assert_within_limits(criteria.power(generator, seeds, images, 800, compared, num_printed=30))


@pytest.mark.parametrize(
    ("generator", "seeds", "margin"),
    [(FEW_ERRORS, 5, 0.01), (FEW_ERRORS, 3, 0.02), (VIEWS, 10, 0.04), (IMAGES_DOMINATE, 10, 0.02)],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_an_arm_that_differs_by_the_margin_is_hardly_ever_equivalent(
    generator: Generator, seeds: int, margin: float
):
    assert_within_limits(criteria.equivalence(generator, seeds, images_of(generator), 1000, margin))


def test_equal_arms_are_found_equivalent_within_a_wide_margin():
    (figure,) = criteria.equivalence(FEW_ERRORS, 5, 360, 500, 0.03)

    assert figure.context["where equal"] > 0.9


@pytest.mark.parametrize("base", [0.02, 0.5, 0.85])
@pytest.mark.parametrize(
    "generator", [IMAGES_DOMINATE, SEEDS_DOMINATE, FEW_ERRORS], ids=lambda generator: generator.name
)
def test_an_arm_that_diverges_twice_of_five_is_never_better(generator: Generator, base: float):
    (figure,) = criteria.divergence(generator, base, 0.02, 360, 1000)

    assert figure.count == 0


@pytest.mark.parametrize(
    "generator", [IMAGES_DOMINATE, HEAVY_TAILS], ids=lambda generator: generator.name
)
def test_looking_again_after_each_three_seeds_shows_hardly_anything(generator: Generator):
    assert_within_limits(criteria.peeking(generator, (3, 6, 9, 12, 15), 360, 500))


@pytest.mark.parametrize(("seeds", "images"), [(3, 180), (5, 360), (10, 360)])
@pytest.mark.parametrize("spacing", [0.0, 0.001])
def test_the_truly_best_arm_is_among_those_not_told_from_the_best(
    spacing: float, seeds: int, images: int
):
    assert_within_limits(best_arms.sets_of_best(FEW_ERRORS, spacing, seeds, images, 500))


def test_the_set_of_best_arms_leaves_out_those_that_are_clearly_worse():
    (figure,) = best_arms.sets_of_best(FEW_ERRORS, 0.02, 5, 360, 200)

    assert figure.context["arms in the set"] < 4


@pytest.mark.parametrize(
    ("generator", "seeds", "compared"),
    [(IMAGES_DOMINATE, 5, 6), (SEEDS_MATTER, 12, 1)],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_as_many_seeds_as_are_planned_find_the_difference_and_two_fewer_hardly_do(
    generator: Generator, seeds: int, compared: int
):
    (figure,) = planned_seeds.true_plans(generator, seeds, compared, images_of(generator), 800)

    assert_within_limits([figure])
    assert figure.context["2 fewer"] < 0.82


def test_pilots_plan_about_as_many_seeds_as_are_needed():
    figures = planned_seeds.pilot_plans(SEEDS_MATTER, 5, 360, 40, errs_more=False)
    for figure in figures:
        assert 1 / 1.4 <= figure.context["median planned / needed"] <= 1.4
        assert figure.context["mean power"] > 0.75
        assert figure.context["power .65 or more"] >= figure.rate
