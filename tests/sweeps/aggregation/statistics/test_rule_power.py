import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.aggregation.statistics.added_seeds import fewest_seeds
from sweeps.aggregation.statistics.rule_power import (
    Requirement,
    VarianceParts,
    detectable_by_rule,
    power_of_rule,
)
from sweeps.aggregation.statistics.two_way import two_way
from tests.sweeps.aggregation.statistics.noncentral_t import detectable_difference
from tools.acceptance.judged_tables import judged_tables, minus_first
from tools.acceptance.networks import (
    BOTH_MATTER,
    HEAVY_TAILS,
    IMAGES_DOMINATE,
    SEEDS_MATTER,
    Generator,
)

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


def parts_of(generator: Generator, difference: float) -> VarianceParts:
    """Return the parts of an arm that differs, as many networks have it, and those by the law."""
    errors = [generator.error, generator.error + difference]
    (wrong,) = generator.parts("parts", errors, (40, 40, 700))
    by_seed = wrong.mean(axis=-1)
    about_mean = by_seed - by_seed.mean(axis=-1, keepdims=True)  # each draw has other images
    baseline, arm = generator.error + about_mean.swapaxes(0, 1).reshape(2, -1)
    seen = VarianceParts.of(two_way(minus_first(wrong)))
    return seen.with_errors(baseline.tolist(), [arm.tolist()], 700)


@pytest.mark.parametrize("generator", [IMAGES_DOMINATE, SEEDS_MATTER, BOTH_MATTER])
def test_an_arm_that_errs_more_varies_as_such_networks_do(generator: Generator):
    alike, differing = parts_of(generator, 0.0), parts_of(generator, 0.05)

    calculated, drawn = alike.way(1, 700, 0.05), differing.way(1, 700)
    assert calculated.residual == pytest.approx(drawn.residual, rel=0.08)
    assert calculated.over_images == pytest.approx(drawn.over_images, rel=0.08)
    assert calculated.over_seeds == pytest.approx(drawn.over_seeds, rel=0.08)


def test_seeds_that_went_astray_are_moved_less_than_the_others_by_a_difference():
    alike, differing = parts_of(HEAVY_TAILS, 0.0), parts_of(HEAVY_TAILS, 0.15)
    drawn = differing.way(1, 700).over_seeds

    assert alike.way(1, 700, 0.15).over_seeds == pytest.approx(drawn, rel=0.25)
    assert alike.seeds is not None
    none_astray = replace(alike.seeds, places=np.zeros(3))
    of_one = replace(alike, seeds=none_astray).way(1, 700, 0.15).over_seeds
    assert of_one > 1.5 * drawn


@pytest.mark.parametrize(("generator", "effect"), [(IMAGES_DOMINATE, 0.046), (SEEDS_MATTER, 0.11)])
def test_a_difference_is_found_as_often_as_networks_that_differ_show_it(
    generator: Generator, effect: float
):
    """Their spread goes with the difference that is seen, and one of them may stand apart."""
    errors = [generator.error, generator.error + effect, *[generator.error] * 4]
    found = [
        judged_tables(wrong).is_bold[:, 0]
        for wrong in generator.parts("found", errors, (1000, 5, 360))
    ]
    calculated = power_of_rule(
        parts_of(generator, 0.0), 5, 360, effect, requirement=Requirement(0.01, num_sharing=5)
    )
    assert -0.09 < calculated - np.concatenate(found).mean() < 0.04, "never far too high"


def test_images_that_are_shown_twice_let_the_same_difference_be_found():
    (wrong,) = BOTH_MATTER.parts("views", [0.1, 0.1], (1, 5, 200))
    once = two_way(minus_first(wrong))
    twice = two_way(minus_first(wrong.repeat(2, axis=-1)), np.repeat(np.arange(200), 2))

    def reach(parts: VarianceParts) -> float:
        known = parts.with_errors([0.06, 0.1, 0.14], [[0.06, 0.1, 0.14]], 200)
        return detectable_by_rule(known, 5, 200, requirement=Requirement(0.05))

    assert reach(VarianceParts.of(twice)) == pytest.approx(reach(VarianceParts.of(once)), rel=0.02)


def test_an_arm_that_varies_more_than_the_others_is_found_less_often():
    parts, others = VarianceParts(9.0, 0.1, 0.1), VarianceParts(1.0, 0.1, 0.1)
    asked = Requirement(0.01, num_sharing=5)

    among_alike = power_of_rule(parts, 5, 360, 7.0, requirement=asked)
    assert power_of_rule(parts, 5, 360, 7.0, requirement=asked, others=others) < among_alike - 0.08
