"""The cameras and lamps around an object, which turns while they stay."""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int

from capsmodel.data.viewpoints.rays import Assembly, Rays
from capsmodel.data.viewpoints.vectors import Vector, add, scale

IMAGE_SIZE = 48
_DISTANCE = 6.0
_BETWEEN_EYES = 0.9
_HALF_EXTENT = 1.15  # of the image, at the object's middle

_LAMP_DISTANCE = 12.0
_SHADOW_HALF_EXTENT = 2.2
_SHADOW_SIZE = 64


class Lighting(NamedTuple):
    """A lamp and the light from all around.

    Attributes:
        azimuth: Where the lamp is, in degrees from the cameras, seen from above.
        elevation: Where it is, in degrees above the ground.
        lamp: Its light on what faces it.
        sky: The light from all around.
    """

    azimuth: float
    elevation: float
    lamp: float
    sky: float


LIGHTINGS = (
    Lighting(-50.0, 58.0, 0.7, 0.5),
    Lighting(50.0, 58.0, 0.7, 0.5),
    Lighting(-125.0, 55.0, 0.75, 0.45),
    Lighting(125.0, 55.0, 0.75, 0.45),
    Lighting(10.0, 78.0, 0.5, 0.4),
    Lighting(-85.0, 50.0, 0.4, 0.8),
)


def camera(height: float, azimuth: float, elevation: float, eye: int) -> Rays:
    """Return a camera's rays through the corners of an image.

    Both cameras look at the same point; their image planes are one.

    Args:
        height: Where that point is above the ground.
        azimuth: Degrees from the object's front, seen from above.
        elevation: Degrees above the ground.
        eye: 0 for the left camera, 1 for the right.
    """
    right = _direction(azimuth + 90.0, 0.0)
    up = _direction(azimuth, elevation + 90.0)
    offset = add(
        scale(_direction(azimuth, elevation), _DISTANCE), scale(right, (eye - 0.5) * _BETWEEN_EYES)
    )
    axes = (scale(offset, -1.0), scale(right, _HALF_EXTENT), scale(up, -_HALF_EXTENT))
    return Rays(add(offset, (0.0, 0.0, height)), axes, IMAGE_SIZE)


class Shadow:
    """What a lamp's light does not reach, around one object at one azimuth.

    Attributes:
        towards: Unit vector to the lamp.
    """

    towards: Vector

    def __init__(self, assembly: Assembly, azimuth: float, lighting: Lighting) -> None:
        """Cast the lamp's rays over the ground around the object."""
        self.towards = _direction(azimuth + lighting.azimuth, lighting.elevation)
        origin = scale(self.towards, _LAMP_DISTANCE)
        across, down = (_SHADOW_HALF_EXTENT, 0.0, 0.0), (0.0, _SHADOW_HALF_EXTENT, 0.0)
        self._rays = Rays(origin, (scale(origin, -1.0), across, down), _SHADOW_SIZE)
        distances = assembly.cast(self._rays).distances
        distances[[0, -1]], distances[:, [0, -1]] = np.inf, np.inf  # no shadow from there on
        self._distances = distances.ravel()

    def reached(self, points: Float64[np.ndarray, "3 points"]) -> Float64[np.ndarray, " points"]:
        """Return the share of the lamp's light that reaches each point, from 0 to 1."""
        distances, columns, rows = self._rays.project(points)
        (left, to_right), (top, to_bottom) = _nearest(columns), _nearest(rows)
        corner = top * _SHADOW_SIZE + left
        above, below = (
            (self._distances[first] >= distances) * (1.0 - to_right)
            + (self._distances[first + 1] >= distances) * to_right
            for first in (corner, corner + _SHADOW_SIZE)
        )
        return above + (below - above) * to_bottom


def _nearest(
    positions: Float64[np.ndarray, " points"],
) -> tuple[Int[np.ndarray, " points"], Float64[np.ndarray, " points"]]:
    """Return the ray before each position, and what share of the way it is to the next ray."""
    places = (positions + 1.0) * (_SHADOW_SIZE / 2) - 0.5
    places = np.minimum(np.maximum(places, 0.0), _SHADOW_SIZE - 1.5)
    before = places.astype(np.int64)
    return before, places - before


def _direction(azimuth: float, elevation: float) -> Vector:
    """Return the unit vector to an azimuth and an elevation in degrees."""
    level = _cosine(elevation)
    return (_cosine(azimuth) * level, _sine(azimuth) * level, _sine(elevation))


def _sine(degrees: float) -> float:
    return round(math.sin(math.radians(degrees)), 12)  # libraries differ in the last digits


def _cosine(degrees: float) -> float:
    return round(math.cos(math.radians(degrees)), 12)
