"""The fifty objects: five classes of ten."""

import math
from functools import cache

from capsmodel.data.viewpoints.aeroplanes import aeroplane
from capsmodel.data.viewpoints.cars import car
from capsmodel.data.viewpoints.figures import figure
from capsmodel.data.viewpoints.quadrupeds import quadruped
from capsmodel.data.viewpoints.rays import Assembly
from capsmodel.data.viewpoints.solids import Solid
from capsmodel.data.viewpoints.trucks import truck
from capsmodel.data.viewpoints.vectors import Vector, add, dot, scale

CLASSES = (quadruped, figure, aeroplane, truck, car)


@cache
def assembly_of(label: int, instance: int) -> Assembly:
    """Return an object that rays can be cast at; it is built once per process."""
    return Assembly(solids_of(label, instance))


def solids_of(label: int, instance: int) -> tuple[Solid, ...]:
    """Return an object that stands on the ground, above the origin.

    All objects just fit into a ball of radius 1, so that size tells no class.
    """
    solids = CLASSES[label](instance)
    corners = [corner for solid in solids for corner in solid.corners()]
    lowest, highest = _bounds(corners)
    middle = scale(add(lowest, highest), 0.5)
    offsets = [add(corner, scale(middle, -1.0)) for corner in corners]
    radius = math.sqrt(max(dot(offset, offset) for offset in offsets))
    on_ground = (-middle[0], -middle[1], -lowest[2])
    return tuple(solid.placed(on_ground, 1.0 / radius) for solid in solids)


def _bounds(points: list[Vector]) -> tuple[Vector, Vector]:
    xs, ys, zs = zip(*points, strict=True)
    return (min(xs), min(ys), min(zs)), (max(xs), max(ys), max(zs))
