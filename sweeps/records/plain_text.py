"""Text from records made fit for one line of any output."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

_LONGEST_IN_SECONDS = 60
_SPACES = {"Zs", "Zl", "Zp"}
_WHITESPACE = str.maketrans("\n\t", "  ")
_UNSHOWABLE = {"Cc", "Cf", "Cs", "Co", "Cn"}
_MOST_LINES = 5  # of code in one sentence


def one_line(text: str) -> str:
    """Return the text on one line, without characters that act instead of showing.

    Line breaks, tabs and odd spaces become single spaces. Control characters, direction marks and
    lone surrogates, with which a text could forge what surrounds it, become a replacement sign.
    """
    if not text.isprintable():  # what Python calls so has no space but the common one
        text = "".join(_shown(character) for character in text)
    return " ".join(text.split())


def showable(text: str) -> str:
    """Return the text with its lines and spaces, without characters that act instead of showing."""
    if text.translate(_WHITESPACE).isprintable():
        return text
    return "".join(
        letter if letter in "\n\t" or unicodedata.category(letter) not in _UNSHOWABLE else "\ufffd"
        for letter in text
    )


def is_utf8(text: str) -> bool:
    """Return whether a word or a path of the system's came from UTF-8: others hold surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def shortened(text: str, largest: int) -> str:
    """Return the text on one line, cut with an ellipsis if it is longer than `largest`."""
    line = one_line(text)
    return line if len(line) <= largest else line[: largest - 3].rstrip() + "..."


def _shown(character: str) -> str:
    category = unicodedata.category(character)
    if category in _SPACES or character in "\t\n\r\v\f\x85":
        return " "
    return "\ufffd" if category in _UNSHOWABLE else character


def points_text(points: float) -> str:
    """Return a number of percentage points: "1 point", "0.5 points"."""
    return f"{points:g} point{'s' * (points != 1)}"


def duration_text(seconds: float) -> str:
    """Return a duration as people read it: 42 s, 7 min, 3 h 7 min, 2 d 5 h."""
    if round(seconds) < _LONGEST_IN_SECONDS:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    days, rest = divmod(round(seconds / 3600), 24)
    if not hours:
        return f"{minutes} min"
    parts = ((days, "d"), (rest, "h")) if days else ((hours, "h"), (minutes, "min"))
    return " ".join(f"{number} {unit}" for number, unit in parts if number)


def counted(count: float, noun: str) -> str:
    """Return a number of things: 1 core, 2 cores, 0.5 GPUs."""
    return f"{count:g} {noun}{'s' * (count != 1)}"


def listed(names: Sequence[str], most: int) -> str:
    """Return the first names and how many more there are: `a, b and 3 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + f" and {more} more" * (more > 0)


def in_ranges(seeds: Iterable[int]) -> str:
    """Return seeds as the command line takes them: `0-4`, or `0,2,5-7`."""
    runs = [
        [seed for _, seed in run]
        for _, run in groupby(enumerate(sorted(seeds)), key=lambda pair: pair[1] - pair[0])
    ]
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def large_batch_text(batch_size: int, num_images: int, *, is_exact: bool = True) -> str:
    """Return what a batch that is larger than the training split means, without a full stop."""
    images = f"the {num_images:,}" if is_exact else f"about {num_images:,}"
    return (
        f"The batch size {batch_size:,} is more than {images} training images, so that an epoch is "
        f"one step"
    )


def not_covered_text(lines: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence on code whose edits no trial key shows, in a tuple; none without any.

    Args:
        lines: Each with what it does, as `Manifest.not_covered` holds them.
    """
    if not lines:
        return ()
    more = len(lines) - _MOST_LINES
    named = "; ".join(lines[:_MOST_LINES]) + f"; and {more} more" * (more > 0)
    return (f"No trial key covers what these lines read or run: {named}.",)


def image_counts_text(num_images: Mapping[str, int]) -> str:
    """Return such as "1,257 training, 180 validation and 360 test images".

    Args:
        num_images: Split -> number of its images.
    """
    *first, last = [f"{number:,} {name}" for name, number in num_images.items()]
    return f"{', '.join(first)} and {last} images"
