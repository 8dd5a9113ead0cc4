"""The answer of an ablation table, in a sentence or two: what stands above it."""

from collections.abc import Iterator, Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import detectable_text, shown_value
from sweeps.aggregation.rendering.table import MINUS, PLUS_MINUS
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison, evidence_needed
from sweeps.aggregation.results.identical import grouped
from sweeps.aggregation.statistics.added_seeds import fewest_seeds
from sweeps.aggregation.tables.uncounted_cells import gap_text
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened

NO_SPREAD = "the differences of all seeds are equal"
_MOST_NAMED = 5


def ablation_lead(
    manifest: Manifest, compared: Sequence[Comparison], arms: Sequence[ArmResults]
) -> str:
    """Return what was found, and how small a difference could have been."""
    if len(arms) == 1:
        return "There is one arm: nothing to compare it with."
    if not any(arm.counted for arm in arms):
        return "No trial has finished: there is nothing to compare."
    baseline = next(arm for arm in arms if arm.is_baseline)
    if not baseline.counted:
        return f"The baseline has no finished trial ({gap_text(baseline)}): nothing is compared."
    return " ".join([*_verdicts(manifest, compared), *_without_verdict(compared, arms)])


def _verdicts(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    paired = [one for one in compared if one.difference.n]
    different = [one for one in paired if one.verdict == "different"]
    equivalent = [one for one in paired if one.verdict == "equivalent"]
    undecided = [one for one in paired if one.verdict == "undecided"]
    if different:
        yield f"Different from the baseline: {named(different, with_means=True)}."
    if equivalent:
        within = f"{PLUS_MINUS}{manifest.margin_points:g} points"
        yield f"Equivalent to the baseline within {within}: {named(equivalent)}."
    if undecided:
        count = f" ({_count(undecided)})" if different or equivalent else ""
        yield f"Undecided{count}: {_reach(undecided)}."
    elif any(one.detectable for one in paired):
        reach = _reach(paired)
        yield f"{reach[0].upper()}{reach[1:]}."


def _without_verdict(compared: Sequence[Comparison], arms: Sequence[ArmResults]) -> Iterator[str]:
    """Name the arms that are the baseline in all but their name, and those without a result."""
    same = next(group for group in grouped(arms) if any(arm.is_baseline for arm in group))
    if others := [one_line(arm.arm.name) for arm in same if not arm.is_baseline]:
        yield f"Identical to the baseline: {', '.join(others)}."
    alone = [arm for one in compared if not one.difference.n for arm in one.arms]
    if failed := [arm for arm in alone if not arm.counted]:
        words = (f"{one_line(arm.arm.name)} ({gap_text(arm)})" for arm in failed)
        yield f"No result: {', '.join(words)}."
    if apart := [one_line(arm.arm.name) for arm in alone if arm.counted]:
        yield f"No seed common with the baseline: {', '.join(apart)}."


def _reach(compared: Sequence[Comparison]) -> str:
    """Return how small a difference these could show."""
    points = (shown_value(one.detectable, TEST_ERROR) for one in compared)
    found = [value for value in points if value is not None]
    if not found:
        reasons = dict.fromkeys(_why_none(one) for one in compared)
        why = f", as {'; '.join(reasons)}" if reasons else ""
        return f"no difference can be tested{why}"
    low, high = detectable_text(min(found)), detectable_text(max(found))
    if low.startswith("over"):
        return f"{_data(compared)} show only differences of {low} points"
    reach = low if low == high else f"{low} to {high}"
    return f"{_data(compared)} show differences from about {reach} points on"


def _why_none(one: Comparison) -> str:
    """Return why nothing could be shown of an arm."""
    if one.log_e is None or not one.has_spread:
        return one.why_seeds_alone or NO_SPREAD
    fewest = fewest_seeds(evidence_needed(one.num_together))
    return f"after seeds were added it takes {fewest} of them at least"


def _data(compared: Sequence[Comparison]) -> str:
    tested = [one for one in compared if one.way]
    images = sorted({one.num_images for one in tested})
    seeds = sorted({one.difference.n for one in tested})
    objects = [one.way.num_clusters for one in tested if one.way]
    of_objects = f" of {objects[0]} objects" if objects[0] < images[0] else ""
    word = "seeds" if seeds[-1] > 1 else "seed"
    splits = sorted({one.num_splits for one in tested})
    on = f" on {span(splits)} splits" if splits[-1] > 1 else ""
    return f"{span(images)} images{of_objects} and {span(seeds)} {word}{on}"


def span(numbers: Sequence[int]) -> str:
    """Return the least and the most of sorted numbers: `3`, or `3 to 5`."""
    low, high = f"{numbers[0]:,}", f"{numbers[-1]:,}"
    return low if low == high else f"{low} to {high}"


def _count(compared: Sequence[Comparison]) -> str:
    num_arms = sum(len(one.arms) for one in compared)
    return "1 arm" if num_arms == 1 else f"{num_arms} arms"


def named(compared: Sequence[Comparison], *, with_means: bool = False) -> str:
    """Return the names of arms, those of identical results joined, the first few of many."""
    names = list[str]()
    for one in compared[:_MOST_NAMED]:
        name = " = ".join(one_line(arm.arm.name) for arm in one.arms)
        mean = shown_value(one.difference.mean, TEST_ERROR)
        if with_means and mean is not None:
            name += f" ({mean:+.2f} points)".replace("-", MINUS)
        names.append(shortened(name, 120))
    more = len(compared) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")
