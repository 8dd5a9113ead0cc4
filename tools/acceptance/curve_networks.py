"""Networks that are evaluated at points of a curve: how often each errs on each image.

The same networks as elsewhere, whose sum has to pass another place at each point. What chance adds
is the same at all points, as where an image moves further, or drawn anew, as where noise is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from zlib import crc32

import numpy as np
from jaxtyping import Float, Int

from capsmodel.metrics import trapezoid_weights
from tools.acceptance.logit_networks import LogitGenerator
from tools.acceptance.networks import Generator

_AT_ONCE = 2_500_000
_CALIBRATION = 400_000
_STEPS = 60
_FARTHEST = 60.0
_RISE = 2.0


@dataclass(frozen=True)
class CurveNetworks:
    """How networks err along a curve.

    Attributes:
        generator: Of the networks.
        num_points: 1 is a metric by itself.
        is_fresh: Whether chance is drawn anew at each point.
    """

    generator: Generator | LogitGenerator
    num_points: int
    is_fresh: bool = False

    @property
    def name(self) -> str:
        points = f"{self.num_points} points" if self.num_points > 1 else "1 point"
        return f"{self.generator.name}, {points}{', noise at each' * self.is_fresh}"

    @property
    def weights(self) -> Float[np.ndarray, " points"]:
        return np.array(trapezoid_weights(range(self.num_points)) if self.num_points > 1 else [1.0])

    @property
    def errors(self) -> Float[np.ndarray, " points"]:
        """Errors at the points, of an arm that is as good as the baseline: they rise threefold."""
        rise = np.linspace(0, _RISE, self.num_points)
        return np.minimum(self.generator.error * (1 + rise), 0.6)

    def objects(self, num_images: int) -> Int[np.ndarray, " images"] | None:
        return self.generator.objects(num_images)

    def places(self) -> Float[np.ndarray, " points"]:
        """Return the place of each point for an arm that is as good as the baseline."""
        return np.array([_place(self.generator, float(error)) for error in self.errors])

    def worse_by(self, difference: float) -> Float[np.ndarray, " points"]:
        """Return the places of an arm whose mean under the curve is larger by a difference.

        All its points are moved alike.
        """
        target = float(self.weights @ self.errors) + difference
        sums, places = _sums(self.generator), self.places()

        def mean(by: float) -> float:
            passed = [(sums > -place - by).mean() for place in places]
            return float(self.weights @ np.array(passed))

        return places + _root(mean, target)

    def parts(
        self,
        case: str,
        places: Sequence[Float[np.ndarray, " points"]],
        shape: tuple[int, int, int],
    ) -> Iterator[list[Float[np.ndarray, "draws arms seeds images"]]]:
        """Yield whether each network errs on each image at each point, few draws at once.

        Args:
            case: The same each time for a case.
            places: Of each arm, the baseline first.
            shape: Draws, seeds, images.
        """
        draws, seeds, images = shape
        chance = np.random.default_rng([2026, crc32(f"{self.name}/{case}".encode())])
        at_once = max(1, _AT_ONCE // (len(places) * seeds * images))
        for start in range(0, draws, at_once):
            part = (min(at_once, draws - start), seeds, images)
            by_arm, by_seed = self.generator.effects(chance, len(places), part)
            known = (by_seed + by_arm).astype(np.float32)
            summed = known + self.generator.chances(chance, known.shape)
            points = list[Float[np.ndarray, "draws arms seeds images"]]()
            for point in range(self.num_points):
                if self.is_fresh and point:
                    summed = known + self.generator.chances(chance, known.shape)
                bars = np.array([-of_arm[point] for of_arm in places], dtype=np.float32)
                points.append(summed > bars[:, None, None])
            yield points

    def means(
        self, points: Sequence[Float[np.ndarray, "draws arms seeds images"]]
    ) -> Float[np.ndarray, "draws arms seeds images"]:
        """Return the mean under the curve, of each network on each image."""
        summed = np.zeros(points[0].shape, dtype=np.float32)
        for weight, wrong in zip(self.weights, points, strict=True):
            summed += np.float32(weight) * wrong
        return summed


@cache
def _sums(generator: Generator | LogitGenerator) -> Float[np.ndarray, " sums"]:
    """Return sums of single networks on single images, none of which have anything in common."""
    chance = np.random.default_rng(1)
    num = max(generator.num_objects, 1)
    shape = (_CALIBRATION // num, 1, num)
    by_arm, by_seed = generator.effects(chance, 1, shape)
    known = (by_arm + by_seed).astype(np.float32)
    return (known + generator.chances(chance, known.shape)).ravel()


@cache
def _place(generator: Generator | LogitGenerator, error: float) -> float:
    sums = _sums(generator)
    return _root(lambda place: float((sums > -place).mean()), error)


def _root(rising: Callable[[float], float], target: float) -> float:
    low, high = -_FARTHEST, _FARTHEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < target else (low, middle)
    return (low + high) / 2
