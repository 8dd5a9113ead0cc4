"""What intervals cover and what not, in words."""

from collections.abc import Iterable, Sequence

from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.statistics.intervals import FEWEST_SPLITS
from sweeps.records.manifest import Manifest

_HANDWRITTEN = ("digits", "mnist")  # kinds of data that do not say who wrote an image


def span(numbers: Sequence[int]) -> str:
    """Return the least and the most of numbers: `3`, or `3 to 5`."""
    low, high = f"{min(numbers):,}", f"{max(numbers):,}"
    return low if low == high else f"{low} to {high}"


def covered(compared: Sequence[Comparison], split: str = "test") -> str:
    """Return what intervals cover: `new seeds and new test images, on one split`."""
    tested = [comparison for comparison in compared if comparison.way]
    is_of_views = any(
        comparison.way and comparison.way.num_clusters < comparison.num_images
        for comparison in tested
    )
    numbers = sorted({comparison.num_splits for comparison in tested}) or [1]
    arms = [arm for comparison in tested for arm in comparison.arms]
    return covered_text(numbers, f"{split} {'objects' if is_of_views else images_text(arms)}")


def images_text(arms: Iterable[ArmResults]) -> str:
    """Return what images that count one by one are called, with what is assumed of them."""
    is_by_hand = any(arm.tested_on.get("kind") in _HANDWRITTEN for arm in arms)
    return f"images{', taken as independent (who wrote them is not known)' * is_by_hand}"


def covered_text(num_splits: Sequence[int], images: str) -> str:
    """Return what intervals cover that rest on so many splits, the fewest first.

    Args:
        num_splits: Numbers of splits of the training images among the seeds.
        images: "test images", or others.
    """
    if [*num_splits] == [1]:
        return f"new seeds and new {images}, on one split"
    if num_splits[0] >= FEWEST_SPLITS:
        return f"new seeds, new splits of these training images and new {images}"
    if num_splits[-1] < FEWEST_SPLITS:
        is_one = len(num_splits) == 1
        splits = f"these {num_splits[0]} splits" if is_one else "the splits of each arm"
        return f"new seeds and new {images}, on {splits} alone"
    return (
        f"new seeds and new {images}, and for new splits of these training images where an arm "
        f"has {FEWEST_SPLITS} of them"
    )


def not_covered(compared: Sequence[Comparison]) -> str:
    """Return what intervals do not cover."""
    return not_covered_text([comparison.num_splits for comparison in compared])


def not_covered_text(num_splits: Sequence[int]) -> str:
    """Return what intervals do not cover that rest on so many splits."""
    is_over_splits = any(number >= FEWEST_SPLITS for number in num_splits)
    beyond = "training images beyond these" if is_over_splits else "new training images"
    return f"not for {beyond} or other data"


def split_sentence(manifest: Manifest) -> str:
    """Return how a sweep counts its splits, "" where there is one."""
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
