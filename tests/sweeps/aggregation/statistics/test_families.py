"""Many comparisons together, and equivalence, against statsmodels."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from sweeps.aggregation.statistics.equivalence import beyond_margin, equivalence_p
from sweeps.aggregation.statistics.families import holm, simultaneous_confidence
from sweeps.aggregation.statistics.two_way import two_way

EXACT = 1e-10


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_adjusted_p_values_are_those_of_statsmodels_and_of_the_steps_written_out(p: list[float]):
    """Holm multiplies the smallest by all, the next by one fewer, and lets none fall again."""
    order = sorted(range(len(p)), key=lambda place: p[place])
    expected, so_far = [0.0] * len(p), 0.0
    for step, place in enumerate(order):
        so_far = max(so_far, min(1.0, p[place] * (len(p) - step)))
        expected[place] = so_far

    assert holm(p) == pytest.approx(expected, abs=EXACT)
    theirs: Any = multipletests(p, method="holm")[1]
    assert holm(p) == pytest.approx(list(theirs), abs=EXACT)


def test_no_comparison_has_no_p_value():
    assert holm([]) == []


def test_all_together_each_is_bonferronis():
    assert simultaneous_confidence(1) == pytest.approx(0.95)
    assert simultaneous_confidence(6) == pytest.approx(1 - 0.05 / 6)


@pytest.mark.parametrize("margin", [0.5, 1.0, 3.0])
def test_over_seeds_alone_equivalence_is_that_of_statsmodels(margin: float):
    ours, theirs = np.random.default_rng(5).normal(size=(2, 7))
    differences = ours - theirs
    error = float(differences.std(ddof=1) / np.sqrt(7))

    p_value = equivalence_p(float(differences.mean()), error, 6.0, margin)
    expected = ttost_paired(ours, theirs, -margin, margin)[0]
    assert float(p_value) == pytest.approx(float(expected), abs=EXACT)


def test_without_spread_a_mean_is_within_the_margin_or_not():
    assert equivalence_p(0.1, 0.0, 2.0, 0.2) == 0
    assert equivalence_p(-0.3, 0.0, 2.0, 0.2) == 1


def test_rare_images_are_thought_more_frequent_where_equivalence_is_asked_for():
    """Two more images as the one that differs most: nothing where all differ a little."""
    rare, dense = np.zeros((3, 360)), np.random.default_rng(0).normal(size=(3, 360))
    rare[:, 0], rare[1, 1] = 1, -1

    assert two_way(rare).with_rare_images.over_images > 2.5 * two_way(rare).over_images
    assert two_way(dense).with_rare_images.over_images < 1.1 * two_way(dense).over_images


def test_seeds_that_differ_all_alike_can_be_within_a_margin():
    rows = np.zeros((3, 400))
    rows[:, :2] = 1
    alike = two_way(rows)
    assert float(beyond_margin(alike, 0.05)) < 0.025
    assert float(beyond_margin(alike, 0.01)) > 0.025


@pytest.mark.parametrize(("margin", "is_within"), [(0.02, True), (0.005, False)])
def test_where_no_image_differs_a_margin_has_to_be_above_three_of_the_images(
    margin: float, is_within: bool
):
    same = two_way(np.zeros((3, 400)))
    assert (float(beyond_margin(same, margin)) < 0.05) == is_within
