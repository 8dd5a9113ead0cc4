"""What tables of effects have to hold, counted in drawn tables."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from sweeps.aggregation.statistics.contrasts import Contrast, all_terms, contrasts
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.joint_test import JointTest, joint_test
from sweeps.aggregation.statistics.power import (
    FEWEST_ERRORS,
    GridParts,
    Requirement,
    detectable,
    power_of_rule,
)
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import holm_rows
from tools.acceptance.logit_networks import LogitGenerator
from tools.acceptance.networks import Generator

AnyGenerator = Generator | LogitGenerator


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


def reach(
    wrong: Bool[np.ndarray, "arms seeds images"],
    grid: Grid,
    term: int,
    objects: Int[np.ndarray, " images"] | None = None,
) -> float:
    """Return the smallest detectable effect that a table prints, not rounded."""
    num_arms, num_seeds, num_images = wrong.shape
    if wrong.sum() < FEWEST_ERRORS * num_arms:
        return np.inf
    contrast = grid.contrasts[term]
    all_degrees = sum(contrast.degrees for contrast in grid.contrasts)
    parts = GridParts.of(wrong.astype(float), objects)
    sizes = (num_seeds, num_images if objects is None else len(np.unique(objects)))
    length = contrast.unit if contrast.effect is None else float(np.linalg.norm(contrast.effect))
    requirement = Requirement(
        SIGNIFICANCE / len(grid.contrasts),
        num_contrasts=contrast.degrees,
        block_degrees=float((num_arms - 1) * num_seeds - all_degrees),
    )

    def power_at(effect: float) -> float:
        return power_of_rule(parts.at(effect), *sizes, effect / length, requirement=requirement)

    return detectable(power_at)


def judged_effects(
    wrong: Bool[np.ndarray, "draws arms seeds images"],
    grid: Grid,
    objects: Int[np.ndarray, " images"] | None = None,
) -> JudgedEffects:
    errors = wrong.astype(float)
    joint = tuple(
        joint_test(np.einsum("ka,dasi->dksi", rows(contrast), errors), objects)
        for contrast in grid.contrasts
    )
    p_values = [test.p_value for test in joint]
    over_seeds = p_over_seeds(errors.mean(axis=-1), grid)
    for place, contrast in enumerate(grid.contrasts):
        if contrast.effect is None:
            p_values[place] = np.maximum(p_values[place], over_seeds[:, place])
    spread = [(test.way.over_seeds > 0).any(axis=-1) for test in joint]
    return JudgedEffects(grid, np.stack(p_values, axis=1), np.stack(spread, axis=1), joint)


def rows(contrast: Contrast) -> Float[np.ndarray, "degrees arms"]:
    return contrast.basis if contrast.effect is None else contrast.effect[None]


def p_over_seeds(
    errors: Float[np.ndarray, "draws arms seeds"], grid: Grid
) -> Float[np.ndarray, "draws terms"]:
    """Return the p-values of `block_anova` for full grids, with seeds as blocks."""
    from scipy.special import fdtrc

    _, num_arms, num_seeds = errors.shape
    means = errors.mean(axis=2)
    squares = [
        num_seeds * ((means @ contrast.basis.T) ** 2).sum(axis=1) for contrast in grid.contrasts
    ]
    degrees = [contrast.degrees for contrast in grid.contrasts]
    of_seeds = num_arms * ((errors.mean(axis=1) - means.mean(axis=1)[:, None]) ** 2).sum(axis=1)
    total = ((errors - means.mean(axis=1)[:, None, None]) ** 2).sum(axis=(1, 2))
    below = num_arms * num_seeds - num_seeds - sum(degrees)
    error = (total - of_seeds - np.sum(squares, axis=0)) / below
    p_values = [
        fdtrc(df, below, square / df / error) for df, square in zip(degrees, squares, strict=True)
    ]
    return np.stack(p_values, axis=1)


MOST_PRINTED = 0.5
PRINTED = 200


SMALL = Grid((2, 2, 2))


MIXED = Grid((2, 3))


GRIDS = (SMALL, MIXED)


NULL = "any bold effect where no arm differs, at most .055"


COVERS = "coverage of a main effect where no arm differs, .94 to .99"


POWER = "power at the effect that tables of equal arms print, .74 to .98"


def under_null(
    generator: AnyGenerator, grid: Grid, shape: tuple[int, int, int]
) -> Iterator[Figure]:
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
    case = f"{generator.name}, {grid.name}"
    context = {"seeds as blocks": np.concatenate(alone).mean()}
    yield Figure(NULL, case, seeds, images, *_counted(bold), most=0.055, context=context)
    yield Figure(COVERS, case, seeds, images, *_counted(covers), 0.94, 0.99)


def power(
    generator: AnyGenerator,
    grid: Grid,
    term: int,
    shape: tuple[int, int, int],
    *,
    num_printed: int = PRINTED,
) -> Iterator[Figure]:
    """Count how often an effect is bold that is as large as the detectable effect in print.

    The printed value differs from table to table: the median is taken.
    """
    _, seeds, images = shape
    objects, equal = generator.objects(images), [generator.error] * len(grid.levels)
    case = f"printed {grid.name} {term} {seeds}"
    printed = [
        np.ceil(1000 * reach(wrong, grid, term, objects) - 1e-9) / 1000
        for part in generator.parts(case, equal, (num_printed, seeds, images))
        for wrong in part
    ]
    true = float(np.median(printed))
    if not true < MOST_PRINTED:
        return
    bold = [
        judged_effects(wrong, grid, objects).is_bold[:, term]
        for wrong in _drawn(generator, grid, term, true, shape)
    ]
    low, high = np.quantile(printed, (0.1, 0.9))
    context = {"points": 100 * true, "a tenth print less than": 100 * low, "more than": 100 * high}
    kind = "two levels" if grid.contrasts[term].effect is not None else "three levels"
    kind = "interaction" if len(grid.contrasts[term].term) > 1 else kind
    label = f"{generator.name}, {grid.name}, {kind}"
    yield Figure(POWER, label, seeds, images, *_counted(bold), 0.74, 0.98, context=context)


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
    generator: AnyGenerator, grid: Grid, term: int, size: float, shape: tuple[int, int, int]
) -> Iterator[Bool[np.ndarray, "draws arms seeds images"]]:
    errors = errors_with(grid, term, generator.error, size)
    return generator.parts(f"effect {grid.name} {term} {shape[1]}", errors, shape)


def _is_bold_over_seeds(
    wrong: Bool[np.ndarray, "draws arms seeds images"], grid: Grid
) -> Bool[np.ndarray, " draws"]:

    p_values = p_over_seeds(wrong.mean(axis=-1), grid)
    return np.asarray((holm_rows(p_values) < 0.05).any(axis=1))


def _counted(parts: Sequence[Bool[np.ndarray, " draws"]]) -> tuple[int, int]:
    return counted(np.concatenate(parts))
