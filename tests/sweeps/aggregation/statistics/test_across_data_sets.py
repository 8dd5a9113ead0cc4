"""Differences over several data sets, recomputed with scipy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sweeps.aggregation.statistics.across_data_sets import (
    Levels,
    as_log_ratio,
    averaged,
    like_these,
    overall,
    overall_beyond_margin,
    rank_test,
    with_rare_images,
)
from sweeps.aggregation.statistics.shared_seeds import share_seeds
from sweeps.aggregation.statistics.two_way import TwoWay, half_width_by, two_way

EXACT = 1e-12


def drawn_ways(num: int = 3, arms: int = 4) -> list[TwoWay]:
    """Return differences on some data sets, their variances over seeds shared; one arm is apart."""
    chance = np.random.default_rng(61)
    ways: list[TwoWay] = []
    for place in range(num):
        by_seed = chance.normal(0.02, 0.01, (arms, 3, 1)) * np.array([9.0, 1, 1, 1])[:, None, None]
        differences = by_seed + chance.normal(0, 0.3, (arms, 3, 40 + 20 * place))
        own = np.array([9.0, 1.0, 1.0, 1.0])
        ways.append(share_seeds(two_way(differences), own, np.asarray(1.0)))
    return ways


def test_the_errors_of_the_average_are_joined_as_satterthwaite_joins_them() -> None:
    ways = drawn_ways()
    found = overall(ways)
    for arm in range(4):
        mean = np.mean([way.mean[arm] for way in ways])
        p_values, widths = list[float](), list[float]()
        for part in range(3):
            variances = np.array([way.errors[part][0][arm] ** 2 for way in ways])
            degrees = np.array([np.broadcast_to(way.errors[part][1], 4)[arm] for way in ways])
            error = np.sqrt(variances.sum()) / 3
            joined = variances.sum() ** 2 / (variances**2 / degrees).sum()
            p_values.append(2 * stats.t.sf(abs(mean) / error, joined))
            widths.append(stats.t.isf(0.025, joined) * error)
        assert found.mean[arm] == pytest.approx(mean, abs=EXACT)
        assert found.p_value[arm] == pytest.approx(max(p_values), abs=EXACT)
        assert found.half_width()[arm] == pytest.approx(max(widths), abs=EXACT)
    assert found.errors[1][0][0] != found.errors[0][0][0]  # one arm is held to its own seeds
    assert found.errors[1][0][1] == found.errors[0][0][1]


def test_a_data_set_on_which_nothing_differs_at_all_has_its_weight() -> None:
    ways = drawn_ways()
    assert overall(ways, 6).mean == pytest.approx(overall(ways).mean / 2, abs=EXACT)
    assert overall(ways, 6).p_value == pytest.approx(overall(ways).p_value, abs=EXACT)


def test_seeds_that_agree_on_every_data_set_say_nothing() -> None:
    agreeing = two_way(np.tile(np.repeat([1.0, 0.0], [30, 70]), (3, 1)))
    spread = two_way(np.random.default_rng(0).normal(0.3, 0.1, (3, 100)))
    assert overall([agreeing, agreeing]).p_value == 1
    assert overall([agreeing, spread]).p_value < 0.05


def test_seeds_are_averaged_over_data_sets_first() -> None:
    chance = np.random.default_rng(1)
    differences = [chance.normal(0.1, 0.5, (4, images)) for images in (30, 80)]
    ways = [two_way(each) for each in differences]
    by_seed = np.mean([each.mean(axis=1) for each in differences], axis=0)
    found = averaged(ways, np.asarray(by_seed.var(ddof=1) / 4), 4)
    images = sum(way.over_images for way in ways) / 4
    residual = sum(way.residual for way in ways) / 4
    assert found.mean == pytest.approx(by_seed.mean(), abs=EXACT)
    assert found.errors[1][0] == pytest.approx(stats.sem(by_seed), abs=EXACT)
    assert found.errors[2] == pytest.approx((np.sqrt(images), 29), abs=EXACT)
    seeds = stats.sem(by_seed) ** 2
    both = max(seeds + images - residual, seeds, images)
    assert found.standard_error == pytest.approx(np.sqrt(both), abs=EXACT)


def test_logarithms_of_ratios_have_half_an_image_added_and_are_those_of_expected_errors() -> None:
    way = drawn_ways(1)[0]
    way = replace(way, mean=np.array([-0.1, 0.0, 0.05, -0.3]))
    of_arm = np.array([0.001, 0.004, 0.0, 0.0])
    found = as_log_ratio(way, Levels(np.asarray(0.2), np.asarray(0.002), of_arm, 40))
    half = 1 / 80
    errors = np.array([0.1, 0.2, 0.25, 0.0]) + half
    below = of_arm / errors**2 / 2 - 0.002 / (0.2 + half) ** 2 / 2
    assert found.mean == pytest.approx(np.log(errors / (0.2 + half)) + below, abs=EXACT)
    mean_errors = np.array([0.15, 0.2, 0.225, 0.05])
    for part in range(3):
        expected = way.errors[part][0] / (mean_errors + half)
        assert found.errors[part][0] == pytest.approx(expected, abs=EXACT)


def ratios_of_drawn_errors() -> tuple[list[TwoWay], list[Levels]]:
    """Return differences of arms that err 30 % less, of 25 times the variance, on data sets."""
    chance = np.random.default_rng(62)
    ways, levels = list[TwoWay](), list[Levels]()
    for images in (400, 900, 2_000):
        rates = np.array([0.2] + [0.14] * 4)[:, None] + chance.normal(0, 0.01, (5, 3)) * np.array(
            [1.0, 5.0, 5.0, 1.0, 0.2]
        ).reshape(5, 1)
        wrong = chance.random((5, 3, images)) < rates[..., None]
        errors = wrong.mean(axis=-1)
        of_mean = errors.var(axis=-1, ddof=1) / 3
        way = two_way(wrong[1:] * 1.0 - wrong[:1])
        ways.append(share_seeds(way, errors.var(axis=-1)[1:], errors.var(axis=-1)[0]))
        levels.append(Levels(errors[:1].mean(axis=-1), of_mean[:1], of_mean[1:], images))
    return ways, levels


def variance_of_logarithm(
    way: TwoWay, level: Levels, arm: int, over_seeds: float, *, by_own_error: bool = True
) -> float:
    """Return what seeds add to an arm's logarithm by a variance of its difference."""
    baseline = level.baseline[0] + 1 / (2 * level.num_images)
    error = baseline + way.mean[arm]
    by_mean = over_seeds / ((error + baseline) / 2) ** 2
    of_arm, of_baseline = level.of_arm[arm], level.of_baseline[0]
    by_own = of_arm / error**2 + of_baseline / baseline**2
    by_own -= (of_arm + of_baseline - over_seeds) / (error * baseline)
    return max(by_own, by_mean) if by_own_error else by_mean


