"""What a next table like this one would find, in words: of what differs upwards and downwards."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from capsmodel.metrics import percent
from sweeps.aggregation.rendering.measured import detectable_text
from sweeps.aggregation.statistics.reach import Reach, Sizes

ALIKE = 1.5
"""Figures of which the largest is at most so many times the smallest are one."""


_FEWEST_SEEDS_FOR_HALF = 5
_MOST_OF_ERROR = 0.8  # the law is not known of an arm that hardly errs at all


class Wording(NamedTuple):
    """How a kind of table speaks of differences; a number of points stands for {}.

    Attributes:
        one: What is compared.
        it_lies: Where the difference of one is, without its ends.
        they_lie: The same of several.
        less: What those do that lie below the baseline.
        more: What those do that lie above it.
        also: The same behind the first.
        none_less: None of those that lie below.
        none_more: None of those that lie above.
    """

    one: str
    it_lies: str
    they_lie: str
    less: str
    more: str
    also: str
    none_less: str
    none_more: str


ERRORS = Wording(
    one="arm",
    it_lies="its difference lies",
    they_lie="their differences lie",
    less="err {} less",
    more="err {} more",
    also="{} more",
    none_less="no arm that errs less",
    none_more="no arm that errs more",
)
FIGURES = ERRORS._replace(
    less="lie {} lower",
    more="lie {} higher",
    also="{} higher",
    none_less="no arm that lies lower",
    none_more="no arm that lies higher",
)
EFFECTS = Wording(
    one="effect",
    it_lies="it lies",
    they_lie="they lie",
    less="lower errors by {}",
    more="raise errors by {}",
    also="raise them by {}",
    none_less="no effect that lowers errors",
    none_more="no effect that raises errors",
)


def next_table_sentences(
    reaches: Sequence[Reach], data: str, words: Wording, apart: Sequence[tuple[Reach, str]] = ()
) -> Iterator[str]:
    """Yield what a next table would find in 8 of 10 cases, and what in half of them.

    Args:
        reaches: Of all that is compared but what has figures of its own.
        data: The images and seeds of the table.
        words: How it speaks of differences.
        apart: The reach and name of each arm that is held to its own seeds.
    """
    start = f"A next table like this one ({data})"
    usual = [*reaches, *(reach for reach, _ in apart if not _is_far(reach, reaches))]
    sure = _sizes(usual, "more", "less", words)
    has_seeds = min(reach.num_seeds for reach in usual) >= _FEWEST_SEEDS_FOR_HALF
    half = _sizes(usual, "half_more", "half_less", words) if has_seeds else ""
    if sure:
        of_half = f", and half of those that {half.replace(' points', '')}" if half else ""
        found = f"would find 8 of 10 {words.one}s that {sure}{of_half}"
    elif half:
        found = f"would find half of the {words.one}s that {half}"
    else:
        found = f"is sure to find no {words.one}, however much it differs"
    middles = [reach.more.middle for reach in usual]
    depends = f", depending on the {words.one}" * (max(middles) > ALIKE * min(middles))
    unsure = [
        none
        for none, size in ((words.none_less, "less"), (words.none_more, "more"))
        if (sure or half) and _size(usual, size) is None
    ]
    never = f"; {' and '.join(unsure)} is sure to be found" if unsure else ""
    yield f"{start} {found}{depends}{never}."
    if far := [(reach, name) for reach, name in apart if _is_far(reach, reaches)]:
        yield _of_apart(far, words)


def is_found(reach: Reach, difference: float) -> bool:
    """Return whether a true difference, a fraction with its sign, is found four times of five."""
    return abs(difference) >= (reach.more if difference > 0 else reach.less).middle


def _is_far(reach: Reach, reaches: Sequence[Reach]) -> bool:
    """Return whether an arm's figure is far from those of all others."""
    return bool(reaches) and reach.more.middle > ALIKE * max(usual.more.middle for usual in reaches)


def _of_apart(apart: Sequence[tuple[Reach, str]], words: Wording) -> str:
    names = ", ".join(name for _, name in apart)
    sure = _sizes([reach for reach, _ in apart], "more", "less", words)
    of_those = f"Of {words.one}s held to their own seeds ({names})"
    return f"{of_those} it {f'would find 8 of 10 that {sure}' if sure else 'is sure to find none'}."


def _sizes(reaches: Sequence[Reach], more: str, less: str, words: Wording) -> str:
    """Return what is found downwards and upwards, "" where nothing is sure to be."""
    below, above = _size(reaches, less), _size(reaches, more)
    if below and above:
        return f"{words.less.format(f'{below} points')} or {words.also.format(above)}"
    if below:
        return words.less.format(f"{below} points")
    return words.more.format(f"{above} points") if above else ""


def _size(reaches: Sequence[Reach], name: str) -> str | None:
    """Return the range of one size over comparisons; None where none can differ by so much.

    Args:
        reaches: Of the comparisons.
        name: The attribute.
    """
    sizes: list[Sizes] = [getattr(reach, name) for reach in reaches]
    rooms = [
        1 - reach.error if name.endswith("more") else _MOST_OF_ERROR * reach.error
        for reach in reaches
    ]
    are_possible = [size.middle <= room for size, room in zip(sizes, rooms, strict=True)]
    if not any(are_possible):
        return None
    low, high = min(size.low for size in sizes), max(size.high for size in sizes)
    smallest, largest = (detectable_text(percent(size)) for size in (low, high))
    if high > max(rooms) and not math.isclose(low, high):
        return f"at least {smallest}"
    return smallest if smallest == largest else f"{smallest} to {largest}"
