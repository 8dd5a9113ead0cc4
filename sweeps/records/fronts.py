"""Fronts: of points with two values that are to be small, those that none is better than in both.

A search chooses from its front while it runs, and tables tell of it afterwards.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby

Point = tuple[float, float]


def dominates(point: Point, other: Point) -> bool:
    """Return whether one point is better than another in a value and no worse in both."""
    return point != other and point[0] <= other[0] and point[1] <= other[1]


def front(points: Sequence[Point]) -> list[int]:
    """Return the places of the points that none dominates, ascending by their first value.

    Equal points are all there or all not, in their order.
    """
    return next(iter(fronts(points)), [])


def fronts(points: Sequence[Point]) -> list[list[int]]:
    """Return the places of all points: the front, then that of the others, and so on.

    Each is ascending by the first value, with equal points in their order.
    """
    layers: list[list[int]] = []
    ranked = sorted(range(len(points)), key=lambda place: points[place])
    for point, equals in groupby(ranked, key=lambda place: points[place]):
        # the last of a layer has its least second value, which ascends from layer to layer
        place = bisect_right(layers, point[1], key=lambda layer: points[layer[-1]][1])
        if place == len(layers):
            layers.append([])
        layers[place].extend(equals)
    return layers


def area(points: Sequence[Point], worst: Point) -> float:
    """Return how much is dominated by any of the points, up to a corner (the hypervolume)."""
    total, height = 0.0, worst[1]
    for first, second in sorted(points):
        if first < worst[0] and second < height:
            total += (worst[0] - first) * (height - second)
            height = second
    return total


def spread(points: Sequence[Point], count: int) -> list[int]:
    """Return the places of some points of the front that stand for all of it.

    The first has the smallest first value. Each that follows is the one that adds the most to the
    area which those before it dominate, up to the worst values of all points; of equals the
    earlier in the front.

    Args:
        points: All of them, not the front alone: the worst are theirs.
        count: How many at most.
    """
    remaining, chosen = front(points), list[int]()
    worst = (max(x for x, _ in points), max(y for _, y in points)) if points else (0.0, 0.0)

    def gain(place: int) -> float:
        return area([points[each] for each in (*chosen, place)], worst)

    while remaining and len(chosen) < count:
        best = max(remaining, key=gain) if chosen else remaining[0]  # of equals max takes the first
        remaining.remove(best)
        chosen.append(best)
    return chosen
