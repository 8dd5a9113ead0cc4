"""Stereo pairs of an object on a turntable."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64, UInt8

from capsmodel.data.viewpoints.objects import assembly_of
from capsmodel.data.viewpoints.rays import NOTHING, Assembly, Points, Rays, Values
from capsmodel.data.viewpoints.scene import IMAGE_SIZE, LIGHTINGS, Lighting, Shadow, camera

VERSION = 1
"""Raise it with every change of a pixel."""

IMAGE_SHAPE = (2, IMAGE_SIZE, IMAGE_SIZE)

_SAMPLES = 2  # rays across each pixel, and as many down
_PAINT = 0.62
_GROUND = 0.55
_GROUND_SHADOW = 0.6  # share of the lamp's light that a shadow takes from the ground
_FOLD_HEIGHT = 0.4  # below it the ground takes some of the light from all around
_SHADOW_OFFSET = 0.07  # from a surface, which would shade itself otherwise


class Turntable:
    """One object at one azimuth. What its images share is worked out once."""

    def __init__(self, label: int, instance: int, azimuth: int) -> None:
        """Put an object on the turntable; all three as the data set's codes."""
        self._assembly = assembly_of(label, instance)
        self._azimuth = 10.0 * azimuth
        self._shadows: dict[int, Shadow] = {}

    def pairs(
        self, elevation: int, lightings: Sequence[int]
    ) -> UInt8[np.ndarray, "lightings 2 height width"]:
        """Return the left and the right image from one elevation under each of some lightings."""
        pairs = np.empty((len(lightings), *IMAGE_SHAPE), np.uint8)
        for eye in (0, 1):
            height = 0.5 * self._assembly.height
            view = _View(self._assembly, camera(height, self._azimuth, 30.0 + 5.0 * elevation, eye))
            for place, lighting in enumerate(lightings):
                pairs[place, eye] = view.image_under(LIGHTINGS[lighting], self._shadow(lighting))
        return pairs

    def _shadow(self, lighting: int) -> Shadow:
        if lighting not in self._shadows:
            self._shadows[lighting] = Shadow(self._assembly, self._azimuth, LIGHTINGS[lighting])
        return self._shadows[lighting]


class _View:
    """What one camera sees, whatever the light."""

    def __init__(self, assembly: Assembly, pixels: Rays) -> None:
        rays = pixels.with_size(_SAMPLES * pixels.size)
        hits = assembly.cast(rays)
        self._places = np.flatnonzero(hits.surfaces != NOTHING)
        distances, surfaces = (hit.ravel()[self._places] for hit in hits)
        points = rays.points(self._places, distances)
        self._normals = _unit(assembly.outward(points, surfaces))
        self._before = points + _SHADOW_OFFSET * self._normals
        self._sky = (0.7 + 0.3 * self._normals[2]) * (
            0.65 + 0.35 * np.minimum(points[2] / _FOLD_HEIGHT, 1.0)
        )
        uncovered = 1.0 - self._shares(1.0)
        self._ground_pixels = np.flatnonzero(uncovered)
        self._uncovered = uncovered[self._ground_pixels]
        self._ground = pixels.points_on_ground(self._ground_pixels)

    def image_under(self, lighting: Lighting, shadow: Shadow) -> UInt8[np.ndarray, "height width"]:
        """Return the image under a lighting."""
        x, y, z = shadow.towards
        facing = np.maximum(self._normals[0] * x + self._normals[1] * y + self._normals[2] * z, 0.0)
        lamp = lighting.lamp * (facing * shadow.reached(self._before))
        image = self._shares(_PAINT * (lighting.sky * self._sky + lamp))
        lit = 1.0 - _GROUND_SHADOW * (1.0 - shadow.reached(self._ground))
        ground = _GROUND * (lighting.sky + lighting.lamp * z * lit)
        image[self._ground_pixels] += self._uncovered * ground
        grey = np.rint(255.0 * np.minimum(image, 1.0)).astype(np.uint8)
        return grey.reshape(IMAGE_SIZE, IMAGE_SIZE)

    def _shares(self, values: Values | float) -> Float64[np.ndarray, " pixels"]:
        """Return the mean over each pixel of values on the object, 0 beside it."""
        samples = np.zeros((IMAGE_SIZE, _SAMPLES, IMAGE_SIZE, _SAMPLES))
        samples.reshape(-1)[self._places] = values
        total = np.zeros((IMAGE_SIZE, IMAGE_SIZE))
        for row in range(_SAMPLES):
            for column in range(_SAMPLES):
                total += samples[:, row, :, column]
        return (total / _SAMPLES**2).reshape(-1)


def _unit(vectors: Points) -> Points:
    x, y, z = vectors
    return vectors / np.sqrt(x * x + y * y + z * z)
