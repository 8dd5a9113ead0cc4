"""The list of all stereo pairs, and how each is drawn."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt8

from capsmodel.data.viewed_objects import Objects, Views
from capsmodel.data.viewpoints.objects import CLASSES
from capsmodel.data.viewpoints.renderer import IMAGE_SHAPE, Turntable
from capsmodel.data.viewpoints.scene import LIGHTINGS

_INSTANCES: dict[Objects, tuple[int, ...]] = {"train": (4, 6, 7, 8, 9), "test": (0, 1, 2, 3, 5)}
_NUM_ELEVATIONS = 9
_AZIMUTHS = range(0, 36, 2)


class Drawn(NamedTuple):
    """Stereo pairs of one object at one azimuth.

    Attributes:
        places: Which of the pairs that were asked for these are.
        pairs: Their grey values.
    """

    places: list[int]
    pairs: UInt8[np.ndarray, "pairs 2 48 48"]


@cache
def views_of(objects: Objects) -> Views:
    """Return every combination of class, instance, elevation, azimuth and lighting, in order."""
    combinations = np.array(
        list(
            product(
                range(len(CLASSES)),
                _INSTANCES[objects],
                range(_NUM_ELEVATIONS),
                _AZIMUTHS,
                range(len(LIGHTINGS)),
            )
        )
    )
    combinations.flags.writeable = False  # one for all who ask
    return Views(combinations[:, 0], combinations[:, 1:])


def draw(views: Views, rows: Sequence[int]) -> Iterator[Drawn]:
    """Yield the stereo pairs of some rows, grouped by object and azimuth.

    A pair looks the same whatever else is drawn. The six lightings of one view cost little more
    than one of them.
    """
    turns: dict[tuple[int, ...], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    wanted = np.column_stack([views.labels, views.codes])[list(rows)]
    for place, (label, instance, elevation, azimuth, _) in enumerate(wanted.tolist()):
        turns[label, instance, azimuth][elevation].append(place)
    for (label, instance, azimuth), elevations in turns.items():
        turntable = Turntable(label, instance, azimuth)
        for elevation, places in elevations.items():
            yield Drawn(places, turntable.pairs(elevation, wanted[places, 4].tolist()))


def joined(drawn: Iterator[Drawn], num_pairs: int) -> UInt8[np.ndarray, "pairs 2 48 48"]:
    """Return stereo pairs in the requested order."""
    pairs = np.empty((num_pairs, *IMAGE_SHAPE), np.uint8)
    for some in drawn:
        pairs[some.places] = some.pairs
    return pairs
