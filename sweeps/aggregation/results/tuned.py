"""How much tuning has left open, of each arm that was tuned before it was compared."""

import math
from collections.abc import Mapping

import numpy as np

from sweeps.aggregation.results.judged import Judged, Predictions
from sweeps.aggregation.statistics.tuning_slack import tuning_slack
from sweeps.records.manifest import Manifest

_FEWEST_SEEDS = 2


def tuning_slacks(
    manifest: Manifest, predictions: Mapping[str, Predictions]
) -> Mapping[str, float]:
    """Return how far each arm may lie above the best of what was tried for it; empty if untuned.

    A fraction of the validation images: infinite where that cannot be told, as there is one tuning
    seed, or no predictions of the validation images. Points of which a trial did not finish are no
    better ones.

    Args:
        manifest: Of the sweep.
        predictions: By trial key.
    """
    plan = manifest.plan
    if plan is None or not plan.tuned:
        return {}
    keys = manifest.cell_keys()
    seeds = plan.choosing_seeds
    slacks: dict[str, float] = {}
    for arm, tried in plan.tuned.items():
        found = {one: [_validated(keys, predictions, one, seed) for seed in seeds] for one in tried}
        whole = {one: [j for j in row if j] for one, row in found.items() if all(row)}
        chosen = next((one for one in tried if one in (plan.chosen or ())), "")
        slacks[arm] = _slack(whole, chosen) if len(seeds) >= _FEWEST_SEEDS else math.inf
    return slacks


def _validated(
    keys: Mapping[tuple[str, int], str], predictions: Mapping[str, Predictions], arm: str, seed: int
) -> Judged | None:
    found = predictions.get(keys.get((arm, seed), ""))
    return found.validation if found else None


def _slack(judged: Mapping[str, list[Judged]], chosen: str) -> float:
    if chosen not in judged:
        return math.inf
    first = judged[chosen][0]
    if not all(one.shows_the_same(first) for row in judged.values() for one in row):
        return math.inf
    if len(judged) == 1:
        return 0.0
    wrong = np.stack([[one.is_wrong for one in row] for row in judged.values()])
    return float(tuning_slack(wrong, np.asarray([*judged].index(chosen)), first.objects))
