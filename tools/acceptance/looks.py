"""Whether verdicts hold at all looks of a plan together, and how many trainings a plan saves.

The product's rule with draws as an axis. `tests/sweeps/aggregation/statistics/test_looks.py` sees
that it says the same as the product of single tables.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from sweeps.aggregation.statistics.equivalence import beyond_margin
from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm_rows
from sweeps.aggregation.statistics.looks import LookLevel, are_images_the_limit
from sweeps.aggregation.statistics.shared_seeds import own_variances, share_seeds
from sweeps.aggregation.statistics.two_way import Errors, TwoWay, two_way
from tools.acceptance.counting import Job
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import minus_first, part_of
from tools.acceptance.logit_networks import (
    FEW,
    HALF,
    HEAVY,
    ONE_WIDE,
    SEEDS,
    SKEWED,
    UNEQUAL,
    WIDE_BASELINE,
    LogitGenerator,
)
from tools.acceptance.unlike_arms import SPREADS

IMAGES, MANY = (360, 2_000), 10_000
LOOKS = (3, 5, 8, 12, 20)
ALIKE, UNLIKE = SPREADS["alike"], SPREADS["unlike"]
OF_NULL = (FEW, HEAVY, SKEWED, SEEDS, UNEQUAL, WIDE_BASELINE, UNLIKE, ONE_WIDE)
OF_MANY_IMAGES = (FEW, UNLIKE, ONE_WIDE)
OF_TRAININGS = (SEEDS, HALF, SKEWED, UNLIKE, ALIKE)
COMPARED = (1, 5, 11)
BOLD = "any bold at any look, no arm differs: at most .055 (one compared .06, one wild .079)"
EQUIVALENT = "any equivalent at any look that differs by the margin, at most .05"
COVERED = "coverage of the printed interval of the arm covered least: .94 (one wild .899) to .99"
TRAININGS = (
    "trainings as a share of those without looks, every second arm differs by 2 deviations of a "
    "seed: at most .85, with a margin .70, where the images' share is at most .3"
)
MOST_WITHOUT, MOST_WITH_MARGIN, MOST_OF_IMAGES = 0.85, 0.70, 0.3
MOST, MOST_ALONE, MOST_WILD = 0.055, 0.06, 0.079
LEAST, LEAST_WILD = 0.94, 0.899


@dataclass(frozen=True)
class Looked:
    """Many tables after their last look.

    Attributes:
        is_different: By table and compared arm.
        is_equivalent: Likewise.
        seeds: At the look at which each arm was settled, else at the last.
        mean: The difference at that look, a fraction.
        half_width: Of its printed interval.
        standard_errors: Of the difference at that look, each of `TwoWay.errors`.
        degrees: Of these.
        over_seeds: At that look; 0 where all seeds agree.
    """

    is_different: Bool[np.ndarray, "draws arms"]
    is_equivalent: Bool[np.ndarray, "draws arms"]
    seeds: Int[np.ndarray, "draws arms"]
    mean: Float[np.ndarray, "draws arms"]
    half_width: Float[np.ndarray, "draws arms"]
    standard_errors: Float[np.ndarray, "draws 3 arms"]
    degrees: Float[np.ndarray, "draws 3 arms"]
    over_seeds: Float[np.ndarray, "draws arms"]

    @property
    def errors(self) -> Errors:
        """As `TwoWay.errors`."""
        return tuple((self.standard_errors[:, place], self.degrees[:, place]) for place in range(3))

    @property
    def share_of_trainings(self) -> Float[np.ndarray, " draws"]:
        """Trainings, the baseline's among them, as a share of those without looks."""
        every = self.seeds.sum(axis=1) + self.seeds.max(axis=1)
        return every / (LOOKS[-1] * (self.seeds.shape[1] + 1))


