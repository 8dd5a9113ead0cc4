"""Excesses over shadows: where bands lie, and what counts as above."""

import numpy as np
import pytest

from sweeps.aggregation.sensitivity.shadows import ShareDraws, excesses

LIKE = np.ones((2, 2), dtype=bool)


def drawn(
    shares: tuple[float, float], seed: int, spread: float = 0.0, draws: int = 24
) -> ShareDraws:
    chance = np.random.default_rng(seed)
    shadows = 0.05 + 0.01 * chance.standard_normal((draws, 2))
    return ShareDraws(np.array(shares) + spread * chance.standard_normal((draws, 2)), shadows)


def test_the_value_is_what_is_beyond_the_mean_shadow():
    among_all = drawn((0.45, 0.05), 1)
    first, second = excesses(60, among_all, drawn((0.45, 0.05), 2), is_like=LIKE, added=0.1)

    assert first.share.mean == pytest.approx(100 * (0.45 - among_all.shadows.mean()))
    assert first.is_clear
    assert not second.is_clear
    assert second.share.low < 0 < second.share.high


def test_the_lower_end_is_above_zero_exactly_where_the_value_is_above_the_shadows():
    among_all = drawn((0.45, 0.05), 1)
    edge = np.percentile(among_all.shadows, 97.5)
    for step, is_above in ((1e-6, True), (-1e-6, False)):
        moved = ShareDraws(np.full((24, 2), edge + step), among_all.shadows)
        for spread in (0.0, 0.1):
            results = excesses(60, moved, drawn((0.1, 0.1), 3, spread), is_like=LIKE, added=0.1)
            assert [result.share.low > 0 for result in results] == [is_above, is_above]


def test_an_effect_that_varies_among_halves_has_a_wider_band():
    among_all = drawn((0.45, 0.2), 1)
    calm, _ = excesses(60, among_all, drawn((0.4, 0.2), 2), is_like=LIKE, added=0.1)
    wild, _ = excesses(60, among_all, drawn((0.4, 0.2), 2, spread=0.1), is_like=LIKE, added=0.1)

    assert wild.share.half_width > 2 * calm.share.half_width
    assert wild.share.low < wild.share.mean < wild.share.high


def test_shares_are_held_against_the_shadows_of_their_own_kind_alone():
    among_all = drawn((0.2, 0.2), 1)
    loud = ShareDraws(among_all.real, among_all.shadows + np.array([0.0, 0.15]))
    first, second = excesses(
        60, loud, drawn((0.2, 0.2), 2), is_like=np.eye(2, dtype=bool), added=0.1
    )

    assert first.share.mean == pytest.approx(15, abs=1)
    assert second.share.mean == pytest.approx(0, abs=1)
    assert first.is_clear
    assert not second.is_clear


def test_shadows_without_any_share_leave_a_band_of_the_effect_alone():
    nothing = ShareDraws(np.zeros((24, 2)), np.zeros((24, 2)))
    results = excesses(60, nothing, nothing, is_like=LIKE, added=0.1)

    assert [(result.share.mean, result.share.low, result.share.high) for result in results] == [
        (0, 0, 0)
    ] * 2
    assert not any(result.is_clear for result in results)
