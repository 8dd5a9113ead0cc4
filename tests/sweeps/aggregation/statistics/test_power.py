"""The power of tables, compared with the laws of which it is a limit, and with drawn tables."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import f, ncf, nct, t

from sweeps.aggregation.statistics.added_seeds import fewest_seeds
from sweeps.aggregation.statistics.power import (
    POWER,
    GridParts,
    Requirement,
    VarianceParts,
    detectable,
    power_of_rule,
)
from sweeps.aggregation.statistics.two_way import two_way
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


SEEDS_ALONE = VarianceParts(of_seeds=1.0, of_images=0.0, of_pairs=0.0)
MANY = 1_000_000


def t_power(effect: float, num: int, level: float) -> float:
    """Return how often a t test finds an effect, in standard deviations of one value."""
    critical, ratio = t.isf(level / 2, num - 1), effect * math.sqrt(num)
    wrong = nct.cdf(-critical, num - 1, ratio)  # scipy has none of large effects
    return float(np.nansum([nct.sf(critical, num - 1, ratio), wrong]))


@pytest.mark.parametrize("seeds", [3, 5, 10, 40])
@pytest.mark.parametrize("compared", [1, 6])
@pytest.mark.parametrize("effect", [0.5, 1.5, 4.0])
@pytest.mark.parametrize("num_contrasts", [0, 1])
def test_where_images_count_for_nothing_it_is_the_noncentral_t_distributions(
    seeds: int, compared: int, effect: float, num_contrasts: int
):
    asked = Requirement(0.05 / compared, num_contrasts=num_contrasts)

    calculated = power_of_rule(SEEDS_ALONE, seeds, MANY, effect, requirement=asked)
    assert calculated == pytest.approx(t_power(effect, seeds, 0.05 / compared), abs=2e-4)


@pytest.mark.parametrize("num", [2, 4])
def test_where_seeds_are_many_several_contrasts_have_the_power_of_the_f_test(num: int):
    seeds, effect, level = 400, 0.2, 0.02
    asked = Requirement(level, num_contrasts=num)

    calculated = power_of_rule(SEEDS_ALONE, seeds, MANY, effect, requirement=asked)
    below = num * (seeds - 1)
    expected = ncf.sf(f.isf(level, num, below), num, below, seeds * effect**2)
    assert calculated == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("num_contrasts", [0, 1])
def test_without_an_end_of_seeds_images_alone_decide(num_contrasts: int):
    asked = Requirement(0.05 / 6, num_contrasts=num_contrasts)

    calculated = power_of_rule(VarianceParts(1.0, 1.0, 1.0), 10**9, 25, 0.8, requirement=asked)
    assert calculated == pytest.approx(t_power(0.8, 25, 0.05 / 6), abs=1e-3)


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


@pytest.mark.parametrize("num_contrasts", [0, 1, 2])
def test_after_looking_fewer_are_found_and_of_too_few_seeds_none(num_contrasts: int):
    parts, needed = VarianceParts(1.0, 0.1, 0.1), math.log(6 / 0.05)
    planned = Requirement(0.05 / 6, num_contrasts=num_contrasts)
    later = replace(planned, level=0.05 / 12, log_e=needed)
    fewest = fewest_seeds(needed)

    assert power_of_rule(parts, 10, 360, 1.5, requirement=later) < power_of_rule(
        parts, 10, 360, 1.5, requirement=planned
    )
    assert power_of_rule(parts, fewest - 1, 360, 50.0, requirement=later) == 0
    assert detectable(partial(power_of_rule, parts, fewest - 1, 360, requirement=later)) == math.inf
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
    is_bold = [
        judged_tables(wrong).is_bold[:, 0]
        for wrong in generator.parts("found", errors, (1000, 5, 360))
    ]
    calculated = power_of_rule(
        parts_of(generator, 0.0), 5, 360, effect, requirement=Requirement(0.01, num_sharing=5)
    )
    assert -0.09 < calculated - np.concatenate(is_bold).mean() < 0.04, "never far too high"


def test_images_that_are_shown_twice_let_the_same_difference_be_found():
    (wrong,) = BOTH_MATTER.parts("views", [0.1, 0.1], (1, 5, 200))
    once = two_way(minus_first(wrong))
    twice = two_way(minus_first(wrong.repeat(2, axis=-1)), np.repeat(np.arange(200), 2))

    def reach(parts: VarianceParts) -> float:
        known = parts.with_errors([0.06, 0.1, 0.14], [[0.06, 0.1, 0.14]], 200)
        return detectable(partial(power_of_rule, known, 5, 200, requirement=Requirement(0.05)))

    assert reach(VarianceParts.of(twice)) == pytest.approx(reach(VarianceParts.of(once)), rel=0.02)


def test_an_arm_that_varies_more_than_the_others_is_found_less_often():
    parts, others = VarianceParts(9.0, 0.1, 0.1), VarianceParts(1.0, 0.1, 0.1)
    asked = Requirement(0.01, num_sharing=5)

    among_alike = power_of_rule(parts, 5, 360, 7.0, requirement=asked)
    assert power_of_rule(parts, 5, 360, 7.0, requirement=asked, others=others) < among_alike - 0.08


@pytest.mark.parametrize("num", [1, 2])
def test_the_detectable_effect_has_the_power_that_is_asked_for(num: int):
    wrong = np.random.default_rng(0).random((6, 5, 400)) < 0.1
    parts = GridParts.of(wrong.astype(float))
    asked = Requirement(0.01, num_contrasts=num, block_degrees=17.0)

    def power_at(effect: float, num_seeds: int = 5) -> float:
        return power_of_rule(parts.at(effect), num_seeds, 400, effect, requirement=asked)

    effect = detectable(power_at)
    assert power_at(effect) == pytest.approx(POWER, abs=1e-3)
    assert detectable(partial(power_at, num_seeds=40)) < effect


def test_the_parts_of_a_grid_are_those_of_its_law():
    """Errors are sums of effects of seeds, images, arms on images, and a rest."""
    chance = np.random.default_rng(1)
    arms, seeds, images = 8, 300, 300
    wrong = 0.1 + sum(
        size * chance.normal(size=shape)
        for size, shape in (
            (0.3, (1, seeds, 1)),
            (0.2, (arms, seeds, 1)),
            (0.5, (1, 1, images)),
            (0.4, (arms, 1, images)),
            (0.7, (arms, seeds, images)),
        )
    )
    parts = GridParts.of(np.asarray(wrong))
    assert parts.of_one.of_seeds == pytest.approx(0.2**2, rel=0.1)
    assert parts.of_one.of_images == pytest.approx(0.4**2, rel=0.1)
    assert parts.of_one.of_pairs == pytest.approx(0.7**2, rel=0.05)
    assert parts.common_seeds == pytest.approx(0.3**2, rel=0.2)
    assert parts.common_images == pytest.approx(0.5**2, rel=0.2)
