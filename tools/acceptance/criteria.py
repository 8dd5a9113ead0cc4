"""What the statistics of tables have to hold, one function a criterion, counted in drawn tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import stdtrit

from sweeps.aggregation.results.comparisons import MOST_WITH_ADDED
from sweeps.aggregation.results.mean_errors import half_of_mean
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.two_way import two_way
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import (
    JudgedTables,
    judged_tables,
    log_e_rows,
    minus_first,
    shared_way,
)
from tools.acceptance.logit_networks import LogitGenerator
from tools.acceptance.networks import Generator

AnyGenerator = Generator | LogitGenerator

COMPARED = 6
PRINTED = 200
POWER_AT = "power at the reach that tables of equal arms print, .74 to .98"
GUESSES_WRONG = 0.9  # of ten classes
MOST_PRINTED = 0.5
MEAN = "coverage of the population's error by the ± of one arm's mean, at least .94"
COVERAGE = "coverage of the population's difference, of the arm where it is least, .94 to .99"
OFF_NULL = "coverage where the arm differs, reported"
NULL = "any bold where all arms are as the baseline, at most .055"
SIDE_BY_SIDE = "power by shared variances over seeds, reported"


@dataclass(frozen=True)
class Limits:
    """What tables without a difference have to hold.

    Attributes:
        least: Coverage of the difference of every arm.
        most: Tables with anything bold.
    """

    least: float = 0.94
    most: float = 0.055


USUAL = Limits()


def under_null(
    generator: AnyGenerator,
    seeds: int,
    images: int,
    draws: int,
    compared: int = COMPARED,
    *,
    limits: Limits = USUAL,
) -> Iterator[Figure]:
    """Count intervals that cover 0, and tables with anything bold, where no arm differs.

    Coverage is that of the arm whose intervals cover least often.
    """
    names = ("coverage", "by own seeds", "seeds alone", "bold", "bold by own seeds", "old rule")
    by_name = {name: list[Bool[np.ndarray, "draws arms"]]() for name in names}
    errors = [generator.error] * (compared + 1)
    for wrong in generator.parts(f"null {seeds}", errors, (draws, seeds, images)):
        tables = judged_tables(wrong, generator.objects(images))
        own = tables.by_own_seeds
        size = np.abs(tables.way.mean)
        counts = (
            size <= tables.way.half_width(),
            size <= own.way.half_width(),
            size <= tables.half_width_of_seeds,
            tables.is_bold,
            own.is_bold,
            tables.was_bold,
        )
        for name, each in zip(names, counts, strict=True):
            by_name[name].append(each)
    every = {name: np.concatenate(parts) for name, parts in by_name.items()}
    case = f"{generator.name}, {compared} compared"
    if seeds > 2:
        worst = int(every["coverage"].mean(axis=0).argmin())
        context = {name: every[name].mean(axis=0).min() for name in names[1:3]}
        context["mean of all arms"] = every["coverage"].mean()
        covered = counted(np.asarray(every["coverage"][:, worst]))
        yield Figure(COVERAGE, case, seeds, images, *covered, limits.least, 0.99, context=context)
    context = {name: every[name].any(axis=1).mean() for name in names[4:]}
    any_bold = counted(np.asarray(every["bold"].any(axis=1)))
    yield Figure(NULL, case, seeds, images, *any_bold, most=limits.most, context=context)


def means(generator: AnyGenerator, seeds: int, images: int, draws: int) -> Iterator[Figure]:
    """Count ± of the mean error of one arm that cover its error over all seeds and images."""
    objects = generator.objects(images)
    covers, alone = list[Bool[np.ndarray, " draws"]](), list[Bool[np.ndarray, " draws"]]()
    halves = list[Float[np.ndarray, " draws"]]()
    for wrong in generator.parts(f"mean {seeds}", [generator.error], (draws, seeds, images)):
        way = two_way(wrong[:, 0].astype(float), objects)
        half = half_of_mean(way, objects)
        off = np.abs(way.mean - generator.error)
        covers.append(off <= half)
        alone.append(off <= stdtrit(seeds - 1, 0.975) * np.sqrt(way.over_seeds))
        halves.append(half)
    context = {
        "t interval over seeds": np.concatenate(alone).mean(),
        "median ±, points": 100 * float(np.median(np.concatenate(halves))),
    }
    yield Figure(MEAN, generator.name, seeds, images, *_counted(covers), 0.94, context=context)


def off_null(generator: AnyGenerator, seeds: int, images: int, draws: int) -> Iterator[Figure]:
    """Count intervals that cover differences other than 0."""
    factors = (0.5, 1.5)
    errors = [generator.error, *(generator.error * factor for factor in factors)]
    covers: list[list[Bool[np.ndarray, " draws"]]] = [[] for _ in factors]
    for wrong in generator.parts(f"off null {seeds}", errors, (draws, seeds, images)):
        tables = judged_tables(wrong, generator.objects(images))
        for place, covered in enumerate(covers):
            covered.append(_covers(tables, place, errors[place + 1] - errors[0]))
    for factor, covered in zip(factors, covers, strict=True):
        case = f"{generator.name}, {factor:g} times the errors"
        yield Figure(OFF_NULL, case, seeds, images, *_counted(covered))


def power(
    generator: AnyGenerator,
    seeds: int,
    images: int,
    draws: int,
    compared: int = COMPARED,
    *,
    num_printed: int = PRINTED,
) -> Iterator[Figure]:
    """Count bold where one arm differs by what tables of equal arms print as the reach.

    A reader of "undecided" has such a table. What tables print is not the same in each: of what
    they print for that arm the median is taken.
    """
    equal = [generator.error] * (compared + 1)
    shape = (num_printed, seeds, images)
    printed = [
        _printed(reach.more.middle if reach else np.inf)
        for wrong in generator.parts(f"printed {seeds} {compared}", equal, shape)
        for tables in [judged_tables(wrong, generator.objects(images))]
        for draw in range(len(wrong))
        for reach in [tables.reaches(draw)[-1]]
    ]
    true = float(np.median(printed))
    if not true < MOST_PRINTED:
        return
    errors = [generator.error, *equal[2:], generator.error + true]
    bold = [
        judged_tables(wrong, generator.objects(images)).is_bold[:, -1]
        for wrong in generator.parts(f"power {seeds} {compared}", errors, (draws, seeds, images))
    ]
    low, high = np.quantile(printed, (0.1, 0.9))
    context = {"points": 100 * true, "a tenth print less than": 100 * low, "more than": 100 * high}
    case = f"{generator.name}, {compared} compared"
    yield Figure(POWER_AT, case, seeds, images, *_counted(bold), 0.74, 0.98, context=context)


def side_by_side(
    generator: AnyGenerator, images: int, draws: int, compared: int = 5
) -> Iterator[Figure]:
    """Count bold with 3, 5 and 10 seeds where one arm differs by what five seeds find by halves.

    By halves: where every comparison stands alone.
    """
    equal = [generator.error] * (compared + 1)
    (five, *_) = generator.parts("halves", equal, (PRINTED, 5, images))
    alone = judged_tables(five, generator.objects(images)).by_own_seeds
    effect = float(np.median(alone.way.half_width(1 - SIGNIFICANCE / compared)))
    errors = [*equal[1:], min(generator.error + effect, 0.9)]
    for seeds in (3, 5, 10):
        bold, own = list[Bool[np.ndarray, " draws"]](), list[Bool[np.ndarray, " draws"]]()
        for wrong in generator.parts(f"side by side {seeds}", errors, (draws, seeds, images)):
            tables = judged_tables(wrong, generator.objects(images))
            bold.append(tables.is_bold[:, -1])
            own.append(tables.by_own_seeds.is_bold[:, -1])
        context = {"by own seeds": np.concatenate(own).mean(), "points": 100 * effect}
        case = f"{generator.name}, {compared} compared"
        yield Figure(SIDE_BY_SIDE, case, seeds, images, *_counted(bold), context=context)


def _printed(reach: float) -> float:
    """Return the value that `detectable_text` prints: tenths of a point, rounded up."""
    return np.ceil(1000 * reach - 1e-9) / 1000 if np.isfinite(reach) else np.inf


def equivalence(
    generator: AnyGenerator, seeds: int, images: int, draws: int, margin: float
) -> Iterator[Figure]:
    """Count arms called equivalent that differ by exactly the margin, and such that are equal."""
    base = generator.error
    errors = [base, base + margin, base, *([base - margin] if base > 1.2 * margin else [])]
    equivalent: list[list[Bool[np.ndarray, " draws"]]] = [[] for _ in errors[1:]]
    for wrong in generator.parts(f"equal {seeds} {margin}", errors, (draws, seeds, images)):
        tables = judged_tables(wrong, generator.objects(images))
        for place, called in enumerate(equivalent):
            called.append(tables.is_equivalent(margin)[:, place])
    context = {"where equal": np.concatenate(equivalent[1]).mean()}
    criterion = '"equivalent" at a true difference of the margin, at most .05'
    for place, sign in ((0, "+"), (2, "-")):
        if place < len(equivalent):
            case = f"{generator.name}, {sign}{100 * margin:g} points"
            yield Figure(
                criterion,
                case,
                seeds,
                images,
                *_counted(equivalent[place]),
                most=0.05,
                context=context,
            )


def equivalence_together(
    generator: AnyGenerator, seeds: int, images: int, draws: int, margin: float, most: float = 0.05
) -> Iterator[Figure]:
    """Count tables that call any arm equivalent where all differ by exactly the margin."""
    errors = [generator.error, *[generator.error + margin] * 5]
    called = [
        np.asarray(
            judged_tables(wrong, generator.objects(images)).is_equivalent(margin).any(axis=1)
        )
        for wrong in generator.parts(f"together {seeds} {margin}", errors, (draws, seeds, images))
    ]
    criterion = '"equivalent" of any of five arms that all differ by the margin, at most .05'
    case = f"{generator.name}, {100 * margin:g} points"
    yield Figure(criterion, case, seeds, images, *_counted(called), most=most)


def divergence(
    generator: AnyGenerator, base: float, factor: float, images: int, draws: int
) -> Iterator[Figure]:
    """Count bold-better of an arm that diverges twice of five, alone in its table."""
    seeds, finished = 5, 3
    better, old = list[Bool[np.ndarray, " draws"]](), list[Bool[np.ndarray, " draws"]]()
    case = f"diverged {base} {factor}"
    for wrong in generator.parts(case, [base, base * factor], (draws, seeds, images)):
        tables = diverged_tables(wrong, finished)
        better.append((tables.is_bold & (tables.way.mean < 0))[:, 0])
        old.append((tables.was_bold & (tables.way.mean < 0))[:, 0])
    label = f"{generator.name}, baseline {100 * base:g} %, finished {100 * base * factor:g} %"
    criterion = "bold-better of an arm that diverges twice of five, never"
    context = {"old rule": np.concatenate(old).mean()}
    yield Figure(criterion, label, seeds, images, *_counted(better), most=0.0, context=context)


def diverged_tables(
    wrong: Bool[np.ndarray, "draws arms seeds images"], finished: int
) -> JudgedTables:
    """Return tables whose arms other than the baseline diverged on all but the first seeds."""
    differences = minus_first(wrong)
    finished_ones = wrong[:, :, :finished]
    way = shared_way(two_way(differences[..., :finished, :]), finished_ones)
    guesses = GUESSES_WRONG - wrong[:, :1, finished:]
    guesses -= np.minimum(guesses.mean(axis=-1, keepdims=True), 0.0)
    differences[..., finished:, :] = guesses
    harsh = two_way(differences)
    agree = np.sign(harsh.mean) == np.sign(way.mean)
    p_value = np.where(agree, np.maximum(way.p_value, harsh.p_value), 1.0)
    return JudgedTables(way, p_value, finished_ones.mean(axis=-1), num_images=wrong.shape[-1])


def peeking(
    generator: AnyGenerator, looks: Sequence[int], images: int, draws: int, compared: int = COMPARED
) -> Iterator[Figure]:
    """Count tables that show anything bold at any look, where no arm differs.

    Args:
        generator: Of the networks.
        looks: Seeds at each look; the first are those planned.
        images: Of the test split.
        draws: Tables.
        compared: Arms besides the baseline.
    """
    errors = [generator.error] * (compared + 1)
    rules = ("ever", "always with evidence", "without evidence", "old rule")
    by_rule = {rule: list[Bool[np.ndarray, " draws"]]() for rule in rules}
    case = f"peeking {looks} {compared}"
    for wrong in generator.parts(case, errors, (draws, looks[-1], images)):
        ever = np.zeros((len(rules), len(wrong)), dtype=bool)
        for look in looks:
            tables = judged_tables(wrong[:, :, :look], generator.objects(images))
            by_seed = minus_first(wrong[:, :, :look]).mean(axis=-1)
            is_shown = log_e_rows(by_seed) >= np.log(compared / SIGNIFICANCE)
            guarded = tables.is_bold_at(SIGNIFICANCE / 2) & is_shown
            planned = tables.is_bold if look == looks[0] else guarded
            ever |= [
                rule.any(axis=1) for rule in (planned, guarded, tables.is_bold, tables.was_bold)
            ]
        for rule, now in zip(rules, ever, strict=True):
            by_rule[rule].append(now)
    context = {rule: np.concatenate(by_rule[rule]).mean() for rule in rules[1:]}
    criterion = f"anything bold at any of {len(looks)} looks, at most {MOST_WITH_ADDED:g}"
    label = f"{generator.name}, {compared} compared, {looks[0]} seeds planned"
    ever_bold = _counted(by_rule["ever"])
    yield Figure(
        criterion, label, looks[-1], images, *ever_bold, most=MOST_WITH_ADDED, context=context
    )


def _covers(tables: JudgedTables, arm: int, true: float) -> Bool[np.ndarray, " draws"]:
    return np.abs(tables.way.mean[:, arm] - true) <= tables.way.half_width()[:, arm]


def _counted(parts: Sequence[Bool[np.ndarray, " draws"]]) -> tuple[int, int]:
    return counted(np.concatenate(parts))
