import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.aggregation.statistics.added_seeds import fewest_seeds
from sweeps.aggregation.statistics.rule_power import Requirement, VarianceParts, power_of_rule
from sweeps.aggregation.statistics.two_way import two_way
from tests.sweeps.aggregation.statistics.noncentral_t import detectable_difference

variances = st.floats(0.01, 1.0)
seed_counts = st.integers(3, 40)


@pytest.mark.parametrize("seeds", [3, 5, 10, 40])
@pytest.mark.parametrize("compared", [1, 6])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_where_images_count_for_nothing_it_is_the_noncentral_t_distributions(
    seeds: int, compared: int, power: float
):
    effect = detectable_difference(1 / math.sqrt(seeds), seeds - 1, compared, power=power)
    asked = Requirement(0.05 / compared)

    calculated = power_of_rule(VarianceParts(1.0, 0.0, 0.0), seeds, 360, effect, requirement=asked)
    assert calculated == pytest.approx(power, abs=1e-4)


def test_without_an_end_of_seeds_images_alone_decide():
    effect = detectable_difference(math.sqrt(1 / 25), 24, 6)

    calculated = power_of_rule(
        VarianceParts(1.0, 1.0, 1.0), 10**9, 25, effect, requirement=Requirement(0.05 / 6)
    )
    assert calculated == pytest.approx(0.8, abs=1e-3)


@pytest.mark.parametrize(
    ("of_seeds", "seeds", "images", "effect"),
    [(0.02, 3, 50, 0.6), (0.02, 5, 50, 0.6), (0.1, 8, 25, 1.0), (0.005, 4, 200, 0.3)],
)
@pytest.mark.parametrize("compared", [1, 6])
def test_it_is_how_often_the_rule_of_tables_finds_the_difference(
    of_seeds: float, seeds: int, images: int, effect: float, compared: int
):
    chance, tables = np.random.default_rng(seeds), 4000
    drawn = effect + chance.normal(size=(tables, seeds, images))
    drawn += math.sqrt(of_seeds) * chance.normal(size=(tables, seeds, 1))
    drawn += chance.normal(size=(tables, 1, images))
    level = 0.05 / compared

    calculated = power_of_rule(
        VarianceParts(of_seeds, 1.0, 1.0), seeds, images, effect, requirement=Requirement(level)
    )
    assert calculated == pytest.approx((two_way(drawn).p_value < level).mean(), abs=0.025)


@settings(max_examples=30, deadline=None)
@given(variances, variances, variances, seed_counts, st.floats(0.05, 2))
def test_more_seeds_or_a_larger_effect_never_find_less_nor_do_images_where_seeds_are_many(
    of_seeds: float, of_images: float, of_pairs: float, seeds: int, effect: float
):
    parts, asked = VarianceParts(of_seeds, of_images, of_pairs), Requirement(0.01)
    least = power_of_rule(parts, seeds, 50, effect, requirement=asked) - 2e-3

    assert power_of_rule(parts, seeds + 3, 50, effect, requirement=asked) >= least
    many = power_of_rule(parts, 10**9, 50, effect, requirement=asked)
    assert power_of_rule(parts, 10**9, 100, effect, requirement=asked) >= many - 1e-9
    assert power_of_rule(parts, seeds, 50, 1.2 * effect, requirement=asked) >= least


def test_after_looking_fewer_are_found_and_of_too_few_seeds_none():
    parts, needed = VarianceParts(1.0, 0.1, 0.1), math.log(6 / 0.05)
    planned, later = Requirement(0.05 / 6), Requirement(0.05 / 12, needed)
    fewest = fewest_seeds(needed)

    assert power_of_rule(parts, 10, 360, 1.5, requirement=later) < power_of_rule(
        parts, 10, 360, 1.5, requirement=planned
    )
    assert power_of_rule(parts, fewest - 1, 360, 50.0, requirement=later) == 0
    assert power_of_rule(parts, fewest, 360, 50.0, requirement=later) > 0
