"""Differences over splits: by hand, and in short how often they are bold and hold the truth.

`tools/acceptance/splits.py` has the long form, with its figures beside it.
"""

import math

import numpy as np
import pytest
from scipy.stats import t as student

from sweeps.aggregation.statistics.two_way import over_splits, two_way
from tools.acceptance.splits import LAWS, Law, SweepOverSplits, rates

RANDOM = np.random.default_rng(3)
BOTH_MATTER = LAWS[4]


def test_a_split_is_one_value_and_the_variance_is_enlarged_for_what_splits_share() -> None:
    # all images alike: Nadeau and Bengio's test of the means of the splits, by hand
    by_seed = np.array([0.1, 0.3, 0.2, 0.6, 0.4, 0.4, 0.9, 0.1, 0.5, 0.7])
    splits = [0, 1, 2, 3, 4] * 2
    way = over_splits(np.repeat(by_seed[:, None], 50, axis=1), splits, 1 / 7)
    means = [(by_seed[split] + by_seed[split + 5]) / 2 for split in range(5)]
    error = math.sqrt(np.var(means, ddof=1) * (1 / 5 + 1 / 7))
    assert float(way.mean) == pytest.approx(np.mean(means))
    assert float(np.sqrt(way.over_seeds)) == pytest.approx(error, rel=1e-10)
    wanted = 2 * student.sf(float(np.mean(means)) / error, 4)
    assert float(way.p_value) == pytest.approx(wanted, rel=1e-10)


def test_of_fewer_than_five_splits_what_they_do_alike_is_taken_out() -> None:
    rows = RANDOM.normal(size=(6, 40))
    of_split = np.repeat([[-0.8], [0.1], [0.7]], 2, axis=0)
    plain, moved = (
        over_splits(values, [0, 0, 1, 1, 2, 2], 1 / 7) for values in (rows, rows + of_split)
    )
    assert float(moved.over_seeds) == pytest.approx(float(plain.over_seeds), rel=1e-10)
    assert moved.num_seeds - 1 == 6 - 3
    pairs = rows.mean(axis=1).reshape(3, 2)
    within = pairs.var(axis=1, ddof=1).mean()
    assert float(plain.over_seeds) == pytest.approx(within / 6, rel=1e-10)


def test_a_split_with_more_seeds_counts_no_more() -> None:
    rows = np.array([[0.0], [0.0], [0.0], [1.0]]) + RANDOM.normal(size=(4, 30)) * 1e-9
    assert float(over_splits(rows, [0, 0, 0, 1], 1 / 7).mean) == pytest.approx(0.5, abs=1e-8)


def test_without_a_second_seed_few_splits_say_nothing() -> None:
    with pytest.raises(ValueError, match="3 splits with one seed each are too few"):
        over_splits(RANDOM.normal(size=(3, 9)), [0, 1, 2], 1 / 7)


def test_one_seed_a_split_and_nothing_shared_is_as_seeds_are() -> None:
    rows = RANDOM.normal(size=(2, 7, 30))
    ours, plain = over_splits(rows, [*range(7)], 0.0), two_way(rows)
    assert np.allclose(ours.p_value, plain.p_value, rtol=1e-10)


@pytest.mark.parametrize("law", [LAWS[1], LAWS[2], BOTH_MATTER], ids=lambda law: law.name)
@pytest.mark.parametrize(
    "sweep", [SweepOverSplits(5, 1), SweepOverSplits(5, 3)], ids=["1 seed each", "3 seeds each"]
)
def test_equal_arms_are_seldom_bold_and_intervals_hold(law: Law, sweep: SweepOverSplits) -> None:
    by_splits = rates(law, sweep, 600)["splits"]
    assert by_splits.bold <= 0.055
    assert by_splits.covered >= 0.94


def test_trainings_of_one_split_are_no_draws_of_their_own() -> None:
    assert rates(LAWS[2], SweepOverSplits(5, 3), 400)["pooled"].bold > 0.1


def test_seeds_that_stand_on_every_split_would_pass_for_an_effect() -> None:
    crossed = SweepOverSplits(5, 3, is_crossed=True)
    assert rates(LAWS[3], crossed, 400)["splits"].bold > 0.15
    assert rates(LAWS[3], SweepOverSplits(5, 3), 400)["splits"].bold <= 0.055


def test_a_large_effect_is_found() -> None:
    assert rates(LAWS[1], SweepOverSplits(10, 1, effect=0.8), 200)["splits"].bold > 0.8
