"""All pairs of arms: letters, the joint distribution, and the spread over seeds that they share."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import studentized_range, t, tukey_hsd

from sweeps.aggregation.results.arms import arm_results
from sweeps.aggregation.results.pair_comparisons import pair_comparisons
from sweeps.aggregation.statistics.all_pairs import (
    compact_letters,
    half_width_of_pair,
    p_of_pair,
    places_of_pairs,
    pool_degrees_of_pairs,
    range_p,
    range_quantile,
    share_pairs,
    shared_between_pairs,
)
from sweeps.aggregation.statistics.shared_seeds import MOST_PRIOR_DEGREES, own_variances
from sweeps.aggregation.statistics.two_way import TwoWay, two_way
from tests.sweeps.aggregation.known_sweep import IMAGES, by_key, manifest_of
from tests.sweeps.aggregation.predicted import predictions_of, trials_of
from tools.acceptance import all_pairs
from tools.acceptance.logit_networks import SEEDS, UNEQUAL

pairs_that_differ = st.integers(1, 8).flatmap(
    lambda num: st.tuples(
        st.just(num), st.sets(st.sampled_from([*combinations(range(num + 1), 2)])).map(sorted)
    )
)


@given(pairs_that_differ)
def test_two_arms_share_a_letter_exactly_where_they_are_not_different(
    drawn: tuple[int, list[tuple[int, int]]],
):
    num, different = drawn[0] + 1, drawn[1]
    letters = compact_letters(num, different)

    for pair in combinations(range(num), 2):
        first, second = ({*letters[place]} for place in pair)
        assert bool(first & second) == (pair not in different)
    arms_of = [
        {place for place in range(num) if letter in letters[place]}
        for letter in {letter for of_arm in letters for letter in of_arm}
    ]
    assert not any(one < other for one, other in combinations(arms_of, 2))
    assert all("".join(sorted(of_arm)) == of_arm for of_arm in letters)


def test_letters_are_given_out_from_the_first_arm_on():
    assert compact_letters(4, [(0, 2), (0, 3), (1, 3)]) == ["a", "ab", "bc", "c"]
    assert compact_letters(3, []) == ["a", "a", "a"]
    assert compact_letters(1, []) == ["a"]
    assert compact_letters(0, []) == []


def test_the_range_of_two_arms_is_students_t():
    assert range_p(2.3, 7.5, 2) == pytest.approx(2 * t.sf(2.3, 7.5), rel=1e-6)
    assert range_quantile(2, 7.5) == pytest.approx(t.ppf(0.975, 7.5))


@pytest.mark.parametrize(("num_arms", "degrees"), [(3, 2.0), (5, 8.0), (8, 5000.0)])
def test_what_any_pair_exceeds_in_one_of_twenty_tables_is_the_quantile_of_the_range(
    num_arms: int, degrees: float
):
    found = range_quantile(num_arms, degrees)
    expected = studentized_range.ppf(0.95, num_arms, degrees) / np.sqrt(2)
    assert found == pytest.approx(expected, rel=1e-5)
    assert range_p(found, degrees, num_arms) == pytest.approx(0.05, rel=1e-4)


def test_p_values_of_one_variance_are_those_of_tukeys_test():
    groups = np.random.default_rng(1).normal([[0.0], [0.5], [2.0]], size=(3, 6))
    error = np.sqrt(groups.var(axis=1, ddof=1).mean() * 2 / 6)
    expected = tukey_hsd(*groups).pvalue
    for first, second in combinations(range(3), 2):
        ratio = abs(groups[first].mean() - groups[second].mean()) / error
        assert range_p(float(ratio), 15.0, 3) == pytest.approx(expected[first, second], rel=1e-5)


def test_degrees_of_all_pairs_are_those_of_the_arms_however_many_pairs_there_are():
    assert pool_degrees_of_pairs(np.ones((2, 6)), 4) == pytest.approx([15, 15])
    assert pool_degrees_of_pairs(np.array([9.0, 0.0, 0.0]), 4) == pytest.approx(3)
    assert pool_degrees_of_pairs(np.zeros(4), 3) == pytest.approx(6)
    spread = np.array([0.5, 1.0, 4.0, 2.0])
    centred = np.eye(4) - 0.25
    eigenvalues = np.linalg.eigvalsh(centred @ np.diag(spread) @ centred)
    box = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
    assert pool_degrees_of_pairs(spread, 2) == pytest.approx(box)


def wrong_of(num_arms: int, num_seeds: int, draws: int = 1) -> np.ndarray:
    shape = (draws, num_seeds, 60)
    (wrong, *_) = SEEDS.parts("all pairs", [0.2] * num_arms, shape)
    return wrong.astype(float)


def shared_pairs(wrong: np.ndarray) -> tuple[TwoWay, TwoWay]:
    places = first, second = places_of_pairs(wrong.shape[1])
    way = two_way(wrong[:, second] - wrong[:, first])
    return way, share_pairs(way, own_variances(wrong.mean(axis=-1)), places)


def test_variances_of_pairs_are_drawn_to_their_mean_and_never_below_it():
    way, shared = shared_pairs(wrong_of(5, 3, draws=20))
    assert shared.shared is not None
    pool = way.over_seeds.mean(axis=-1, keepdims=True)
    assert (shared.shared.over_seeds >= pool).all()
    assert (shared.shared.over_seeds >= way.residual).all()
    assert (shared.shared.degrees <= 2 + MOST_PRIOR_DEGREES).all()
    assert (shared.shared.degrees >= 2).all()


def test_pairs_of_an_arm_that_varies_far_more_have_to_hold_by_their_own_seeds():
    wrong = wrong_of(4, 8)
    wrong[:, 2, ::2] = np.maximum(wrong[:, 2, ::2], wrong[:, 0, ::2])
    wrong[:, 2, 1::2, :40] = 1.0
    _, shared = shared_pairs(wrong)
    assert shared.shared is not None
    with_wild = [2 in pair for pair in combinations(range(4), 2)]
    assert shared.shared.is_apart[0, with_wild].all()
    assert not shared.shared.is_apart[0, np.logical_not(with_wild)].any()


def test_pairs_one_by_one_share_as_pairs_side_by_side_do():
    wrong = wrong_of(4, 5)
    _, shared = shared_pairs(wrong)
    errors = [dict(enumerate(row)) for row in wrong[0].mean(axis=-1).tolist()]
    ways = {
        pair: two_way(wrong[0, pair[1]] - wrong[0, pair[0]]) for pair in combinations(range(4), 2)
    }
    found = shared_between_pairs(ways, errors)
    assert [*found] == [*ways]
    for place, one in enumerate(found.values()):
        assert float(one.half_width()) == pytest.approx(shared.half_width()[0, place])
    alone = {(0, 3): ways[0, 3]}
    assert shared_between_pairs(alone, errors) == alone


def test_an_interval_leaves_out_0_exactly_where_p_is_below_a_twentieth():
    _, shared = shared_pairs(wrong_of(4, 3))
    assert shared.shared is not None
    of_one = {name: value[0, 0] for name, value in vars(shared.shared).items()}
    parts = ("over_seeds", "over_images", "residual", "largest")
    way = replace(
        shared,
        **{name: np.asarray(getattr(shared, name)[0, 0]) for name in parts},
        shared=type(shared.shared)(**of_one),
    )
    half = half_width_of_pair(replace(way, mean=np.asarray(0.0)), 4, 6)
    for factor, is_below in ((0.999, False), (1.001, True)):
        moved = replace(way, mean=np.asarray(-factor * half))
        assert (p_of_pair(moved, 4, 6) < 0.05) == is_below
    alike = replace(way, mean=np.asarray(half), over_seeds=np.asarray(0.0))
    assert p_of_pair(alike, 4, 6) == 1.0


def test_a_pair_that_stands_alone_is_judged_by_bonferroni():
    way, _ = shared_pairs(wrong_of(2, 5))
    one = TwoWay(
        *(np.asarray(part[0, 0]) for part in (way.mean, way.over_seeds, way.over_images)),
        residual=np.asarray(way.residual[0, 0]),
        largest=np.asarray(way.largest[0, 0]),
        num_seeds=5,
        num_clusters=60,
    )
    assert p_of_pair(one, 4, 6) == pytest.approx(min(1.0, 6 * float(one.p_value)))
    assert half_width_of_pair(one, 4, 6) == pytest.approx(float(one.half_width(1 - 0.05 / 6)))


def test_many_tables_are_judged_as_the_product_judges_each():
    errors = [0.05, 0.05, 0.3]
    (wrong, *_) = UNEQUAL.parts("judged", errors, (2, 4, IMAGES))
    judged = all_pairs.judged_pairs(wrong)
    bold, half = judged.is_bold, judged.half_width()
    assert 0 < bold.sum() < bold.size

    names = [f"arm {place}" for place in range(len(errors))]
    for draw, table in enumerate(wrong):
        places = {
            name: [np.flatnonzero(row).tolist() for row in arm]
            for name, arm in zip(names, table, strict=True)
        }
        manifest = manifest_of(names, range(4))
        arms = arm_results(manifest, by_key(*trials_of(places)))
        compared = pair_comparisons(manifest, arms, predictions_of(places))
        by_names = {
            frozenset((pair.arm.arm.name, pair.against[0].arm.name)): pair
            for pair in compared.pairs.values()
        }
        for place, (first, second) in enumerate(combinations(names, 2)):
            pair = by_names[frozenset((first, second))]
            assert pair.simultaneous is not None
            assert pair.simultaneous.half_width == pytest.approx(half[draw, place], rel=1e-5)
            assert pair.is_different == bold[draw, place]
            assert pair.is_different == pair.simultaneous.excludes_zero


def test_in_drawn_tables_of_equal_arms_hardly_any_pair_is_bold():
    figures = [*all_pairs.under_null(SEEDS, [0.1] * 3, (300, 3, 100))]
    assert len(figures) == 4
    for figure in figures:
        low, high = figure.ends
        assert low <= figure.most, figure.as_line()
        assert high >= figure.least, figure.as_line()
    assert figures[0].context["Holm"] <= figures[0].rate
