"""Nuisance settings: those that nobody asks about, and that every arm has to have right."""

import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator

from capsmodel.search_range import Choices, Floats, Ints, Plain
from search_spaces.space import points
from search_spaces.space.dimension import Dimension

Point = Mapping[str, Plain]
"""Path -> value: one setting of all that is tuned."""

_MOST_LISTED = 10_000  # points of a grid


def _can_be_tuned(nuisance: Mapping[str, Any]) -> Mapping[str, Any]:
    if not nuisance:
        raise ValueError("nothing is tuned: give a setting with values to try")
    for path, values in nuisance.items():
        if not isinstance(values, tuple):
            continue
        try:
            Choices(*values)
        except ValueError as error:
            raise ValueError(f"'{path}' cannot be tuned over {values}: {error}") from error
    return nuisance


Nuisance = Annotated[
    Mapping[str, tuple[Plain, ...] | Floats | Ints | Choices], AfterValidator(_can_be_tuned)
]
"""Path of a setting -> values to try, or a range of them."""


def points_of(nuisance: Nuisance, trials: int | None, draw_seed: int) -> tuple[Point, ...]:
    """Return the points that are tried, the same for the same arguments.

    Values that can be counted make a grid: all of it, or so many of its points, drawn at random and
    kept in their order. Else points fill the ranges evenly (a scrambled Halton sequence).

    Args:
        nuisance: Path -> values or range.
        trials: How many; None stands for all of a grid.
        draw_seed: What all chance comes from.

    Raises:
        ValueError: If there are not as many points, or they have no end and no number is given.
    """
    dimensions = [_dimension(path, values) for path, values in nuisance.items()]
    endless = [one.name for one in dimensions if one.num_values is None]
    total = None if endless else points.count(dimensions)
    if total is None or total > _MOST_LISTED:
        return _spread(dimensions, trials, draw_seed, endless or [*nuisance])
    grid = tuple(points.grid(dimensions))
    if trials is None:
        return grid
    if not 1 < trials <= len(grid):
        raise ValueError(
            f"trials={trials} of {len(grid)} points cannot be tried for every arm: have 2 to "
            f"{len(grid)}, or leave trials out for all of them."
        )
    drawn = random.Random(draw_seed).sample(range(len(grid)), trials)
    return tuple(grid[index] for index in sorted(drawn))


def _spread(
    dimensions: Sequence[Dimension], trials: int | None, draw_seed: int, endless: Sequence[str]
) -> tuple[Point, ...]:
    if trials is None or trials < 2:
        raise ValueError(
            f"'{endless[0]}' has no end of values: say how many points are tried for every arm, "
            f"trials=8 (at least 2), or list values."
        )
    from scipy.stats import qmc

    drawn = qmc.Halton(len(dimensions), rng=draw_seed).random(trials)
    return tuple(
        {one.path: one.at(float(unit)) for one, unit in zip(dimensions, coordinates, strict=True)}
        for coordinates in drawn
    )


def _dimension(path: str, values: Any) -> Dimension:
    return Dimension(path, path, Choices(*values) if isinstance(values, tuple) else values)
