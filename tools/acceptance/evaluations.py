"""Whether comparisons by evaluations hold what they say, in tables of networks that are drawn.

    python -m tools.acceptance.evaluations [--draws 2000] [--only null ...] [--figures FILE]

Every evaluation is of networks of its own, so that a table has the most chances to have anything
bold; evaluations of the same networks have fewer. Prints a table a criterion. The exit code is 1
if anything does not hold.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from jaxtyping import Bool, Float

from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm_rows
from tools.acceptance.counting import Job, count_and_print
from tools.acceptance.curve_networks import CurveNetworks
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import JudgedTables, joined, judged_tables
from tools.acceptance.logit_networks import HEAVY, PAIRED, SKEWED
from tools.acceptance.networks import BOTH_MATTER, HEAVY_TAILS, VIEWS, Generator

NULL = "anything bold in any evaluation, where all arms are as the baseline, at most .055"
COVERAGE = "coverage of the difference, of the arm where it is least, at least .93"
POINTS = "a point or arm in bold that does not differ, where one arm falls behind, at most .055"
AT_POINTS = "coverage of the difference at a point, of the arm and point where it is least, .93"
POWER = "power at the reach that tables of equal arms print, .74 to .98"
PRINTED = 40
OF_32 = Generator(
    "objects of 32 images",
    0.10,
    image=1.0,
    arm_image=0.5,
    seed=0.2,
    num_objects=32,
    object_=1.5,
    arm_object=0.7,
)
IMAGES: Mapping[object, int] = {BOTH_MATTER: 360, HEAVY_TAILS: 360, VIEWS: 375, OF_32: 1024}
GENERATORS = (BOTH_MATTER, HEAVY_TAILS, VIEWS, OF_32, HEAVY, SKEWED, PAIRED)
SEEDS = (3, 5)
SHAPES = ((1, False), (3, False), (10, False), (4, True))


def under_null(
    networks: CurveNetworks, seeds: int, compared: int, evaluations: int, draws: int
) -> Iterator[Figure]:
    """Count tables with anything bold, and intervals that cover 0."""
    images = IMAGES.get(networks.generator, 360)
    equal = [networks.places()] * (compared + 1)
    tables = [
        _tables(networks, f"null {seeds} {compared} {n}", equal, (draws, seeds, images))
        for n in range(evaluations)
    ]
    bold = _bold_together(tables)
    case = f"{networks.name}, {compared} arms x {evaluations} evaluations"
    yield Figure(NULL, case, seeds, images, *counted(np.asarray(bold.any(axis=1))), most=0.055)
    covers = np.concatenate([abs(table.way.mean) <= table.way.half_width() for table in tables])
    worst = int(covers.mean(axis=0).argmin())
    context = {"mean of all arms": float(covers.mean())}
    yield Figure(
        COVERAGE,
        case,
        seeds,
        images,
        *counted(np.asarray(covers[:, worst])),
        least=0.93,
        context=context,
    )


def points_where_one_differs(
    networks: CurveNetworks, seeds: int, compared: int, draws: int
) -> Iterator[Figure]:
    """Count what is in bold though it does not differ: one arm does, on the second half."""
    images = IMAGES.get(networks.generator, 360)
    usual = networks.places()
    half = networks.num_points // 2
    behind = usual.copy()
    behind[half:] = networks.worse_by(0.15)[half:]
    places = [*[usual] * compared, behind]
    primary, at_points = list[JudgedTables](), list[list[JudgedTables]]()
    objects = networks.objects(images)
    for points in networks.parts(f"points {seeds} {compared}", places, (draws, seeds, images)):
        primary.append(judged_tables(networks.means(points), objects))
        at_points.append([judged_tables(wrong, objects) for wrong in points])
    decided = np.concatenate([table.is_bold for table in primary])
    p_values = np.concatenate(
        [
            np.stack([table.p_value for table in tables_at_point], -1)
            for tables_at_point in at_points
        ]
    )
    adjusted = holm_rows(p_values.reshape(len(p_values), -1)).reshape(p_values.shape)
    marked = (adjusted < SIGNIFICANCE) & decided[..., None]
    false = marked[:, -1, :half].any(axis=-1) | decided[:, :-1].any(axis=-1)
    case = f"{networks.name}, {compared} arms"
    context = {
        "its mean is bold": float(decided[:, -1].mean()),
        "its last point is": float(marked[:, -1, -1].mean()),
    }
    yield Figure(
        POINTS, case, seeds, images, *counted(np.asarray(false)), most=0.055, context=context
    )
    covers = np.concatenate(
        [
            np.stack(
                [abs(table.way.mean) <= table.way.half_width() for table in tables_at_point], -1
            )
            for tables_at_point in at_points
        ]
    )[:, :-1]
    rates = covers.mean(axis=0)
    arm, point = np.unravel_index(rates.argmin(), rates.shape)
    context = {"mean of all": float(covers.mean())}
    covered = counted(np.asarray(covers[:, arm, point]))
    yield Figure(AT_POINTS, case, seeds, images, *covered, least=0.93, context=context)


def power(
    networks: CurveNetworks, seeds: int, compared: int, evaluations: int, draws: int
) -> Iterator[Figure]:
    """Count bold where one arm differs, in one evaluation, by what tables of equal arms print."""
    images = IMAGES.get(networks.generator, 360)
    equal = [networks.places()] * (compared + 1)
    num = compared * evaluations
    case = f"power {seeds} {compared} {evaluations}"
    printed = _tables(networks, f"{case} printed", equal, (PRINTED, seeds, images))
    reaches = [printed.reaches(draw, num)[compared - 1] for draw in range(PRINTED)]
    true = float(np.median([_shown(reach.more.middle if reach else np.inf) for reach in reaches]))
    if not true < 0.5:
        return
    places = [*equal[1:], networks.worse_by(true)]
    shape = (draws, seeds, images)
    tables = [_tables(networks, f"{case} first", places, shape)]
    tables += [_tables(networks, f"{case} {n}", equal, shape) for n in range(1, evaluations)]
    is_bold = _bold_together(tables)[:, compared - 1]
    context = {"points": 100 * true}
    label = f"{networks.name}, {compared} arms x {evaluations} evaluations"
    yield Figure(
        POWER, label, seeds, images, *counted(np.asarray(is_bold)), 0.74, 0.98, context=context
    )


def _tables(
    networks: CurveNetworks,
    case: str,
    places: Sequence[Float[np.ndarray, " points"]],
    shape: tuple[int, int, int],
) -> JudgedTables:
    """Return drawn tables of the mean under the curve."""
    objects = networks.objects(shape[2])
    return joined(
        [
            judged_tables(networks.means(points), objects)
            for points in networks.parts(case, places, shape)
        ]
    )


def _bold_together(tables: Sequence[JudgedTables]) -> Bool[np.ndarray, "draws comparisons"]:
    """Return which comparisons are bold, by Holm over the arms of all evaluations."""
    p_values = np.concatenate([table.p_value for table in tables], axis=1)
    return holm_rows(p_values) < SIGNIFICANCE


def _shown(reach: float) -> float:
    """Return the printed value: tenths of a point, rounded up."""
    return float(np.ceil(1000 * reach - 1e-9) / 1000) if np.isfinite(reach) else np.inf


def null_jobs(draws: int) -> Iterator[Job]:
    for generator in GENERATORS:
        for seeds in SEEDS:
            for num_points, is_fresh in SHAPES:
                networks = CurveNetworks(generator, num_points, is_fresh)
                yield partial(under_null, networks, seeds, 5, 3, draws)
            curve = CurveNetworks(generator, 10)
            for compared, evaluations in ((5, 1), (11, 1), (11, 3)):
                yield partial(under_null, curve, seeds, compared, evaluations, draws)


def point_jobs(draws: int) -> Iterator[Job]:
    for generator in GENERATORS:
        for seeds in SEEDS:
            for is_fresh in (False, True):
                networks = CurveNetworks(generator, 6, is_fresh)
                yield partial(points_where_one_differs, networks, seeds, 5, draws // 2)


def power_jobs(draws: int) -> Iterator[Job]:
    for generator in GENERATORS:
        for seeds in SEEDS:
            for num_points, is_fresh in SHAPES[1:]:
                networks = CurveNetworks(generator, num_points, is_fresh)
                yield partial(power, networks, seeds, 5, 1, draws // 4)
            yield partial(power, CurveNetworks(generator, 10), seeds, 11, 3, draws // 4)


PARTS: dict[str, Callable[[int], Iterator[Job]]] = {
    "null": null_jobs,
    "points": point_jobs,
    "power": power_jobs,
}


if __name__ == "__main__":
    sys.exit(count_and_print(PARTS, __doc__ or ""))