@pytest.mark.parametrize("by_own_error", [False, True])
def test_logarithms_hold_by_the_mean_error_and_by_each_error_of_its_own(by_own_error: bool) -> None:
    for way, level in zip(*ratios_of_drawn_errors(), strict=True):
        found, shared = as_log_ratio(way, level), way.shared
        assert shared is not None
        own, seeds = (
            np.array(
                [
                    variance_of_logarithm(way, level, arm, each[arm], by_own_error=by_own_error)
                    for arm in range(4)
                ]
            )
            for each in (way.over_seeds, shared.over_seeds)
        )
        images, residual = found.over_images, found.residual
        both = np.maximum(np.maximum(seeds + images - residual, seeds), images)
        alone = np.where(shared.is_apart, own, both)
        errors = found.errors[3:] if by_own_error else found.errors[:3]
        for (error, _), expected in zip(errors, (both, alone, images), strict=True):
            assert error == pytest.approx(np.sqrt(expected), abs=EXACT)
        assert found.seeds_factor.max() > 1.1
        assert found.shared_factor.max() > 1.1
        assert shared.is_apart.any()


def test_logarithms_are_never_surer_than_by_the_mean_error() -> None:
    ways, levels = ratios_of_drawn_errors()
    logs = [as_log_ratio(way, level) for way, level in zip(ways, levels, strict=True)]
    once = [replace(log, seeds_factor=np.ones(4), shared_factor=np.ones(4)) for log in logs]
    found, before = overall(logs), overall(once)
    assert (found.half_width() >= before.half_width()).all()
    assert (found.p_value >= before.p_value).all()
    assert (found.half_width() > 1.02 * before.half_width()).any()


