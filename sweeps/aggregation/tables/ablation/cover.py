"""What the intervals of differences speak of: new seeds, splits and images, or these very ones."""

from collections.abc import Iterator, Sequence

from sweeps.aggregation.rendering.table import PLUS_MINUS
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.statistics.intervals import FEWEST_SPLITS
from sweeps.aggregation.statistics.two_way import FEWEST_SEEDS
from sweeps.aggregation.tables.ablation.lead import named, span
from sweeps.records.manifest import Manifest


def covered_notes(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Iterator[str]:
    """Say what the figures of a table speak of, and what not."""
    counts = sorted({len(arm.counted) for arm in arms if len(arm.counted) > 1})
    if counts:
        on = f" on {manifest.num_splits} splits" * bool(manifest.splits)
        yield f"sd: spread over {span(counts)} seeds{on}, no test."
    elif len(manifest.seeds) == 1:
        yield "One seed an arm: it says nothing of others, so there is no spread."
    else:
        yield "No arm has two finished trials, so there is no spread."
    if any(one.way for one in compared):
        yield f"{PLUS_MINUS}: 95 %, for {covered(compared)}; {not_covered(compared)}."
        if words := split_words(manifest):
            yield words
        within = manifest.margin_points
        margin = (
            "undecided is not equal: no margin was declared."
            if within is None
            else f"equivalent: shown to differ by less than {within:g} points, the margin declared."
        )
        yield f"Bold: holds for all comparisons together; {margin}"


def seeds_alone_notes(compared: Sequence[Comparison]) -> Iterator[str]:
    """Say which differences rest on seeds alone, the arms of one reason together."""
    reasons: dict[str, list[Comparison]] = {}
    for one in compared:
        if not one.way and one.difference.mean is not None:
            reasons.setdefault(one.why_seeds_alone, []).append(one)
    for reason, alone in reasons.items():
        has_ends = any(one.difference.half_width is not None for one in alone)
        what = f"{PLUS_MINUS} covers new seeds alone" if has_ends else "there is no interval"
        yield f"{named(alone)}: {what} and nothing is bold, as {reason}."


def covered(compared: Sequence[Comparison]) -> str:
    """Return what intervals are for: `new seeds and new test images, on one split`."""
    images = _images_word(compared)
    numbers = sorted({one.num_splits for one in compared if one.way}) or [1]
    if numbers == [1]:
        return f"new seeds and new test {images}, on one split"
    if numbers[0] >= FEWEST_SPLITS:
        return f"new seeds, new splits of these training images and new test {images}"
    if numbers[-1] < FEWEST_SPLITS:
        which = f"these {numbers[0]} splits" if len(numbers) == 1 else "the splits of each arm"
        return f"new seeds and new test {images}, on {which} alone"
    return (
        f"new seeds and new test {images}, and for new splits of these training images where an "
        f"arm has {FEWEST_SPLITS} of them"
    )


def not_covered(compared: Sequence[Comparison]) -> str:
    """Return what intervals are not for."""
    is_over_splits = any(one.num_splits >= FEWEST_SPLITS for one in compared)
    beyond = "training images beyond these" if is_over_splits else "new training images"
    return f"not for {beyond} or other data"


def split_words(manifest: Manifest) -> str:
    """Return how a sweep over splits counts them, "" where there is one."""
    if not manifest.num_splits:
        return ""
    unit = (
        "Seeds of one split count as one value, and the variance over splits is enlarged for the "
        "training images that they share (Nadeau and Bengio)."
        if manifest.num_splits >= FEWEST_SPLITS
        else f"It takes {FEWEST_SPLITS} splits to speak of others."
    )
    return (
        f"Each seed is on one of {manifest.num_splits} splits into training and validation images; "
        f"there is one test split. {unit}"
    )


def few_splits_notes(manifest: Manifest) -> Iterator[str]:
    """Say before anything is trained what fewer than five splits cannot show."""
    num_splits, num_seeds = manifest.num_splits, len(manifest.seeds)
    if not 0 < num_splits < FEWEST_SPLITS:
        return
    note = (
        f"Differences over {num_splits} splits speak of these alone: it takes {FEWEST_SPLITS} to "
        f"speak of others"
    )
    fewest = num_splits + FEWEST_SEEDS - 1
    too_few = f", and {fewest} seeds on {num_splits} splits for an interval, or for bold"
    yield f"{note}{too_few * (num_seeds < fewest)}."


def _images_word(compared: Sequence[Comparison]) -> str:
    """Return "images", or "objects" where images are views of few objects."""
    is_of_views = any(one.way and one.way.num_clusters < one.num_images for one in compared)
    return "objects" if is_of_views else "images"
