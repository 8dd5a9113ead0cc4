"""What tables of effects have to hold, counted in drawn tables."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from benchmarks.simulated.crossed_tables import Grid, judged_effects, p_over_seeds
from benchmarks.simulated.figures import Figure, counted
from benchmarks.simulated.judged_tables import holm_rows
from benchmarks.simulated.networks import Generator

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
        bold.append(tables.is_bold.any(axis=1))
        way = tables.joint[0].way  # of the first factor, which has two levels
        covers.append((np.abs(way.mean) <= way.half_width())[:, 0])
        alone.append(_is_bold_over_seeds(wrong, grid))
    words = f"{generator.name}, {grid.name}"
    beside = {"seeds as blocks": np.concatenate(alone).mean()}
    yield Figure(NULL, words, seeds, images, *_of(bold), most=0.055, beside=beside)
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
    beside = {
        "true effect, points": 100 * true,
        "median printed": float(np.median(np.concatenate(printed))),
    }
    kind = "two levels" if grid.contrasts[term].effect is not None else "three levels"
    kind = "interaction" if len(grid.contrasts[term].term) > 1 else kind
    words = f"{generator.name}, {grid.name}, {kind}"
    yield Figure(POWER, words, seeds, images, *_of(bold), 0.8, beside=beside)


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
        found = [
            judged_effects(wrong, grid, generator.objects(shape[2])).printed(term)
            for wrong in _drawn(generator, grid, term, size, shape)
        ]
        return float(np.minimum(np.concatenate(found), 1.0).mean()) - size

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