def test_more_degrees_of_freedom_by_a_larger_variance_leave_no_narrower_interval() -> None:
    by_seed = np.array([-0.06, -0.03, 0.0])[:, None]
    levels = Levels(np.asarray(0.1), np.asarray(0.0), np.asarray(0.0), 1_000)
    large, small = (
        as_log_ratio(two_way(np.tile(by_seed * scale, (1, 1_000))), levels) for scale in (1.0, 0.2)
    )
    once = [replace(log, seeds_factor=np.asarray(1.0)) for log in (large, small)]
    as_large = replace(small, seeds_factor=large.over_seeds / small.over_seeds)
    found = overall([once[0], as_large])
    by_first, by_second = (half_width_by((found.errors[place],), 0.95) for place in (0, 3))
    assert by_second < by_first
    assert found.half_width() == overall(once).half_width()


def test_seeds_whose_difference_agrees_add_nothing_to_its_logarithm() -> None:
    agreeing = two_way(np.tile(np.repeat([-1.0, 0.0], [30, 70]), (3, 1)))
    levels = Levels(np.asarray(0.6), np.asarray(0.001), np.asarray(0.001), 100)
    assert as_log_ratio(agreeing, levels).seeds_factor == 1


def test_data_sets_like_these_are_judged_by_a_t_test_over_data_sets() -> None:
    logs = np.random.default_rng(2).normal(-0.1, 0.1, (3, 7))
    found = like_these(logs)
    by_scipy = stats.ttest_1samp(logs, 0, axis=1)
    assert found.p_value == pytest.approx(by_scipy.pvalue, abs=EXACT)
    ends = by_scipy.confidence_interval(0.95)
    assert found.mean - found.half_width() == pytest.approx(ends.low, abs=EXACT)
    assert like_these(np.zeros(6)).p_value == 1


def test_ranks_are_compared_as_friedman_and_holm_do() -> None:
    errors = np.random.default_rng(3).integers(1, 6, (8, 4)) / 10  # with ties
    found = rank_test(errors)
    ranks = stats.rankdata(errors, axis=1).mean(axis=0)
    friedman = stats.friedmanchisquare(*errors.T).pvalue
    assert found.ranks == pytest.approx(ranks, abs=EXACT)
    assert found.friedman_p == pytest.approx(friedman, abs=EXACT)
    error = np.sqrt(4 * 5 / (6 * 8))
    p_values = 2 * stats.norm.sf(np.abs(ranks[1:] - ranks[0]) / error)
    steps = np.maximum.accumulate(np.sort(p_values) * [3, 2, 1])
    holm = np.minimum(steps, 1)[np.argsort(np.argsort(p_values))]
    assert found.adjusted_p == pytest.approx(np.maximum(holm, friedman), abs=EXACT)
    assert found.critical_difference == pytest.approx(stats.norm.isf(0.05 / 6) * error)


def test_arms_that_all_err_alike_rank_alike() -> None:
    found = rank_test(np.full((3, 4), 0.1))
    assert (found.ranks == 2.5).all()
    assert found.friedman_p == 1
    assert (found.adjusted_p == 1).all()


def test_equivalence_is_two_one_sided_tests_by_each_error() -> None:
    ways = [with_rare_images(way) for way in drawn_ways()]
    found, margin = overall(ways), 0.5
    p_values = [
        stats.t.sf((margin - np.abs(found.mean)) / error, degrees)
        for error, degrees in found.errors
    ]
    assert overall_beyond_margin(found, margin) == pytest.approx(
        np.max(p_values, axis=0), abs=EXACT
    )


def test_images_of_which_none_differs_bear_out_no_smaller_margin_than_their_number_does() -> None:
    none = two_way(np.zeros((3, 200)))
    found = overall([with_rare_images(none)] * 2)
    exact = 1 - 0.025 ** (1 / 400)  # none of 400 images contradicts that share
    assert overall_beyond_margin(found, exact) > 0.025
    assert overall_beyond_margin(found, 3 * exact) < 0.025
