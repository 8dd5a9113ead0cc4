"""A look: a number of seeds, planned beforehand, at which verdicts are taken on some arms."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

LookVerdict = Literal["different", "equivalent", "identical", "undecided"]
"""Of an arm at a look; identical where it errs as the baseline does, on every seed."""


@dataclass(frozen=True)
class Look:
    """Take the verdicts of some arms; what follows is `Looked`.

    Attributes:
        num_seeds: The first so many seeds count.
    """

    num_seeds: int
    arms: tuple[str, ...]


@dataclass(frozen=True)
class Looked:
    """The verdicts of a look. They are all that a plan of looks sees of test errors.

    Attributes:
        num_seeds: The first so many seeds counted.
        verdicts: Arm -> its verdict: "undecided" arms get more seeds.
        is_last: Whether these arms get none: they have the most, or images and not seeds are the
            limit.
        num_compared: Arms of the sweep besides the baseline, by whose number levels are divided.
    """

    num_seeds: int
    verdicts: Mapping[str, LookVerdict]
    is_last: bool
    num_compared: int


def next_looks(
    arms: Collection[str], seeds_at_looks: Sequence[int], looked: Sequence[Looked]
) -> dict[str, int]:
    """Return the number of seeds at which each arm is looked at next, without settled arms.

    An arm that was added after some looks starts at the first.

    Args:
        arms: All but the baseline.
        seeds_at_looks: In order.
        looked: The looks so far.
    """
    last = {arm: look for look in looked for arm in look.verdicts}
    numbers = dict.fromkeys(arms, seeds_at_looks[0])
    for arm, look in last.items():
        if look.is_last or look.verdicts[arm] != "undecided":
            numbers.pop(arm, None)
        elif arm in numbers:
            numbers[arm] = min(number for number in seeds_at_looks if number > look.num_seeds)
    return numbers