def looked_at(
    wrong: Bool[np.ndarray, "draws arms seeds images"],
    looks: Sequence[int] = LOOKS,
    margin: float | None = None,
    num_data_sets: int = 1,
) -> Looked:
    """Return what a plan of looks comes to, the first arm being the baseline.

    Args:
        wrong: Whether each network errs on each image, for the seeds of the last look.
        looks: Numbers of seeds.
        margin: Of equivalence, a fraction; None for none.
        num_data_sets: Over which verdicts hold together.
    """
    draws, num = len(wrong), wrong.shape[1] - 1
    different, equivalent = np.zeros((2, draws, num), dtype=bool)
    is_open = np.ones((draws, num), dtype=bool)
    seeds = np.zeros((draws, num), dtype=int)
    mean, half_width, over_seeds = np.zeros((3, draws, num))
    standard_errors, degrees = np.zeros((2, draws, 3, num))
    for place, number in enumerate(looks):
        now = wrong[:, :, :number]
        ways, errors = two_way(minus_first(now)), now.mean(axis=-1)
        for rows, arms in _alike(is_open, different, equivalent):
            at = np.ix_(rows, arms)
            way = _shared(ways, errors, rows, arms)
            ends = are_images_the_limit(way, looks[-1]) | (number == looks[-1])
            for is_last in np.unique(ends):
                some = np.flatnonzero(ends == is_last)
                level = LookLevel(
                    tuple(looks[: place + 1]),
                    looks[-1],
                    bool(is_last),
                    num_others=int(equivalent[rows[0]].sum()),
                    num_others_apart=int(different[rows[0]].sum()),
                    is_alone=num == 1,
                    num_data_sets=num_data_sets,
                )
                cut = np.ix_(rows[some], arms)
                part = _rows(way, some)
                different[cut], equivalent[cut] = _verdicts(part, level, margin)
                half_width[cut] = part.half_width(1 - level.of_each(1))
                is_open[cut] = ~(different[cut] | equivalent[cut] | is_last)
            seeds[at], mean[at], over_seeds[at] = number, way.mean, way.over_seeds
            for error, (size, freedom) in enumerate(way.errors):
                standard_errors[:, error][at], degrees[:, error][at] = size, freedom
    return Looked(
        different, equivalent, seeds, mean, half_width, standard_errors, degrees, over_seeds
    )


def _alike(
    is_open: Bool[np.ndarray, "draws arms"], *settled: Bool[np.ndarray, "draws arms"]
) -> Iterator[tuple[Int[np.ndarray, " rows"], Int[np.ndarray, " open"]]]:
    """Yield the tables of which the same arms are open, with as many settled in either way."""
    counts = np.stack([of_one.sum(axis=1) for of_one in settled], axis=1)
    keys = np.concatenate([is_open, counts], axis=1)
    for key in np.unique(keys, axis=0):
        arms = np.flatnonzero(key[: is_open.shape[1]])
        if len(arms):
            yield np.flatnonzero((keys == key).all(axis=1)), arms


def _shared(
    ways: TwoWay,
    errors: Float[np.ndarray, "draws arms seeds"],
    rows: Int[np.ndarray, " rows"],
    arms: Int[np.ndarray, " open"],
) -> TwoWay:
    cut: Any = np.ix_(rows, arms)
    own = own_variances(errors[rows][:, [0, *(arms + 1).tolist()]])
    return share_seeds(part_of(ways, cut), own[:, 1:], own[:, 0])


def _rows(way: TwoWay, rows: Int[np.ndarray, " rows"]) -> TwoWay:
    part = part_of(way, (rows, slice(None)))  # pyright: ignore[reportArgumentType]
    if way.shared is None:
        return part
    fields = {name: value[rows] for name, value in vars(way.shared).items()}
    return replace(part, shared=replace(way.shared, **fields))


def _verdicts(
    way: TwoWay, level: LookLevel, margin: float | None
) -> tuple[Bool[np.ndarray, "rows arms"], Bool[np.ndarray, "rows arms"]]:
    adjusted = holm_rows(way.p_value, level.share, level.num_others)
    is_different = adjusted < SIGNIFICANCE
    if margin is None:
        return is_different, np.zeros_like(is_different)
    beyond = beyond_margin(way, margin)
    is_within = beyond < level.of_each(1) / 2
    is_within &= holm_rows(beyond, level.share, level.num_others_apart) < SIGNIFICANCE
    return is_different, is_within & ~is_different


def under_null(
    generator: LogitGenerator, images: int, draws: int, compared: int
) -> Iterator[Figure]:
    """Count tables of equal arms in which any look calls one different, and what intervals hold."""
    errors, is_wild = [generator.error] * (compared + 1), generator is ONE_WIDE
    ended = _ended(generator, f"looks {compared}", errors, images=images, draws=draws)
    case = f"{generator.name}, {compared} compared"
    bold = counted(np.asarray(ended.is_different.any(axis=1)))
    alone = MOST if compared > 1 else MOST_ALONE
    context = {"trainings": ended.share_of_trainings.mean()}
    most = MOST_WILD if is_wild else alone
    yield Figure(BOLD, case, LOOKS[-1], images, *bold, most=most, context=context)
    yield _coverage(ended, np.zeros(compared), case, images, is_wild=is_wild)


def at_margin(
    generator: LogitGenerator, images: int, draws: int, compared: int, margin: float
) -> Iterator[Figure]:
    """Count tables of arms that all differ by the margin in which any look calls one equivalent."""
    errors = [generator.error, *[generator.error + margin] * compared]
    name = f"margin {compared} {margin}"
    ended = _ended(generator, name, errors, images=images, draws=draws, margin=margin)
    case = f"{generator.name}, {compared} compared, {100 * margin:g} points"
    context = {"trainings": ended.share_of_trainings.mean()}
    equivalent = counted(np.asarray(ended.is_equivalent.any(axis=1)))
    yield Figure(EQUIVALENT, case, LOOKS[-1], images, *equivalent, most=0.05, context=context)
    yield _coverage(ended, np.full(compared, margin), case, images, is_wild=generator is ONE_WIDE)


