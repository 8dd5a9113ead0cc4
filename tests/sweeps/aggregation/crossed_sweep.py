"""A factorial sweep whose networks err by a law, so that its effects are known."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sweeps.aggregation.results.predictions import Predictions, SplitPredictions
from sweeps.aggregation.results.sweep_results import Results
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.aggregation.known_sweep import by_key, finished, manifest_of, trial_key

ROUTING, WIDTH, DECODER = "model.routing", "model.class_dim", "model.reconstruction"
TWO_LEVELS: Mapping[str, tuple[Any, ...]] = {
    ROUTING: ("dynamic", "uniform"),
    WIDTH: (16, 8),
    DECODER: ("fully_connected", "none"),
}
IMAGES = 400

Changes = Mapping[str, Any]
Law = Callable[[Changes], float]


def rows_of(factors: Mapping[str, Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """Return the arms of a grid: name -> changes."""
    rows = (dict(zip(factors, row, strict=True)) for row in itertools.product(*factors.values()))
    return {", ".join(f"{path}={level}" for path, level in row.items()): row for row in rows}


def crossed_manifest(
    factors: Mapping[str, Sequence[Any]] = TWO_LEVELS,
    arms: Mapping[str, Changes] | None = None,
    seeds: Sequence[int] = (0, 1, 2, 3),
    **more: Any,
) -> Manifest:
    """Return the manifest of a grid, or of those of its arms that are given."""
    chosen = rows_of(factors) if arms is None else arms
    design = {"kind": "factorial", "factors": factors} | more.pop("design", {})
    manifest = manifest_of(chosen, seeds, "crossed", design=design, **more)
    known = [arm.model_copy(update={"changes": {**chosen[arm.name]}}) for arm in manifest.arms]
    return manifest.model_copy(update={"arms": tuple(known)})


def crossed_results(
    manifest: Manifest, law: Law, *, lost: Sequence[TrialRecord] = (), spread: float = 0.01
) -> Results:
    """Return results of networks whose error is that of a law, but for seeds and images.

    Args:
        manifest: Of a grid.
        law: Error of an arm by its changes.
        lost: Records that stand in the place of finished trials.
        spread: Standard deviation of errors over seeds.
    """
    labels = (np.arange(IMAGES) % 10).astype(np.uint8)
    trials: list[TrialRecord] = []
    predictions: dict[str, Predictions] = {}
    chance = np.random.default_rng(7)
    hard = chance.random(IMAGES)
    for arm in manifest.arms:
        for seed in manifest.seeds:
            error = law(arm.changes) + spread * chance.normal()
            is_wrong = hard + chance.normal(size=IMAGES) / 50 < error
            classes = np.where(is_wrong, (labels + 1) % 10, labels).astype(np.uint8)
            trials.append(finished(arm.name, seed, 0, test_error=float(is_wrong.mean())))
            predictions[trial_key(arm.name, seed)] = Predictions(
                "data", SplitPredictions(classes, labels)
            )
    records = by_key(*trials) | by_key(*lost)
    counted = {key: predicted for key, predicted in predictions.items() if records[key].is_counted}
    return Results(manifest, records, lambda _records, _name: {}, lambda _records: counted)
