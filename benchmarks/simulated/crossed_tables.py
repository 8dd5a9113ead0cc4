"""What the product says of the effects of many designs at once, with draws as an axis."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from benchmarks.simulated.judged_tables import holm_rows
from sweeps.aggregation.statistics.contrasts import Contrast, all_terms, contrasts
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.joint_power import detectable_length
from sweeps.aggregation.statistics.joint_test import JointError, JointTest, joint_test


@dataclass(frozen=True)
class Grid:
    """A full factorial."""

    shape: tuple[int, ...]

    @property
    def name(self) -> str:
        return " x ".join(map(str, self.shape))

    @property
    def levels(self) -> Int[np.ndarray, "arms factors"]:
        return np.array([*itertools.product(*map(range, self.shape))])

    @cached_property
    def contrasts(self) -> list[Contrast]:
        return contrasts(self.levels, self.shape, all_terms(len(self.shape)))


@dataclass(frozen=True)
class JudgedEffects:
    """Many tables of effects.

    Attributes:
        p_value: As in the table.
        has_spread: Whether the seeds do not all say the same.
        joint: Of each term.
    """

    grid: Grid
    p_value: Float[np.ndarray, "draws terms"]
    has_spread: Bool[np.ndarray, "draws terms"]
    joint: tuple[JointTest, ...]

    @property
    def is_bold(self) -> Bool[np.ndarray, "draws terms"]:
        return (holm_rows(self.p_value) < SIGNIFICANCE) & self.has_spread

    def printed(self, term: int) -> Float[np.ndarray, " draws"]:
        """What a table prints as the smallest effect that it can show: tenths, rounded up."""
        num = len(self.grid.contrasts)
        longest = np.max([_length(one, num) for one in self.joint[term].errors], axis=0)
        return np.ceil(1000 * longest * self.grid.contrasts[term].unit - 1e-9) / 1000


def judged_effects(
    wrong: Bool[np.ndarray, "draws arms seeds images"],
    grid: Grid,
    objects: Int[np.ndarray, " images"] | None = None,
) -> JudgedEffects:
    errors = wrong.astype(float)
    joint = tuple(
        joint_test(np.einsum("ka,dasi->dksi", rows(one), errors), objects) for one in grid.contrasts
    )
    p_values = [one.p_value for one in joint]
    over_seeds = p_over_seeds(errors.mean(axis=-1), grid)
    for place, one in enumerate(grid.contrasts):
        if one.effect is None:
            p_values[place] = np.maximum(p_values[place], over_seeds[:, place])
    spread = [(one.way.over_seeds > 0).any(axis=-1) for one in joint]
    return JudgedEffects(grid, np.stack(p_values, axis=1), np.stack(spread, axis=1), joint)


def rows(one: Contrast) -> Float[np.ndarray, "degrees arms"]:
    return one.basis if one.effect is None else one.effect[None]


def p_over_seeds(
    errors: Float[np.ndarray, "draws arms seeds"], grid: Grid
) -> Float[np.ndarray, "draws terms"]:
    """Return what `block_anova` gives for whole grids, seeds as blocks."""
    from scipy.special import fdtrc

    _, num_arms, num_seeds = errors.shape
    means = errors.mean(axis=2)
    squares = [num_seeds * ((means @ one.basis.T) ** 2).sum(axis=1) for one in grid.contrasts]
    degrees = [one.degrees for one in grid.contrasts]
    of_seeds = num_arms * ((errors.mean(axis=1) - means.mean(axis=1)[:, None]) ** 2).sum(axis=1)
    total = ((errors - means.mean(axis=1)[:, None, None]) ** 2).sum(axis=(1, 2))
    below = num_arms * num_seeds - num_seeds - sum(degrees)
    error = (total - of_seeds - np.sum(squares, axis=0)) / below
    found = [
        fdtrc(own, below, square / own / error)
        for own, square in zip(degrees, squares, strict=True)
    ]
    return np.stack(found, axis=1)


def _length(error: JointError, num: int) -> Float[np.ndarray, " draws"]:
    from scipy.special import chdtri

    middle = np.sqrt(error.variance / error.above * error.below / chdtri(error.below, 0.5))
    length = detectable_length(error.above, error.below, num)
    return np.where(error.variance > 0, middle * length, np.inf)
