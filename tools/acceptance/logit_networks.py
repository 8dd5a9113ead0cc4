"""Networks that err by a second law: on the logit scale, with seeds that need not be normal.

A network errs with a probability whose logit is a sum: its arm's place, how hard the image is (the
logit of a Beta variable), how hard it is for this arm, and how well this training went. Places are
set such that the error over all seeds and images is the one asked for, by 300,000 draws.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal
from zlib import crc32

import numpy as np
from jaxtyping import Bool, Float

_AT_ONCE = 2_500_000
_CALIBRATION = 300_000
_STEPS = 50
_LEAST = 1e-30
_MOST_LOGIT = 60.0
_STRAY_SHARE, _STRAY = 0.05, 8.0
_LOGNORMAL = 0.8
_FREEDOM = 3

Law = Literal["normal", "t3", "lognormal", "astray"]


@dataclass(frozen=True)
class LogitGenerator:
    """How networks err. Standard deviations are logits.

    Attributes:
        name: In words.
        error: Of an arm that is as good as the baseline, a fraction.
        hardness: Both numbers of the Beta variable of an image.
        arm_image: How much harder some images are for one arm than for another.
        seed: How much better some trainings go than others.
        law: Of the trainings: normal, t with 3 degrees of freedom, lognormal, or with 5 % astray.
        shared: Correlation of a seed's effect between arms.
        scales: Multiplier of `seed` for each arm, the baseline first; those beyond have 1.
    """

    name: str
    error: float
    hardness: tuple[float, float]
    arm_image: float
    seed: float
    law: Law = "normal"
    shared: float = 0.0
    scales: tuple[float, ...] = ()
    num_objects: ClassVar[int] = 0

    def objects(self, num_images: int) -> None:
        """Return None: each image is its own."""

    def scale(self, arm: int) -> float:
        return self.scales[arm] if arm < len(self.scales) else 1.0

    def parts(
        self, case: str, errors: Sequence[float], shape: tuple[int, int, int]
    ) -> Iterator[Bool[np.ndarray, "draws arms seeds images"]]:
        """Yield whether each network errs on each image, in parts that fit into little memory."""
        draws, seeds, images = shape
        chance = np.random.default_rng([2026, crc32(f"{self.name}/{case}".encode())])
        at_once = max(1, _AT_ONCE // (len(errors) * seeds * images))
        for start in range(0, draws, at_once):
            yield self._wrong(chance, errors, (min(at_once, draws - start), seeds, images))

    def _wrong(
        self, chance: np.random.Generator, errors: Sequence[float], shape: tuple[int, int, int]
    ) -> Bool[np.ndarray, "draws arms seeds images"]:
        by_arm, by_seed = self.effects(chance, len(errors), shape)
        places = [place_of(self, error, self.scale(arm)) for arm, error in enumerate(errors)]
        logits = (np.array(places)[:, None, None] + by_seed).astype(np.float32) + by_arm
        drawn = chance.random((shape[0], len(errors), *shape[1:]), dtype=np.float32)
        return drawn * (1 + np.exp(np.minimum(-logits, _MOST_LOGIT))) < 1

    def effects(
        self, chance: np.random.Generator, arms: int, shape: tuple[int, int, int]
    ) -> tuple[Float[np.ndarray, "draws arms 1 images"], Float[np.ndarray, "draws arms seeds 1"]]:
        """Return how hard each image is for each arm, and how badly each training went."""
        draws, seeds, images = shape
        of_images = _logits(chance, self.hardness, (draws, 1, 1, images))
        of_arms = chance.standard_normal((draws, arms, 1, images), dtype=np.float32)
        of_seeds = _trainings(chance, self.law, (draws, arms, seeds, 1))
        if self.shared:
            alike = _trainings(chance, self.law, (draws, 1, seeds, 1))
            of_seeds = self.shared**0.5 * alike + (1 - self.shared) ** 0.5 * of_seeds
        scales = np.array([self.seed * self.scale(arm) for arm in range(arms)])
        by_arm = of_images + np.float32(self.arm_image) * of_arms
        return by_arm, scales[:, None, None] * of_seeds

    def chances(
        self, chance: np.random.Generator, size: tuple[int, ...]
    ) -> Float[np.ndarray, "draws arms seeds images"]:
        """Return what chance adds: a network errs where the sum of all is above 0."""
        return chance.logistic(size=size).astype(np.float32)


@cache
def place_of(generator: LogitGenerator, error: float, scale: float) -> float:
    """Return the place of an arm with this error over all seeds and images."""
    from scipy.special import expit

    chance = np.random.default_rng(1)
    size = (_CALIBRATION,)
    logits = _logits(chance, generator.hardness, size).astype(float)
    logits += generator.arm_image * chance.standard_normal(size)
    logits += generator.seed * scale * _trainings(chance, generator.law, size)
    low, high = -_MOST_LOGIT, _MOST_LOGIT
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if expit(logits + middle).mean() < error:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _logits(
    chance: np.random.Generator, hardness: tuple[float, float], size: tuple[int, ...]
) -> Float[np.ndarray, "..."]:
    drawn = np.clip(chance.beta(*hardness, size), _LEAST, 1 - 1e-12)
    return (np.log(drawn) - np.log1p(-drawn)).astype(np.float32)


def _trainings(
    chance: np.random.Generator, law: Law, size: tuple[int, ...]
) -> Float[np.ndarray, "..."]:
    """Return how well trainings went, with mean 0 and, but for those astray, variance 1."""
    drawn = chance.standard_normal(size)
    if law == "t3":
        return drawn / np.sqrt(chance.chisquare(_FREEDOM, size))
    if law == "lognormal":
        square = _LOGNORMAL**2
        spread = np.sqrt((np.exp(square) - 1) * np.exp(square))
        return (np.exp(_LOGNORMAL * drawn) - np.exp(square / 2)) / spread
    if law == "astray":
        return np.where(chance.random(size) < _STRAY_SHARE, drawn + _STRAY, drawn)
    return drawn


FEW = LogitGenerator("1.7 %, normal seeds", 0.017, (0.06, 2.0), 1.0, 0.35)
HEAVY = LogitGenerator("1.7 %, t(3) seeds", 0.017, (0.15, 4.0), 0.8, 0.5, "t3")
SKEWED = LogitGenerator("5 %, lognormal seeds", 0.05, (0.3, 4.0), 0.6, 0.35, "lognormal")
SEEDS = LogitGenerator("10 %, seeds dominate", 0.10, (1.0, 6.0), 0.1, 0.6)
HALF = LogitGenerator("50 %", 0.50, (0.8, 0.8), 0.5, 0.25)
ASTRAY = LogitGenerator("1.7 %, 5 % of seeds astray", 0.017, (0.15, 4.0), 0.8, 0.3, "astray")
TINY = LogitGenerator(".2 %", 0.002, (0.05, 6.0), 0.6, 0.4)
PAIRED = LogitGenerator("5 %, seeds shared by arms", 0.05, (0.3, 4.0), 0.4, 0.5, shared=0.8)
UNEQUAL = LogitGenerator(
    "5 %, unequal seed variances",
    0.05,
    (0.3, 4.0),
    0.5,
    0.25,
    scales=(1, 5**0.5, 1, 0.3**0.5, 3**0.5),
)
WIDE_BASELINE = LogitGenerator(
    "5 %, baseline of 5 times the seed variance", 0.05, (0.3, 4.0), 0.5, 0.2, scales=(5**0.5,)
)
ONE_WIDE = LogitGenerator(
    "5 %, one arm of 25 times the seed variance", 0.05, (0.3, 4.0), 0.5, 0.12, scales=(1, 5)
)
LOGIT_GENERATORS = (
    FEW,
    HEAVY,
    SKEWED,
    SEEDS,
    HALF,
    ASTRAY,
    TINY,
    PAIRED,
    UNEQUAL,
    WIDE_BASELINE,
    ONE_WIDE,
)
