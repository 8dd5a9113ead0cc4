"""How the arms of a sweep compare with its baseline, by the margin, seeds and looks it declares."""

from collections.abc import Mapping, Sequence

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison, comparisons, tuning_slacks
from sweeps.aggregation.results.measured_arms import tested_arms
from sweeps.aggregation.results.planned_looks import (
    comparisons_at_looks,
    comparisons_beside_looks,
    margin_of,
)
from sweeps.aggregation.results.predictions import Predictions
from sweeps.records.manifest import Manifest


def ablation_comparisons(
    manifest: Manifest, arms: Sequence[ArmResults], predictions: Mapping[str, Predictions]
) -> list[Comparison]:
    """Return how each arm compares with the baseline by its test error.

    Args:
        manifest: The sweep's margin, seeds and looks.
        arms: With their trials; empty if they are still to be chosen.
        predictions: By trial key, of those trials that have any.
    """
    if manifest.plan and manifest.plan.seeds_at_looks:
        table = tested_arms(arms, predictions)
        if manifest.plan.judged_by:
            return comparisons_beside_looks(manifest, [table])[0]
        return comparisons_at_looks(manifest, table)
    return comparisons(
        arms,
        predictions,
        margin=margin_of(manifest),
        planned_seeds=manifest.planned_seeds,
        slacks=tuning_slacks(manifest, predictions),
    )
