"""What the statistics of tables have to hold, one function a criterion, counted in drawn tables."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import stdtrit

from sweeps.aggregation.results.mean_errors import half_of_mean
from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.two_way import two_way
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import JudgedTables, judged_tables, log_e_rows, minus_first
from tools.acceptance.networks import Generator

COMPARED = 6
GUESSES_WRONG = 0.9  # of ten classes
LOOKS = (3, 6, 9, 12, 15)
MOST_PRINTED = 0.5
COVERAGE = "coverage of the population's difference, .94 to .99"
MEAN = "coverage of the population's error by the ± of one arm's mean, at least .94"
OFF_NULL = "coverage where the arm differs, reported"
NULL = "any bold of six arms that are as the baseline, at most .055"


def under_null(generator: Generator, seeds: int, images: int, draws: int) -> Iterator[Figure]:
    """Count intervals that cover 0, and tables with anything bold, where no arm differs."""
    covers, alone, bold, old = (list[Bool[np.ndarray, " draws"]]() for _ in range(4))
    errors = [generator.error] * (COMPARED + 1)
    for wrong in generator.parts(f"null {seeds}", errors, (draws, seeds, images)):
        tables = judged_tables(wrong, generator.objects(images))
        covers.append(_covers(tables, 0, 0.0))
        alone.append(np.abs(tables.way.mean[:, 0]) <= tables.half_width_of_seeds[:, 0])
        bold.append(np.asarray(tables.is_bold.any(axis=1)))
        old.append(np.asarray(tables.was_bold.any(axis=1)))
    if seeds > 2:
        context = {"seeds alone": np.concatenate(alone).mean()}
        yield Figure(
            COVERAGE, generator.name, seeds, images, *_of(covers), 0.94, 0.99, context=context
        )
    context = {"old rule": np.concatenate(old).mean()}
    yield Figure(NULL, generator.name, seeds, images, *_of(bold), most=0.055, context=context)


def means(generator: Generator, seeds: int, images: int, draws: int) -> Iterator[Figure]:
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
    yield Figure(MEAN, generator.name, seeds, images, *_of(covers), 0.94, context=context)


def off_null(generator: Generator, seeds: int, images: int, draws: int) -> Iterator[Figure]:
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
        yield Figure(OFF_NULL, case, seeds, images, *_of(covered))


def power(
    generator: Generator, seeds: int, images: int, draws: int, compared: int = COMPARED
) -> Iterator[Figure]:
    """Count bold where one arm differs by what tables print as detectable at that difference.

    What they print then is not the same in each: its mean over tables is taken.
    """
    true = _printed_where_true(generator, (max(400, draws // 5), seeds, images), compared)
    if true is None:
        return
    errors = [generator.error, generator.error + true] + [generator.error] * (compared - 1)
    bold, printed = list[Bool[np.ndarray, " draws"]](), list[Float[np.ndarray, "draws arms"]]()
    case = f"power {seeds} {compared}"
    for wrong in generator.parts(case, errors, (draws, seeds, images)):
        tables = judged_tables(wrong, generator.objects(images))
        bold.append(tables.is_bold[:, 0])
        printed.append(100 * _printed(tables, compared))
    differences = np.concatenate(printed)
    context = {
        "true difference, points": 100 * true,
        "median printed": float(np.median(differences[:, 0])),
        "of the others": float(np.median(differences[:, 1:])) if compared > 1 else 0.0,
    }
    what = "power at the printed detectable difference, at least .8"
    words = f"{generator.name}, {compared} compared"
    yield Figure(what, words, seeds, images, *_of(bold), 0.8, context=context)


def _printed_where_true(
    generator: Generator, shape: tuple[int, int, int], compared: int
) -> float | None:
    """Return the true difference that tables print, on average, as the smallest they can show.

    None where that is above what they print as a number.
    """
    from scipy.optimize import brentq

    def too_small(difference: float) -> float:
        errors = [generator.error, generator.error + difference]
        case = f"printed {shape[1]} {compared}"  # the same networks for every difference
        printed = [
            _printed(judged_tables(wrong, generator.objects(shape[2])), compared)[:, 0]
            for wrong in generator.parts(case, errors, shape)
        ]
        return float(np.minimum(np.concatenate(printed), 1.0).mean()) - difference

    if too_small(MOST_PRINTED) > 0:
        return None
    root: Any = brentq(too_small, 1e-4, MOST_PRINTED, xtol=5e-4)
    return float(root)


def _printed(tables: JudgedTables, compared: int) -> Float[np.ndarray, "draws arms"]:
    """Return what `detectable_text` prints: tenths of a point, rounded up."""
    return np.ceil(1000 * tables.detectable(compared) - 1e-9) / 1000


def equivalence(
    generator: Generator, seeds: int, images: int, draws: int, margin: float
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
    what = '"equivalent" at a true difference of the margin, at most .05'
    for place, sign in ((0, "+"), (2, "-")):
        if place < len(equivalent):
            case = f"{generator.name}, {sign}{100 * margin:g} points"
            yield Figure(
                what, case, seeds, images, *_of(equivalent[place]), most=0.05, context=context
            )


def divergence(
    generator: Generator, base: float, factor: float, images: int, draws: int
) -> Iterator[Figure]:
    """Count bold-better of an arm that diverges twice of five, alone in its table."""
    seeds, finished = 5, 3
    better, old = list[Bool[np.ndarray, " draws"]](), list[Bool[np.ndarray, " draws"]]()
    case = f"diverged {base} {factor}"
    for wrong in generator.parts(case, [base, base * factor], (draws, seeds, images)):
        tables = diverged_tables(wrong, finished)
        better.append((tables.is_bold & (tables.way.mean < 0))[:, 0])
        old.append((tables.was_bold & (tables.way.mean < 0))[:, 0])
    words = f"{generator.name}, baseline {100 * base:g} %, finished {100 * base * factor:g} %"
    what = "bold-better of an arm that diverges twice of five, never"
    context = {"old rule": np.concatenate(old).mean()}
    yield Figure(what, words, seeds, images, *_of(better), most=0.0, context=context)


def diverged_tables(
    wrong: Bool[np.ndarray, "draws arms seeds images"], finished: int
) -> JudgedTables:
    """Return tables whose arms other than the baseline diverged on all but the first seeds."""
    differences = minus_first(wrong)
    way = two_way(differences[..., :finished, :])
    guesses = GUESSES_WRONG - wrong[:, :1, finished:]
    guesses -= np.minimum(guesses.mean(axis=-1, keepdims=True), 0.0)
    differences[..., finished:, :] = guesses
    harsh = two_way(differences)
    agree = np.sign(harsh.mean) == np.sign(way.mean)
    return JudgedTables(way, np.where(agree, np.maximum(way.p_value, harsh.p_value), 1.0))


def peeking(generator: Generator, images: int, draws: int) -> Iterator[Figure]:
    """Count tables that show anything bold at any look, where no arm differs."""
    errors = [generator.error] * (COMPARED + 1)
    rules = ("ever", "always with evidence", "without evidence", "old rule")
    by_rule = {rule: list[Bool[np.ndarray, " draws"]]() for rule in rules}
    for wrong in generator.parts("peeking", errors, (draws, LOOKS[-1], images)):
        ever = np.zeros((len(rules), len(wrong)), dtype=bool)
        for look in LOOKS:
            tables = judged_tables(wrong[:, :, :look], generator.objects(images))
            by_seed = minus_first(wrong[:, :, :look]).mean(axis=-1)
            is_shown = log_e_rows(by_seed) >= np.log(COMPARED / SIGNIFICANCE)
            guarded = tables.is_bold_at(SIGNIFICANCE / 2) & is_shown
            planned = tables.is_bold if look == LOOKS[0] else guarded
            ever |= [
                rule.any(axis=1) for rule in (planned, guarded, tables.is_bold, tables.was_bold)
            ]
        for rule, now in zip(rules, ever, strict=True):
            by_rule[rule].append(now)
    context = {rule: np.concatenate(by_rule[rule]).mean() for rule in rules[1:]}
    what = f"anything bold at any of {len(LOOKS)} looks ({LOOKS[0]} seeds planned), at most .055"
    yield Figure(
        what, generator.name, LOOKS[-1], images, *_of(by_rule["ever"]), most=0.055, context=context
    )


def _covers(tables: JudgedTables, arm: int, true: float) -> Bool[np.ndarray, " draws"]:
    return np.abs(tables.way.mean[:, arm] - true) <= tables.way.half_width()[:, arm]


def _of(parts: Sequence[Bool[np.ndarray, " draws"]]) -> tuple[int, int]:
    return counted(np.concatenate(parts))
