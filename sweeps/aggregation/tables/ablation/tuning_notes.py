"""What a reader has to know of arms that were tuned before they were compared."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from capsmodel.metrics import TEST_ERROR
from capsmodel.spelling import short_names
from sweeps.aggregation.rendering.measured import shown_value
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.records.manifest import Manifest, ManifestArm
from sweeps.records.manifest_plan import ManifestPlan
from sweeps.records.plain_text import one_line, shortened

_LONGEST = 600
_MOST_EDGES = 6


def tuning_notes(manifest: Manifest) -> Iterator[str]:
    """Say how arms were tuned, what each has by that, and where the best lies at an end."""
    plan = manifest.plan
    if plan is None or not plan.tuned:
        return
    yield tuning_cost(manifest)
    arms = {arm.name: arm for arm in manifest.arms}
    chosen = {
        name: arms[one]
        for name, tried in plan.tuned.items()
        for one in tried
        if one in (plan.chosen or ()) and one in arms
    }
    if chosen:
        words = (f"{one_line(name)}: {_values(plan, arm)}" for name, arm in chosen.items())
        yield shortened(f"Chosen on validation: {'; '.join(words)}.", _LONGEST)
    edges = [edge for name, arm in chosen.items() for edge in _edges(plan, name, arm)]
    yield from edges[:_MOST_EDGES]
    if (more := len(edges) - _MOST_EDGES) > 0:
        yield f"{more} more chosen values lie at an end of those that were tried."


def slack_notes(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    """Say how much better arms may be at what they were not given, and what bold makes of it."""
    if not manifest.plan or not manifest.plan.tuned or not compared:
        return
    left = {one.arm.arm.name: one.slack[0] for one in compared}
    left[manifest.baseline] = compared[0].slack[1]
    if unknown := [one_line(name) for name, slack in left.items() if math.isinf(slack)]:
        yield shortened(
            f"How much tuning has left open of {', '.join(unknown)} is not known, as it takes two "
            f"tuning seeds and predictions of the validation images: nothing is bold there.",
            _LONGEST,
        )
    known = {name: slack for name, slack in left.items() if math.isfinite(slack)}
    if known:
        words = (f"{one_line(name)} {_points(slack)}" for name, slack in known.items())
        yield shortened(
            f"What tuning has left open, in points: {', '.join(words)}. Another of the points "
            f"tried may be better by so much; bold holds though the worse arm be better by it.",
            _LONGEST,
        )


def tuning_cost(manifest: Manifest) -> str:
    """Return what tuning takes, the same for every arm, in a sentence; "" where none is tuned."""
    plan = manifest.plan
    if plan is None or not plan.tuned:
        return ""
    points = max(map(len, plan.tuned.values()))
    seeds = len(plan.choosing_seeds)
    trainings = sum(map(len, plan.tuned.values())) * seeds
    names = ", ".join(map(one_line, short_names(tuple(plan.factors)).values()))
    word = "seed" if seeds == 1 else "seeds"
    return (
        f"Every arm was tuned alike: {points} points of {shortened(names, 200)}, on {seeds} {word} "
        f"that only choose; these {trainings:,} trainings chose, and are in no row."
    )


def _values(plan: ManifestPlan, arm: ManifestArm) -> str:
    names = short_names(tuple(plan.factors))
    there = [path for path in plan.factors if path in arm.changes]
    return ", ".join(f"{one_line(names[path])} {_text(arm.changes[path])}" for path in there)


def _edges(plan: ManifestPlan, name: str, arm: ManifestArm) -> Iterator[str]:
    """Yield where an arm has the largest or smallest number that was tried: more may be better."""
    names = short_names(tuple(plan.factors))
    for path, values in plan.factors.items():
        value, numbers = arm.changes.get(path), _numbers(values)
        if len(numbers) < 2 or value not in (numbers[0], numbers[-1]):
            continue
        end = "smallest" if value == numbers[0] else "largest"
        beyond = "smaller" if value == numbers[0] else "larger"
        yield (
            f"The best {one_line(names[path])} of {one_line(name)} is the {end} that was tried "
            f"({_text(value)}): a {beyond} one may be better, so that this arm may be undersold."
        )


def _numbers(values: Sequence[Any]) -> list[float]:
    """Return values in order where all of them are numbers, none where there is any other."""
    is_number = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    return sorted(values) if is_number else []


def _points(slack: float) -> str:
    return f"{shown_value(slack, TEST_ERROR) or 0:.2f}"


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else shortened(one_line(str(value)), 60)
