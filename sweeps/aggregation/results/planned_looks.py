"""Comparisons of a plan of looks: each arm is judged at its own look, by the level of that."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from search_spaces.looks import Look, Looked, LookVerdict
from sweeps.aggregation.results.comparisons import Comparison, Family, comparisons_together
from sweeps.aggregation.results.measured_arms import MeasuredArm
from sweeps.aggregation.statistics.looks import LookLevel, are_images_the_limit
from sweeps.aggregation.statistics.shared_seeds import stacked
from sweeps.records.manifest import Manifest

NOT_YET = "its first look is still to come"


def looked_at(
    manifest: Manifest, look: Look, table: Sequence[MeasuredArm], *, judges_divergence: bool = True
) -> Looked:
    """Return the verdicts of a look.

    Args:
        manifest: With all looks before it.
        look: Which arms, at how many seeds.
        table: All arms, with the errors that they are compared by.
        judges_divergence: As in `comparisons_together`.
    """
    before = _looked(manifest)
    num_compared = len(manifest.arms) - 1
    asked = Looked(look.num_seeds, dict.fromkeys(look.arms, "undecided"), False, num_compared)
    level = _level(manifest, asked, before)

    def judged(at: LookLevel) -> list[Comparison]:
        return _judged(manifest, look, table, at, judges_divergence=judges_divergence)

    compared = judged(level)
    if not level.is_last and _are_images_the_limit(compared, level.most):
        level = replace(level, is_last=True)
        compared = judged(level)
    verdicts: dict[str, LookVerdict] = {
        arm.arm.name: comparison.verdict for comparison in compared for arm in comparison.arms
    }
    every: dict[str, LookVerdict] = {arm: verdicts.get(arm, "identical") for arm in look.arms}
    return replace(asked, verdicts=every, is_last=level.is_last)


def comparisons_at_looks(
    manifest: Manifest, table: Sequence[MeasuredArm], *, judges_divergence: bool = True
) -> list[Comparison]:
    """Return how each arm compares with the baseline at its last look, in the order of the arms.

    The verdict is the one of the log. The numbers are computed again, from the same seeds.

    Args:
        manifest: With the looks so far.
        table: All arms, with the errors that the looks judged.
        judges_divergence: As in `comparisons_together`.
    """
    looked, last = _looked(manifest), _last_looks(manifest)
    compared = list[Comparison]()
    for place, look in enumerate(looked):
        arms = Look(look.num_seeds, tuple(look.verdicts))
        level = _level(manifest, look, looked[:place])
        for comparison in _judged(
            manifest, arms, table, level, judges_divergence=judges_divergence
        ):
            name = comparison.arm.arm.name
            if last[name] is look and (verdict := look.verdicts[name]) != "identical":
                is_same = comparison.verdict == verdict
                compared.append(replace(comparison, verdict=verdict, is_as_logged=is_same))
    if waiting := [arm for arm in table if arm.arm.is_baseline or arm.arm.arm.name not in last]:
        without = [replace(arm, by_image={}, missing=NOT_YET) for arm in waiting]
        compared += comparisons_together([without], judges_divergence=False)[0]
    places = {arm.arm.arm.name: place for place, arm in enumerate(table)}
    return sorted(compared, key=lambda comparison: places[comparison.arm.arm.name])


def comparisons_beside_looks(
    manifest: Manifest,
    tables: Sequence[Sequence[MeasuredArm]],
    *,
    judges_divergence: bool = True,
    finds_reach: bool = True,
) -> list[list[Comparison]]:
    """Return comparisons by errors that no look judged, each arm at its last look.

    Whatever stopped an arm, its p value at any look is below the level of that look in no more
    tables than the level of all looks.

    Args:
        manifest: With the looks so far.
        tables: As in `comparisons_together`.
        judges_divergence: The same.
        finds_reach: The same.
    """
    last = _last_looks(manifest)
    levels = {
        arm: replace(_level(manifest, look, ()), num_others=0, num_others_apart=0)
        for arm, look in last.items()
    }

    def at_its_look(arm: MeasuredArm) -> MeasuredArm:
        look = last.get(arm.arm.arm.name)
        return arm if arm.arm.is_baseline else _on(manifest, arm, look.num_seeds if look else 0)

    return comparisons_together(
        [[at_its_look(arm) for arm in table] for table in tables],
        margin=margin_of(manifest),
        judges_divergence=judges_divergence,
        finds_reach=finds_reach,
        family=Family(levels),
    )


def margin_of(manifest: Manifest) -> float | None:
    """Return the margin of equivalence as a fraction, None where none is declared."""
    return None if manifest.margin_points is None else manifest.margin_points / 100


def _looked(manifest: Manifest) -> tuple[Looked, ...]:
    return manifest.plan.looked if manifest.plan else ()


def _last_looks(manifest: Manifest) -> Mapping[str, Looked]:
    return {arm: look for look in _looked(manifest) for arm in look.verdicts}


def _level(manifest: Manifest, look: Looked, before: Sequence[Looked]) -> LookLevel:
    """Return the level of a look after some others; all arms of the sweep share it."""
    assert manifest.plan is not None
    seeds_at_looks = manifest.plan.seeds_at_looks
    settled = [
        verdict
        for earlier in before
        for arm, verdict in earlier.verdicts.items()
        if arm not in look.verdicts
    ]
    num_others = look.num_compared - len(look.verdicts)
    return LookLevel(
        seeds=tuple(number for number in seeds_at_looks if number <= look.num_seeds),
        most=seeds_at_looks[-1],
        is_last=look.is_last or look.num_seeds == seeds_at_looks[-1],
        num_others=num_others - settled.count("different"),
        num_others_apart=num_others - settled.count("equivalent"),
        is_alone=look.num_compared == 1,
        num_data_sets=manifest.plan.num_data_sets,
    )


def _judged(
    manifest: Manifest,
    look: Look,
    table: Sequence[MeasuredArm],
    level: LookLevel,
    *,
    judges_divergence: bool,
) -> list[Comparison]:
    arms = [arm for arm in table if arm.arm.is_baseline or arm.arm.arm.name in look.arms]
    return comparisons_together(
        [[_on(manifest, arm, look.num_seeds) for arm in arms]],
        margin=margin_of(manifest),
        judges_divergence=judges_divergence,
        finds_reach=False,
        family=Family(dict.fromkeys(look.arms, level)),
    )[0]


def _on(manifest: Manifest, arm: MeasuredArm, num_seeds: int) -> MeasuredArm:
    """Return an arm with the first seeds alone."""
    seeds = {*manifest.seeds[:num_seeds]}
    trials = {seed: trial for seed, trial in arm.arm.trials.items() if seed in seeds}
    return replace(
        arm,
        arm=replace(arm.arm, trials=trials),
        errors={seed: error for seed, error in arm.errors.items() if seed in seeds},
        by_image={seed: values for seed, values in arm.by_image.items() if seed in seeds},
    )


def _are_images_the_limit(compared: Sequence[Comparison], most: int) -> bool:
    ways = [comparison.way for comparison in compared if comparison.way is not None]
    if not ways or len(ways) < len(compared):
        return False
    num_seeds = min(way.num_seeds for way in ways)
    together = stacked(ways, num_seeds, ways[0].num_clusters)
    return bool(np.asarray(are_images_the_limit(together, most)))
