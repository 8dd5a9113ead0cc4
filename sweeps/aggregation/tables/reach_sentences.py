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
        kind: What is compared.
        it_lies: Where the difference of one is, without its ends.
        they_lie: The same of several.
        less: What one does that lies below the baseline.
        more: What one does that lies above it.
        also: The same behind the first.
        than: What it is compared with.
        missed_below: That one below may not be found.
        missed_above: The same of one above.
    """

    kind: str
    it_lies: str
    they_lie: str
    less: str
    more: str
    also: str
    than: str
    missed_below: str
    missed_above: str


ERRORS = Wording(
    kind="arm",
    it_lies="its difference lies",
    they_lie="their differences lie",
    less="errs {} less",
    more="errs {} more",
    also="{} more",
    than=" than the baseline",
    missed_below="an improvement may be missed, however large",
    missed_above="one that errs more may be missed, however much more",
)
FIGURES = ERRORS._replace(
    less="lies {} lower",
    more="lies {} higher",
    also="{} higher",
    missed_below="one that lies lower than the baseline may be missed, however much lower",
    missed_above="one that lies higher may be missed, however much higher",
)
EFFECTS = Wording(
    kind="effect",
    it_lies="it lies",
    they_lie="they lie",
    less="lowers errors by {}",
    more="raises errors by {}",
    also="raises them by {}",
    than="",
    missed_below="one that lowers errors may be missed, however large",
    missed_above="one that raises errors may be missed, however large",
)
_ROUGHLY = "these seeds do not tell how much exactly"


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
    middles = [reach.more.middle for reach in usual]
    depends = f", and it depends on the {words.kind}" * (max(middles) > ALIKE * min(middles))
    roughly = f" ({_ROUGHLY}{depends})" if " to " in f"{sure}{half}" else ""
    often = [
        f"in {times} if it {sizes}"
        for times, sizes in (("8 of 10 cases", sure), ("5 of 10", half))
        if sizes
    ]
    if not often:
        yield f"{start} may miss any {words.kind}, however much it differs."
        return
    often[0] = f"{often[0]}{words.than}{roughly}".replace("5 of 10 if", "5 of 10 cases if")
    missed = [
        text
        for text, size in ((words.missed_below, "less"), (words.missed_above, "more"))
        if _size(usual, size) is None
    ]
    found = f"{start} would show an {words.kind} in bold {', and '.join(often)}"
    yield "; ".join([found, *missed]) + "."
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
    found = f"would show one in bold in 8 of 10 cases if it {sure}" if sure else "may miss any"
    return f"Of {words.kind}s held to their own seeds ({names}) it {found}."


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
