"""The power of a table of effects, compared with the distributions of which it is a limit."""

import numpy as np
import pytest
from scipy.stats import f as f_law
from scipy.stats import ncf
from statsmodels.stats.power import TTestPower

from sweeps.aggregation.statistics.effect_power import (
    EffectRequirement,
    GridParts,
    detectable_effect,
    power_of_effect,
)
from sweeps.aggregation.statistics.rule_power import POWER, VarianceParts

SEEDS_ALONE = VarianceParts(of_seeds=1.0, of_images=0.0, of_pairs=0.0)
MANY = 1_000_000


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("effect", [0.5, 1.5, 4.0])
def test_where_images_do_not_matter_one_contrast_has_the_power_of_the_t_test(
    seeds: int, effect: float
):
    asked = EffectRequirement(degrees=1, length=2.0, level=0.01)
    power = power_of_effect(SEEDS_ALONE, seeds, MANY, effect, requirement=asked)
    assert power == pytest.approx(TTestPower().power(effect / 2, seeds, 0.01), abs=2e-4)


@pytest.mark.parametrize("num", [2, 4])
def test_where_seeds_are_many_several_contrasts_have_the_power_of_the_f_test(num: int):
    seeds, effect, level = 400, 0.2, 0.02
    asked = EffectRequirement(degrees=num, length=1.0, level=level)
    power = power_of_effect(SEEDS_ALONE, seeds, MANY, effect, requirement=asked)
    below = num * (seeds - 1)
    critical = f_law.isf(level, num, below)
    assert power == pytest.approx(ncf.sf(critical, num, below, seeds * effect**2), abs=2e-3)


@pytest.mark.parametrize("num", [1, 2])
def test_the_detectable_effect_has_the_power_that_is_asked_for(num: int):
    wrong = np.random.default_rng(0).random((6, 5, 400)) < 0.1
    parts = GridParts.of(wrong.astype(float))
    asked = EffectRequirement(degrees=num, length=0.8, level=0.01, block_degrees=17.0)
    effect = detectable_effect(parts, 5, 400, asked)
    power = power_of_effect(parts.at(effect), 5, 400, effect, requirement=asked)
    assert power == pytest.approx(POWER, abs=1e-3)
    assert detectable_effect(parts, 40, 400, asked) < effect


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


def test_nothing_is_detectable_where_the_evidence_cannot_be_reached():
    wrong = np.random.default_rng(0).random((4, 3, 400)) < 0.1
    parts = GridParts.of(wrong.astype(float))
    asked = EffectRequirement(degrees=1, length=1.0, level=0.01, evidence_level=0.0)
    assert detectable_effect(parts, 3, 400, asked) == np.inf