def trainings(
    generator: LogitGenerator, images: int, draws: int, compared: int, in_margin: float
) -> Iterator[Figure]:
    """Count the trainings of plans in which every second arm differs by 2 deviations of a seed.

    Those arms err more and less in turn. The context has what fixed seeds of equal cost find.

    Args:
        generator: Of the networks.
        images: Of the test split.
        draws: Tables.
        compared: Arms besides the baseline.
        in_margin: The margin of equivalence in standard deviations of a seed; 0 for none.
    """
    deviation, of_images = _spread(generator, images)
    differs = np.array([2 * deviation * (arm % 2 == 0) for arm in range(compared)])
    differs[2::4] *= -1
    errors = [generator.error, *(generator.error + differs)]
    name = f"trainings {compared}"
    margin = in_margin * deviation or None
    ended = _ended(generator, name, errors, images=images, draws=draws, margin=margin)
    share = float(ended.share_of_trainings.mean())
    fixed = max(3, round(share * LOOKS[-1]))
    with_fixed = _ended(
        generator, name, errors, images=images, draws=draws, margin=margin, looks=(fixed,)
    )
    is_real = differs != 0
    context = {
        "images' share": of_images,
        "found": ended.is_different[:, is_real].mean(),
        f"found by {fixed} seeds": with_fixed.is_different[:, is_real].mean(),
        "equivalent": ended.is_equivalent[:, ~is_real].mean(),
        f"equivalent by {fixed} seeds": with_fixed.is_equivalent[:, ~is_real].mean(),
        "false": ended.is_different[:, ~is_real].any(axis=1).mean(),
    }
    text = f", margin {in_margin:g} deviations" if in_margin else ""
    most = (MOST_WITH_MARGIN if in_margin else MOST_WITHOUT) if of_images <= MOST_OF_IMAGES else 1.0
    num = compared + 1
    every = int(ended.share_of_trainings.sum() * LOOKS[-1] * num)
    yield Figure(
        TRAININGS,
        f"{generator.name}, {compared} compared{text}",
        LOOKS[-1],
        images,
        every,
        draws * LOOKS[-1] * num,
        most=most,
        context=context,
    )
    yield _coverage(
        ended, differs, f"{generator.name}, {compared} compared, half differ{text}", images
    )


def _ended(
    generator: LogitGenerator,
    name: str,
    errors: Sequence[float],
    *,
    images: int,
    draws: int,
    margin: float | None = None,
    looks: Sequence[int] = LOOKS,
) -> Looked:
    parts = [
        looked_at(wrong, looks, margin)
        for wrong in generator.parts(name, errors, (draws, LOOKS[-1], images))
    ]
    fields = {
        field: np.concatenate([getattr(part, field) for part in parts]) for field in vars(parts[0])
    }
    return Looked(**fields)


def _coverage(
    ended: Looked,
    true: Float[np.ndarray, " arms"],
    case: str,
    images: int,
    *,
    is_wild: bool = False,
) -> Figure:
    covers = np.abs(ended.mean - true) <= ended.half_width
    worst = int(covers.mean(axis=0).argmin())
    context = {"mean of all arms": covers.mean(), "number of that arm": worst + 1}
    least = LEAST_WILD if is_wild else LEAST
    return Figure(
        COVERED, case, LOOKS[-1], images, *counted(covers[:, worst]), least, context=context
    )


def _spread(generator: LogitGenerator, images: int) -> tuple[float, float]:
    """Return the standard deviation of a seed, and the images' share of a difference's variance."""
    errors = [generator.error] * 2
    wrong = next(generator.parts("spread", errors, (1, 400, images)))
    way = two_way(minus_first(wrong[:, :, : LOOKS[-1]]))
    seeds = wrong.mean(axis=-1).var(axis=-1, ddof=1).mean()
    of_images = np.maximum(way.over_images - way.residual, 0.0).mean()
    return float(np.sqrt(seeds)), float(of_images / (way.standard_error**2).mean())


def jobs(draws: int) -> Iterator[Job]:
    """Yield the rates of this part; most take `draws` tables."""
    for images, compared, generator in product((*IMAGES, MANY), COMPARED, OF_NULL):
        if images < MANY or generator in OF_MANY_IMAGES:
            num = draws if images < MANY else draws // 2
            yield partial(under_null, generator, images, num, compared)
    for images, compared, generator, margin in product(IMAGES, COMPARED, OF_NULL, (0.01, 0.02)):
        num = draws if images == IMAGES[0] else draws // 2
        yield partial(at_margin, generator, images, num, compared, margin)
    for images, compared, generator, in_margin in product(
        IMAGES, COMPARED[1:], OF_TRAININGS, (0.0, 1.5, 2.0)
    ):
        yield partial(trainings, generator, images, draws // 4, compared, in_margin)
