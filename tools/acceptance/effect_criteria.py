"""What tables of effects have to hold, counted in drawn tables."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from sweeps.aggregation.statistics.contrasts import Contrast, all_terms, contrasts
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.joint_power import detectable_length
from sweeps.aggregation.statistics.joint_test import JointError, JointTest, joint_test
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import holm_rows
from tools.acceptance.networks import Generator


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
    p_values = [
        fdtrc(df, below, square / df / error) for df, square in zip(degrees, squares, strict=True)
    ]
    return np.stack(p_values, axis=1)


def _length(error: JointError, num: int) -> Float[np.ndarray, " draws"]:
    from scipy.special import chdtri

    middle = np.sqrt(error.variance / error.above * error.below / chdtri(error.below, 0.5))
    length = detectable_length(error.above, error.below, num)
    return np.where(error.variance > 0, middle * length, np.inf)


MOST_PRINTED = 0.5


SMALL = Grid((2, 2, 2))


MIXED = Grid((2, 3))


GRIDS = (SMALL, MIXED)


NULL = "any bold effect where no arm differs, at most .055"


COVERS = "coverage of a main effect where no arm differs, .94 to .99"


POWER = "power at the printed detectable effect, at least .8"


def under_null(generator: Generator, grid: Grid, shape: tuple[int, int, int]) -> Iterator[Figure]:
    """Count tables with anything bold, and intervals that cover 0, where no arm differs."""
    _, seeds, images = shape
    bold, covers, alone = (list[Bool[np.ndarray, " draws"]]() for _ in range(3))
    errors = [generator.error] * len(grid.levels)
    for wrong in generator.parts(f"effects {grid.name} {seeds}", errors, shape):
        tables = judged_effects(wrong, grid, generator.objects(images))
        bold.append(np.asarray(tables.is_bold.any(axis=1)))
        way = tables.joint[0].way  # of the first factor, which has two levels
        covers.append(np.asarray(np.abs(way.mean) <= way.half_width())[:, 0])
        alone.append(_is_bold_over_seeds(wrong, grid))
    words = f"{generator.name}, {grid.name}"
    context = {"seeds as blocks": np.concatenate(alone).mean()}
    yield Figure(NULL, words, seeds, images, *_of(bold), most=0.055, context=context)
    yield Figure(COVERS, words, seeds, images, *_of(covers), 0.94, 0.99)


def power(
    generator: Generator, grid: Grid, term: int, shape: tuple[int, int, int]
) -> Iterator[Figure]:
    """Count bold of an effect as large as tables print as detectable at that size."""
    draws, seeds, images = shape
    true = _printed_where_true(generator, grid, term, (max(300, draws // 5), seeds, images))
    if true is None:
        return
    bold, printed = list[Bool[np.ndarray, " draws"]](), list[Float[np.ndarray, " draws"]]()
    for wrong in _drawn(generator, grid, term, true, shape):
        tables = judged_effects(wrong, grid, generator.objects(images))
        bold.append(tables.is_bold[:, term])
        printed.append(100 * tables.printed(term))
    context = {
        "true effect, points": 100 * true,
        "median printed": float(np.median(np.concatenate(printed))),
    }
    kind = "two levels" if grid.contrasts[term].effect is not None else "three levels"
    kind = "interaction" if len(grid.contrasts[term].term) > 1 else kind
    words = f"{generator.name}, {grid.name}, {kind}"
    yield Figure(POWER, words, seeds, images, *_of(bold), 0.8, context=context)


def errors_with(grid: Grid, term: int, base: float, size: float) -> list[float]:
    """Return errors of arms with one effect, all others as small as that lets them be.

    Of a factor the first and last level differ by its size and the others lie between; of two
    factors half the difference of the differences of their first and last levels has it.
    """
    places = grid.contrasts[term].term
    shares = [grid.levels[:, place] / (grid.shape[place] - 1) for place in places]
    if len(places) == 1:
        return (base + size * shares[0]).tolist()
    crossed = (shares[0] - 0.5) * (shares[1] - 0.5)
    return (base + size * (0.5 + 2 * crossed)).tolist()


def _drawn(
    generator: Generator, grid: Grid, term: int, size: float, shape: tuple[int, int, int]
) -> Iterator[Bool[np.ndarray, "draws arms seeds images"]]:
    errors = errors_with(grid, term, generator.error, size)
    return generator.parts(f"effect {grid.name} {term} {shape[1]}", errors, shape)


def _printed_where_true(
    generator: Generator, grid: Grid, term: int, shape: tuple[int, int, int]
) -> float | None:
    """Return the true effect that tables print, on average, as the smallest they can show."""
    from scipy.optimize import brentq

    def too_small(size: float) -> float:
        printed = [
            judged_effects(wrong, grid, generator.objects(shape[2])).printed(term)
            for wrong in _drawn(generator, grid, term, size, shape)
        ]
        return float(np.minimum(np.concatenate(printed), 1.0).mean()) - size

    if too_small(MOST_PRINTED) > 0:
        return None
    root: Any = brentq(too_small, 1e-4, MOST_PRINTED, xtol=1e-3)
    return float(root)


def _is_bold_over_seeds(
    wrong: Bool[np.ndarray, "draws arms seeds images"], grid: Grid
) -> Bool[np.ndarray, " draws"]:

    p_values = p_over_seeds(wrong.mean(axis=-1), grid)
    return np.asarray((holm_rows(p_values) < 0.05).any(axis=1))


def _of(parts: Sequence[Bool[np.ndarray, " draws"]]) -> tuple[int, int]:
    return counted(np.concatenate(parts))
