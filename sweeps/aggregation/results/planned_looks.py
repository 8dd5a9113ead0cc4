"""The comparisons of an ablation; under a plan of looks each arm is judged at its own look."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from search_spaces.looks import Look, Looked, LookVerdict
from sweeps.aggregation.results.arms import ArmResults, arm_results
from sweeps.aggregation.results.comparisons import (
    Comparison,
    comparisons,
    comparisons_together,
    tuning_slacks,
)
from sweeps.aggregation.results.measured_arms import tested_arms
from sweeps.aggregation.results.predictions import Predictions
from sweeps.aggregation.statistics.looks import LookLevel, are_images_the_limit
from sweeps.aggregation.statistics.shared_seeds import stacked
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import TrialRecord

NOT_YET = "its first look is still to come"


def ablation_comparisons(
    manifest: Manifest, arms: Sequence[ArmResults], predictions: Mapping[str, Predictions]
) -> list[Comparison]:
    """Return how each arm compares with the baseline, by its margin, seeds and looks."""
    if manifest.plan and manifest.plan.seeds_at_looks:
        return looked_comparisons(manifest, arms, predictions)
    slacks = tuning_slacks(manifest, predictions)
    return comparisons(
        arms,
        predictions,
        margin=_margin(manifest),
        planned_seeds=manifest.planned_seeds,
        slacks=slacks,
    )


def looked_at(
    manifest: Manifest,
    look: Look,
    records: Mapping[str, TrialRecord],
    predictions: Mapping[str, Predictions],
) -> Looked:
    """Return the verdicts of a look.

    Args:
        manifest: With all looks before it.
        look: Which arms, at how many seeds.
        records: By trial key, of all cells up to that seed that have one.
        predictions: By trial key, of those that have any.
    """
    arms = arm_results(manifest, records)
    before = () if manifest.plan is None else manifest.plan.looked
    compared, is_last = _compared(arms, predictions, look, manifest=manifest, before=before)
    judged: dict[str, LookVerdict] = {
        arm.arm.name: comparison.verdict for comparison in compared for arm in comparison.arms
    }
    return Looked(look.num_seeds, {arm: judged.get(arm, "identical") for arm in look.arms}, is_last)


def looked_comparisons(
    manifest: Manifest, arms: Sequence[ArmResults], predictions: Mapping[str, Predictions]
) -> list[Comparison]:
    """Return how each arm compares with the baseline at its last look, in the order of the arms.

    The verdict is the one of the log. The numbers are computed again, from the same seeds.

    Args:
        manifest: With the looks so far.
        arms: With their trials.
        predictions: By trial key.
    """
    looked = () if manifest.plan is None else manifest.plan.looked
    last = {arm: place for place, look in enumerate(looked) for arm in look.verdicts}
    found = list[Comparison]()
    for place, look in enumerate(looked):
        compared, _ = _compared(
            arms,
            predictions,
            Look(look.num_seeds, tuple(look.verdicts)),
            manifest=manifest,
            before=looked[:place],
            is_last=look.is_last,
        )
        for comparison in compared:
            verdict = look.verdicts[comparison.arm.arm.name]
            if last[comparison.arm.arm.name] == place and verdict != "identical":
                is_same = comparison.verdict == verdict
                found.append(replace(comparison, verdict=verdict, is_as_logged=is_same))
    places = {arm.arm.name: place for place, arm in enumerate(arms)}
    waiting = [arm for arm in arms if not arm.is_baseline and arm.arm.name not in last]
    baseline = [arm for arm in arms if arm.is_baseline]
    if waiting and baseline:
        table = [baseline[0], *waiting]
        (open_ones,) = comparisons_together([tested_arms(table, {})], judges_divergence=False)
        found += [replace(comparison, why_seeds_alone=NOT_YET) for comparison in open_ones]
    return sorted(found, key=lambda comparison: places[comparison.arm.arm.name])


def _compared(
    arms: Sequence[ArmResults],
    predictions: Mapping[str, Predictions],
    look: Look,
    *,
    manifest: Manifest,
    before: Sequence[Looked],
    is_last: bool | None = None,
) -> tuple[list[Comparison], bool]:
    """Return the comparisons of a look, and whether its arms get no more seeds.

    Args:
        arms: With their trials.
        predictions: By trial key.
        look: Which arms, at how many seeds.
        manifest: With seeds, margin and plan.
        before: The looks before it.
        is_last: Where that is in the log; None to find it.
    """
    assert manifest.plan is not None
    seeds_at_looks = manifest.plan.seeds_at_looks
    seeds = {*manifest.seeds[: look.num_seeds]}
    table = tested_arms(
        [_on(arm, seeds) for arm in arms if arm.is_baseline or arm.arm.name in look.arms],
        predictions,
    )
    settled = [verdict for earlier in before for verdict in earlier.verdicts.values()]
    level = LookLevel(
        seeds=tuple(number for number in seeds_at_looks if number <= look.num_seeds),
        most=seeds_at_looks[-1],
        is_last=look.num_seeds == seeds_at_looks[-1] if is_last is None else is_last,
        num_different=settled.count("different"),
        num_equivalent=settled.count("equivalent"),
    )

    def judged(at: LookLevel) -> list[Comparison]:
        return comparisons_together([table], margin=_margin(manifest), look=at)[0]

    compared = judged(level)
    if is_last is None and not level.is_last and _are_images_the_limit(compared, level.most):
        level = replace(level, is_last=True)
        compared = judged(level)
    return compared, level.is_last


def _margin(manifest: Manifest) -> float | None:
    return None if manifest.margin_points is None else manifest.margin_points / 100


def _on(arm: ArmResults, seeds: set[int]) -> ArmResults:
    trials = {seed: trial for seed, trial in arm.trials.items() if seed in seeds}
    return replace(arm, trials=trials)


def _are_images_the_limit(compared: Sequence[Comparison], most: int) -> bool:
    ways = [comparison.way for comparison in compared if comparison.way is not None]
    if not ways or len(ways) < len(compared):
        return False
    num_seeds = min(way.num_seeds for way in ways)
    together = stacked(ways, num_seeds, ways[0].num_clusters)
    return bool(np.asarray(are_images_the_limit(together, most)))
