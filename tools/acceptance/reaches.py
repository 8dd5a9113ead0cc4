"""Whether a next table finds what stands above one: arms that err more, and arms that err less.

A reader has a table of arms that do not differ; the next one has an arm that differs by what the
first one says. What equal tables print is not the same in each: their median is taken.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sweeps.aggregation.statistics.reach import Reach
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import JudgedTables, judged_tables
from tools.acceptance.logit_networks import LogitGenerator
from tools.acceptance.networks import Generator

AnyGenerator = Generator | LogitGenerator
PRINTED = 24
MOST_PRINTED = 0.5
MIDDLE = "found at the middle figure of what is found in {} of 10, {:g} to {:g}"
RANGE = "tables whose printed range holds the difference that is found so often, reported"
_STEPS = (0.6, 0.8, 1.0, 1.25, 1.6)


class _Printed(NamedTuple):
    """A figure that stands above tables: its direction, how often it is found, and the bounds."""

    name: str
    sign: int
    power: float
    least: float
    most: float


_ALL_PRINTED = (
    _Printed("more", 1, 0.8, 0.74, 0.98),
    _Printed("less", -1, 0.8, 0.74, 0.98),
    _Printed("half_more", 1, 0.5, 0.4, 0.6),
    _Printed("half_less", -1, 0.5, 0.4, 0.6),
)


def both_directions(
    generator: AnyGenerator,
    seeds: int,
    images: int,
    draws: int,
    compared: int,
    *,
    num_printed: int = PRINTED,
) -> Iterator[Figure]:
    """Count bold where one arm errs more or less by what tables of equal arms print for it.

    A figure that the median table does not print is not counted: none that errs less is sure to be
    found where it would be more than the baseline's whole error.
    """
    equal = [generator.error] * (compared + 1)
    reaches = [
        usual_reach(tables, draw)
        for wrong in generator.parts(
            f"printed {seeds} {compared}", equal, (num_printed, seeds, images)
        )
        for tables in [judged_tables(wrong, generator.objects(images))]
        for draw in range(len(wrong))
    ]
    for printed in _ALL_PRINTED:
        sizes = np.array(
            [getattr(reach, printed.name) if reach else (np.inf,) * 3 for reach in reaches]
        )
        shown = np.ceil(1000 * sizes - 1e-9) / 1000  # tenths of a point, rounded up
        middle = float(np.median(shown[:, 1]))
        largest = MOST_PRINTED if printed.sign > 0 else generator.error
        if not middle < largest:
            continue
        direction = "more" if printed.sign > 0 else "less"
        case = f"{generator.name}, {compared} compared, {direction}"
        shape = (draws, seeds, images)
        count = _num_bold(generator, generator.error + printed.sign * middle, shape, compared)
        context = {"points": 100 * middle, "tables that print one": (sizes[:, 1] < largest).mean()}
        bounds = (printed.least, printed.most)
        criterion = MIDDLE.format(round(10 * printed.power), *bounds)
        yield Figure(criterion, case, seeds, images, count, draws, *bounds, context=context)
        exact = _size_found(generator, printed, middle, shape, compared)
        if exact is None or exact >= largest:
            continue
        holds = (sizes[:, 0] <= exact) & (exact <= shown[:, 2])
        low, _, high = np.median(shown, axis=0)
        context = {"found so often, points": 100 * exact, "from": 100 * low, "to": 100 * high}
        label = f"{case}, {round(10 * printed.power)} of 10"
        yield Figure(RANGE, label, seeds, images, *counted(holds), context=context)


def usual_reach(tables: JudgedTables, draw: int) -> Reach | None:
    """Return what a table prints of the arms that are not held to their own seeds."""
    reaches = tables.reaches(draw)
    if tables.way.shared is None:
        return reaches[0]
    return reaches[int(np.argmin(tables.way.shared.is_apart[draw]))]


def _num_bold(
    generator: AnyGenerator, error: float, shape: tuple[int, int, int], compared: int
) -> int:
    errors = [*[generator.error] * compared, error]
    case = f"reach {shape[1]} {compared} {error}"
    return sum(
        int(judged_tables(wrong, generator.objects(shape[2])).is_bold[:, -1].sum())
        for wrong in generator.parts(case, errors, shape)
    )


def _size_found(
    generator: AnyGenerator,
    printed: _Printed,
    middle: float,
    shape: tuple[int, int, int],
    compared: int,
) -> float | None:
    """Return the difference that is found as often as a figure says; None if far from it."""
    draws = max(shape[0] // 4, 1)
    sizes = [step * middle for step in _STEPS]
    tried = [size for size in sizes if 0 < generator.error + printed.sign * size < 1]
    rates = [
        _num_bold(generator, generator.error + printed.sign * size, (draws, *shape[1:]), compared)
        / draws
        for size in tried
    ]
    if not rates[0] < printed.power < max(rates):
        return None
    return float(np.interp(printed.power, np.maximum.accumulate(rates), tried))
