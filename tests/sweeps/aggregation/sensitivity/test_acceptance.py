"""Importance finds planted effects in drawn searches: a few draws of each.

`python -m tools.acceptance.sensitivity` counts them at length. Chance is the same in every run.
`test_importance.py` finds what is planted in one search.
"""

from statistics import median

import pytest

from sweeps.aggregation.sensitivity.importance import importances
from sweeps.aggregation.sensitivity.pair_importance import pair_importances
from tools.acceptance.sensitivity import NUM_SETTINGS, Effects

pytestmark = pytest.mark.nightly


def dominant(trials, sample):
    columns, objective = trials.within(sample)
    return importances(columns, objective)[0]


def test_a_dominant_setting_stays_above_half_after_half_of_the_proposals_are_stopped():
    among_all, among_survivors = list[float](), list[float]()
    for seed in range(3):
        trials = Effects("71 %, 9 %", mains=(0.71, 0.09)).drawn(80, seed)
        everything, survivors = trials.samples(seed)
        assert len(everything.values) == 2 * len(survivors.values)
        judged, less = (dominant(trials, sample) for sample in (everything, survivors))
        assert judged.matters
        among_all.append(100 * judged.share)
        among_survivors.append(100 * less.share)
    assert min(among_all) > 50
    assert median(among_survivors) < median(among_all) - 10


@pytest.mark.parametrize(
    "effects", [Effects("alone", pair=0.9), Effects("beside 67 %", mains=(0.67,), pair=0.2)]
)
def test_a_sign_product_pair_is_found_among_200_trials(effects):
    trials = effects.drawn(200, seed=1)
    pairs = pair_importances(trials.columns, trials.objective.tolist())

    best = max(pairs, key=lambda pair: pair.importance.share)
    assert (best.first, best.second) == (NUM_SETTINGS - 2, NUM_SETTINGS - 1)
    assert best.importance.matters
