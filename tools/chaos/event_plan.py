"""A plan of faults, drawn from a seed. Its times are reported epochs, not seconds."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

DESIGN: Mapping[str, int] = {
    "driver killed": 2,
    "driver and all it started killed": 1,
    "driver told to end": 1,
    "worker killed": 3,
    "recorder killed": 1,
    "engine killed": 1,
    "node lost": 2,
    "server away": 2,
    "server errs": 1,
    "server errs now and then": 1,
    "server silent": 1,
    "answers lost": 1,
    "process stopped": 2,
    "clock set back": 1,
}
"""To a design on a cluster that the driver joins: event -> how often."""

SEARCH: Mapping[str, int] = {
    "driver killed": 1,
    "worker killed": 1,
    "recorder killed": 1,
    "engine killed": 1,
    "raylet killed": 1,
    "Ray's head killed": 1,
    "server errs now and then": 1,
    "process stopped": 1,
}
"""To a search whose driver starts Ray itself."""

SHORT: Mapping[str, int] = {
    "driver killed": 1,
    "worker killed": 1,
    "recorder killed": 1,
    "node lost": 1,
    "server away": 1,
}
"""To the design of a short run, which has no search."""

LINK_CUT, DISK_FULL = "link cut", "disk full"

_BEGIN, _END = 0.04, 0.9  # of all epochs
_SECONDS = (4.0, 10.0)


@dataclass(frozen=True)
class Event:
    """One thing that is done.

    Attributes:
        kind: What.
        after_epochs: When: as soon as so many epochs have been told.
        seconds: How long it lasts, where it lasts.
    """

    kind: str
    after_epochs: int
    seconds: float


def plan(seed: int, counts: Mapping[str, int], num_epochs: int) -> Iterator[Event]:
    """Yield the events of a sweep, spread evenly over its epochs in a drawn order.

    Args:
        seed: Of all chance.
        counts: Event -> how often.
        num_epochs: That the sweep is to tell of.
    """
    chance = random.Random(f"{seed} {sorted(counts)}")
    kinds = [kind for kind, count in counts.items() for _ in range(count)]
    chance.shuffle(kinds)
    step = (_END - _BEGIN) / max(1, len(kinds))
    for number, kind in enumerate(kinds):
        share = _BEGIN + step * (number + chance.random())
        yield Event(kind, max(1, round(share * num_epochs)), round(chance.uniform(*_SECONDS), 1))
