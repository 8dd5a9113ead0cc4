"""What an ablation table says in words: the answer above it, how to read it below."""

from collections.abc import Iterator, Sequence

from capsmodel.metrics import TEST_ERROR
from sweeps.aggregation.rendering.measured import detectable_text, shown_value
from sweeps.aggregation.rendering.table import MINUS, PLUS_MINUS
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.tables.ablation.diverged import diverged_notes
from sweeps.aggregation.tables.ablation.same_rows import same_row_notes
from sweeps.aggregation.tables.health import health_notes
from sweeps.aggregation.tables.targets import target_notes
from sweeps.aggregation.tables.uncounted_cells import gap_notes, reason_notes
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, shortened

_MOST_NAMED = 5
_NO_SPREAD = "the differences of all seeds are equal"


def ablation_lead(compared: Sequence[Comparison], arms: Sequence[ArmResults]) -> str:
    """Return the answer in a sentence or two, with how small a difference could be seen."""
    if len(arms) == 1:
        return "There is one arm: nothing to compare it with."
    if not any(arm.counted for arm in arms):
        return "No trial has finished: there is nothing to compare."
    different = [one for one in compared if one.verdict == "different"]
    equivalent = [one for one in compared if one.verdict == "equivalent"]
    undecided = [one for one in compared if one.verdict == "undecided"]
    answers = list[str]()
    if different:
        answers.append(f"Different from the baseline: {_named(different, with_means=True)}.")
    if equivalent:
        answers.append(f"Equivalent to it: {_named(equivalent)}.")
    if undecided:
        rest = f"Undecided ({_count(undecided)})" if answers else "Undecided"
        answers.append(f"{rest}: {_reach(undecided)}.")
    return " ".join(answers)


def ablation_notes(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Iterator[str]:
    """Say what the figures cover and what not, the most needed first."""
    yield from _covered(manifest, arms, compared)
    yield from _seeds_alone(compared)
    yield from _without_spread(compared)
    yield from _added(manifest, compared)
    yield from diverged_notes(arms)
    yield from gap_notes(arms)
    yield from target_notes(arms)
    yield (
        "Test errors are those of the last epoch. Selection never saw the test split: whatever "
        "chooses is given validation figures only."
    )
    for one in compared:
        if len(one.arms) > 1:
            names = " and ".join(one_line(arm.arm.name) for arm in one.arms)
            yield f"{names}: losses and errors of the last epoch are exactly equal on every seed."
    yield from same_row_notes(manifest)
    yield from health_notes(arms)
    yield from reason_notes(arms)


def _covered(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Iterator[str]:
    seeds = len(manifest.seeds)
    if any(len(arm.counted) > 1 for arm in arms):
        yield f"sd: spread over {seeds} seeds, no test."
    else:
        yield "One seed an arm: it says nothing of others, so there is no spread."
    if any(one.way for one in compared):
        objects = any(one.way and one.way.num_clusters < one.num_images for one in compared)
        images = "objects" if objects else "images"
        yield (
            f"{PLUS_MINUS}: 95 %, for new seeds and new test {images}; not for new training images "
            f"or other data."
        )
        within = manifest.margin_points
        margin = (
            "no margin was declared."
            if within is None
            else f"equivalent is within {PLUS_MINUS}{within:g} points, as declared."
        )
        yield f"Bold: holds for all comparisons together; undecided is not equal: {margin}"


def _seeds_alone(compared: Sequence[Comparison]) -> Iterator[str]:
    """Say which differences rest on seeds alone, the arms of one reason together."""
    reasons: dict[str, list[Comparison]] = {}
    for one in compared:
        if not one.way and one.difference.mean is not None:
            reasons.setdefault(one.why_seeds_alone, []).append(one)
    for reason, alone in reasons.items():
        has_ends = any(one.difference.half_width is not None for one in alone)
        what = f"{PLUS_MINUS} covers new seeds alone" if has_ends else "there is no interval"
        yield f"{_named(alone)}: {what} and nothing is bold, as {reason}."


def _without_spread(compared: Sequence[Comparison]) -> Iterator[str]:
    if alike := [one for one in compared if one.way and not one.has_spread]:
        yield f"{_named(alike)}: {_NO_SPREAD}, which is no proof of anything: there is no verdict."


def _added(manifest: Manifest, compared: Sequence[Comparison]) -> Iterator[str]:
    if any(one.log_e is not None for one in compared):
        planned = ", ".join(str(seed) for seed in manifest.planned_seeds)
        yield (
            f"Seeds other than {planned} were added after looking: bold here needs half the level, "
            f"and evidence that repeated looks do not inflate (an e-process over seeds)."
        )


def _reach(compared: Sequence[Comparison]) -> str:
    """Return how small a difference these could show."""
    points = (shown_value(one.detectable, TEST_ERROR) for one in compared)
    found = [value for value in points if value is not None]
    if not found:
        reasons = dict.fromkeys(one.why_seeds_alone or _NO_SPREAD for one in compared)
        why = f", as {'; '.join(reasons)}" if reasons else ""
        return f"no difference can be tested{why}"
    low, high = detectable_text(min(found)), detectable_text(max(found))
    if low.startswith("over"):
        return f"{_data(compared)} show only differences of {low} points"
    reach = low if low == high else f"{low} to {high}"
    return f"{_data(compared)} show differences from about {reach} points on"


def _data(compared: Sequence[Comparison]) -> str:
    tested = [one for one in compared if one.way]
    images = sorted({one.num_images for one in tested})
    seeds = sorted({one.difference.n for one in tested})
    objects = [one.way.num_clusters for one in tested if one.way]
    of_objects = f" of {objects[0]} objects" if objects[0] < images[0] else ""
    word = "seeds" if seeds[-1] > 1 else "seed"
    return f"{_span(images)} images{of_objects} and {_span(seeds)} {word}"


def _span(numbers: Sequence[int]) -> str:
    low, high = f"{numbers[0]:,}", f"{numbers[-1]:,}"
    return low if low == high else f"{low} to {high}"


def _count(compared: Sequence[Comparison]) -> str:
    return "1 arm" if len(compared) == 1 else f"{len(compared)} arms"


def _named(compared: Sequence[Comparison], *, with_means: bool = False) -> str:
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
