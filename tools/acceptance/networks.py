"""Networks that err on images by a known law, so that the population's difference is known.

A network errs where a sum passes 0: its arm's place, how hard the image (and its object) is, how
hard it is for this arm, how well this training went, and chance. All parts are normal, or normal
with a few that are wider, so that the error over all seeds and images has a closed form.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np
from jaxtyping import Bool, Float, Int

_AT_ONCE = 2_500_000  # errors in one part: 20 MB as floats


@dataclass(frozen=True)
class Wide:
    """A few parts of a kind are wider than the rest.

    Attributes:
        share: Of those.
        factor: How much wider.
    """

    share: float = 0.0
    factor: float = 1.0


@dataclass(frozen=True)
class Generator:
    """How networks err. Standard deviations are in units of what chance alone adds.

    Attributes:
        name: In words.
        error: Of an arm that is as good as the baseline, a fraction.
        image: How much harder some images are than others, for all arms.
        arm_image: The same for each arm on its own.
        seed: How much better some trainings go than others.
        wide_images: Images on which arms differ far more.
        wide_seeds: Trainings that go far better or worse.
        num_objects: That the images are views of; 0 where each image is its own.
        object_: How much harder some objects are than others.
        arm_object: The same for each arm on its own.
    """

    name: str
    error: float
    image: float
    arm_image: float
    seed: float
    wide_images: Wide = Wide()
    wide_seeds: Wide = Wide()
    num_objects: int = 0
    object_: float = 0.0
    arm_object: float = 0.0

    def population_error(self, place: float) -> float:
        """Return the error over all seeds and images of an arm at a place."""
        from scipy.special import ndtr

        shared = 1 + self.image**2 + self.object_**2 + self.arm_object**2
        total = 0.0
        for (weight, image), (other, seed) in product(
            _kinds(self.wide_images, self.arm_image), _kinds(self.wide_seeds, self.seed)
        ):
            total += weight * other * float(ndtr(place / np.sqrt(shared + image**2 + seed**2)))
        return total

    def place_of(self, error: float) -> float:
        """Return the place of an arm with this error over all seeds and images."""
        from scipy.optimize import brentq

        def excess(place: float) -> float:
            return self.population_error(place) - error

        root: Any = brentq(excess, -60, 60, xtol=1e-12)
        return float(root)

    def objects(self, num_images: int) -> Int[np.ndarray, " images"] | None:
        """Return which object each image shows, None where each is its own."""
        return np.arange(num_images) % self.num_objects if self.num_objects else None

    def chance(self, case: str) -> np.random.Generator:
        """Return a source of chance that is the same each time for a case."""
        return np.random.default_rng([2026, crc32(f"{self.name}/{case}".encode())])

    def wrong(
        self,
        chance: np.random.Generator,
        errors: Sequence[float],
        shape: tuple[int, int, int],
    ) -> Bool[np.ndarray, "draws arms seeds images"]:
        """Return whether each network errs on each image.

        Args:
            chance: Where all is drawn from.
            errors: Over all seeds and images, one an arm.
            shape: Draws, seeds, images.
        """
        by_arm, by_seed = self.effects(chance, len(errors), shape)
        places = np.array([self.place_of(error) for error in errors], dtype=np.float32)
        by_arm += places[:, None, None]
        summed = self.chances(chance, (shape[0], len(errors), *shape[1:]))
        summed += by_seed
        return summed > -by_arm

    def effects(
        self, chance: np.random.Generator, arms: int, shape: tuple[int, int, int]
    ) -> tuple[Float[np.ndarray, "draws arms 1 images"], Float[np.ndarray, "draws arms seeds 1"]]:
        """Return how hard each image is for each arm, and how badly each training went."""
        draws, seeds, images = shape

        def normal(*size: int) -> Float[np.ndarray, "draws arms seeds images"]:
            return chance.standard_normal(size, dtype=np.float32)

        by_arm = self.image * normal(draws, 1, 1, images)
        by_arm = by_arm + _wide(chance, self.wide_images, self.arm_image, (draws, arms, 1, images))
        if (shown := self.objects(images)) is not None:
            of_arms = self.arm_object * normal(draws, arms, 1, self.num_objects)
            of_objects = self.object_ * normal(draws, 1, 1, self.num_objects) + of_arms
            by_arm = by_arm + of_objects[..., shown]
        return by_arm, _wide(chance, self.wide_seeds, self.seed, (draws, arms, seeds, 1))

    def chances(
        self, chance: np.random.Generator, size: tuple[int, ...]
    ) -> Float[np.ndarray, "draws arms seeds images"]:
        """Return what chance adds: a network errs where the sum of all is above 0."""
        return chance.standard_normal(size, dtype=np.float32)

    def parts(
        self, case: str, errors: Sequence[float], shape: tuple[int, int, int]
    ) -> Iterator[Bool[np.ndarray, "draws arms seeds images"]]:
        """Yield what `wrong` returns in parts that fit into little memory."""
        draws, seeds, images = shape
        chance = self.chance(case)
        at_once = max(1, _AT_ONCE // (len(errors) * seeds * images))
        for start in range(0, draws, at_once):
            yield self.wrong(chance, errors, (min(at_once, draws - start), seeds, images))


def _kinds(wide: Wide, spread: float) -> tuple[tuple[float, float], ...]:
    return ((1 - wide.share, spread), (wide.share, spread * wide.factor))


def _wide(
    chance: np.random.Generator, wide: Wide, spread: float, size: tuple[int, ...]
) -> Float[np.ndarray, "draws arms seeds images"]:
    parts = np.float32(spread) * chance.standard_normal(size, dtype=np.float32)
    if wide.share:
        is_wide = chance.random(size, dtype=np.float32) < wide.share
        parts *= np.where(is_wide, np.float32(wide.factor), np.float32(1))
    return parts


IMAGES_DOMINATE = Generator("images dominate", 0.05, image=2.0, arm_image=1.5, seed=0.05)
SEEDS_DOMINATE = Generator("seeds dominate", 0.10, image=1.0, arm_image=0.1, seed=0.5)
SEEDS_MATTER = Generator("seeds matter", 0.10, image=1.0, arm_image=0.1, seed=0.2)
BOTH_MATTER = Generator("both matter", 0.10, image=1.0, arm_image=1.0, seed=0.2)
FEW_ERRORS = Generator("few images ever wrong", 0.0167, image=5.0, arm_image=1.0, seed=0.3)
SELDOM_WRONG = Generator("seldom wrong", 0.002, image=5.0, arm_image=1.0, seed=0.3)
HEAVY_TAILS = Generator(
    "heavy tails",
    0.05,
    image=2.0,
    arm_image=0.4,
    seed=0.1,
    wide_images=Wide(0.02, 15),
    wide_seeds=Wide(0.05, 15),
)
VIEWS = Generator(
    "views of 25 objects",
    0.10,
    image=1.0,
    arm_image=0.5,
    seed=0.2,
    num_objects=25,
    object_=1.5,
    arm_object=0.7,
)
GENERATORS = (
    IMAGES_DOMINATE,
    SEEDS_DOMINATE,
    SEEDS_MATTER,
    BOTH_MATTER,
    FEW_ERRORS,
    HEAVY_TAILS,
    VIEWS,
)


def images_of(generator: Generator) -> int:
    """Return the number of images: 360, or as many views of each object."""
    return 15 * generator.num_objects if generator.num_objects else 360
