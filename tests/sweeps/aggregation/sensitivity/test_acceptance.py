"""Importance finds planted effects in drawn searches: a few draws of each.

`python -m tools.acceptance.sensitivity` counts them at length. Chance is the same in every run.
`test_importance.py` finds what is planted in one search.
"""

from statistics import median

import pytest

from sweeps.aggregation.sensitivity import importance, pair_importance
from sweeps.aggregation.sensitivity.importance import fanova
from sweeps.aggregation.sensitivity.pair_importance import pair_importances
from tools.acceptance.sensitivity import NUM_SETTINGS, Effects

pytestmark = pytest.mark.nightly


@pytest.fixture(autouse=True)
def few_halves(monkeypatch):
    """Draw few halves, on which nothing hangs but how wide bands are."""
    monkeypatch.setattr(importance, "NUM_HALVES", 2)
    monkeypatch.setattr(pair_importance, "NUM_HALVES", 2)


def test_a_dominant_setting_stays_above_half_after_half_of_the_proposals_are_stopped():
    among_all, among_survivors = list[float](), list[float]()
    for seed in range(3):
        trials = Effects("71 %, 9 %", mains=(0.71, 0.09)).drawn(80, seed)
        everything, survivors = trials.samples(seed)
        assert len(everything.values) == 2 * len(survivors.values)
        importances = fanova(*trials.within(everything))
        assert importances[0].is_clear
        among_all.append(importances[0].share.mean)
        among_survivors.append(fanova(*trials.within(survivors))[0].share.mean)
    assert min(among_all) > 50
    assert median(among_survivors) < median(among_all) - 10


@pytest.mark.parametrize(
    "effects", [Effects("alone", pair=0.9), Effects("beside 67 %", mains=(0.67,), pair=0.2)]
)
def test_a_sign_product_pair_is_found_among_200_trials(effects):
    trials = effects.drawn(200, seed=1)
    pairs = pair_importances(trials.columns, trials.objective.tolist())

    best = max(pairs, key=lambda pair: pair.excess.share.mean)
    assert (best.first, best.second) == (NUM_SETTINGS - 2, NUM_SETTINGS - 1)
    assert best.excess.is_clear


def test_hardly_anything_is_bold_where_nothing_acts():
    effects = Effects("noise")
    bold = 0
    for seed in range(6):
        trials = effects.drawn(24, seed)
        bold += any(
            importance.is_clear for importance in fanova(trials.columns, trials.objective.tolist())
        )
    assert bold <= 2  # at 5 % three of six would come twice in a thousand runs
