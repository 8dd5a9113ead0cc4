"""Whether verdicts over several data sets hold: of the cells, overall, and of data sets like these.

    python -m tools.acceptance.data_sets [--draws 4000] [--only null ...] [--figures FILE]

Networks err on the images of up to ten data sets of unlike levels, sizes and spreads, by the law of
`logit_networks.py`; the product's functions judge them, with tables as an axis. Each data set is
drawn once for each case, and tables of 2, 4 and 6 data sets are parts of those of 10. A rate fails
where its count excludes what is asked: one-sided, exact, .01 over all rates together.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from zlib import crc32

import numpy as np
from jaxtyping import Bool, Float
from scipy.interpolate import CubicSpline

from sweeps.aggregation.statistics.across_data_sets import (
    FEWEST_LIKE_THESE,
    Levels,
    OverallDifference,
    as_log_ratio,
    averaged,
    like_these,
    overall,
    overall_beyond_margin,
    rank_test,
    with_rare_images,
)
from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm_rows
from sweeps.aggregation.statistics.looks import SHARE_ALONE
from sweeps.aggregation.statistics.shared_seeds import (
    own_variances,
    share_seeds,
    vary_more_on_all,
    weights_of_variance,
)
from sweeps.aggregation.statistics.two_way import TwoWay, two_way
from tools.acceptance import data_set_looks
from tools.acceptance.figures import Figure, counted
from tools.acceptance.judged_tables import minus_first
from tools.acceptance.logit_networks import Law, LogitGenerator, place_of

_AT_ONCE = 400_000
_MOST_LOGIT = 60.0
_KNOTS, _MOST_SPREADS = 5, 4.0
_SURE = 0.01  # over all rates together
_MOST_WILD = 0.15  # of an arm that varies 25 times as much as the others
_MOST_UNLIKE = 0.35  # what seeds do where one arm varies 5 times as much as another
COMPARED, SEEDS = 5, (3, 5)
SPREAD, BETTER, CORRELATION = 0.15, 0.7, 0.5
CELLS = "any cell bold where no arm differs, at most .055 (.079 with one wild arm)"
OVERALL = "any overall difference bold in {}, none true, at most .055 (one alone .06, wild .079)"
LIKE_THESE = "any bold for data sets like these, none true on average, at most .055 (one alone .06)"
COVERED = "coverage of the overall difference in {} of the arm where it is least, .94 to .99"
RANKS = "any average rank different from the baseline's, no arm better, at most .055"
EQUIVALENT = (
    "any overall equivalent of arms that differ by the margin on each data set, at most .05"
)
POWER = "an arm that errs 30 % less is found, reported"
MOST, MOST_ALONE, MOST_WILD, MOST_EQUIVALENT = 0.055, 0.06, 0.079, 0.05
LEAST, LEAST_WILD, LARGEST = 0.94, 0.899, 0.99


@dataclass(frozen=True)
class Column:
    """A data set.

    Attributes:
        generator: How networks err on it.
        images: Of its test split.
    """

    generator: LogitGenerator
    images: int


def _column(
    error: float,
    images: int,
    hardness: tuple[float, float],
    spreads: tuple[float, float],
    law: Law = "normal",
) -> Column:
    name = f"{100 * error:g} %, {images:,} images, {law} seeds"
    return Column(LogitGenerator(name, error, hardness, *spreads, law), images)


COLUMNS = (
    _column(0.01, 2_000, (0.06, 3.0), (1.0, 0.35)),
    _column(0.40, 1_000, (0.8, 1.2), (0.5, 0.25)),
    _column(0.05, 10_000, (0.3, 4.0), (0.5, 0.25)),
    _column(0.20, 500, (1.0, 4.0), (0.3, 0.4), "t3"),
    _column(0.02, 500, (0.15, 4.0), (0.5, 0.3)),
    _column(0.10, 1_000, (1.0, 6.0), (0.1, 0.6)),
    _column(0.05, 2_000, (0.3, 4.0), (0.6, 0.35), "lognormal"),
    _column(0.30, 1_000, (0.8, 1.8), (0.5, 0.15)),
    _column(0.01, 500, (0.06, 4.0), (0.8, 0.4)),
    _column(0.15, 2_000, (0.5, 2.5), (0.8, 0.2)),
)
KINDS: dict[str, Sequence[int]] = {
    **{f"{num} data sets": range(num) for num in (2, 4, 6, 10)},
    "2 data sets of few errors": (8, 4),
}
"""Places of the data sets of each kind of table."""
SPREADS = {
    "alike": (1.0,),
    "unlike": (1.0, 5**0.5, 1.0, 0.3**0.5, 3**0.5, 1.0),
    "one wild": (1.0, 5.0),
}


@dataclass(frozen=True)
class Case:
    """What is drawn.

    Attributes:
        name: In words.
        scales: Multiplier of what seeds do, for each arm, the baseline first.
        change: Logarithm of the compared arms' errors over the baseline's.
        spread: Standard deviation of that between data sets, normal.
        points: What is added to the compared arms' errors, a fraction.
        correlation: Of what a seed does, between data sets.
        stream: Of chance.
    """

    name: str
    scales: tuple[float, ...] = (1.0,)
    change: float = 0.0
    spread: float = 0.0
    points: float = 0.0
    correlation: float = 0.0
    stream: int = 0

    @property
    def is_wild(self) -> bool:
        """Whether one arm varies far more than the others."""
        return self.scales == SPREADS["one wild"]


@dataclass(frozen=True)
class Drawn:
    """Many tables of one data set.

    Attributes:
        alone: Of each table and compared arm, by its own seeds.
        errors: Mean error of each arm by seed, the baseline first.
        images: Of the data set.
        true: Differences of errors over all seeds and images.
        true_log: Logarithms of the ratios of these errors.
    """

    alone: TwoWay
    errors: Float[np.ndarray, "draws arms seeds"]
    images: int
    true: Float[np.ndarray, "draws compared"]
    true_log: Float[np.ndarray, "draws compared"]
    is_apart: Bool[np.ndarray, "draws compared"] | None = None

    def only(self, compared: int) -> "Drawn":
        """Return the tables of the first arms alone."""
        parts = {
            name: value[:, :compared]
            for name, value in vars(self.alone).items()
            if isinstance(value, np.ndarray)
        }
        return replace(
            self,
            alone=replace(self.alone, **parts),
            errors=self.errors[:, : compared + 1],
            true=self.true[:, :compared],
            true_log=self.true_log[:, :compared],
        )

    @cached_property
    def way(self) -> TwoWay:
        """Their variances over seeds shared."""
        own = own_variances(self.errors)
        way = share_seeds(self.alone, own[:, 1:], own[:, 0])
        if way.shared is None or self.is_apart is None:
            return way
        is_apart = way.shared.is_apart | self.is_apart
        return replace(way, shared=replace(way.shared, is_apart=is_apart))

    @cached_property
    def weights(self) -> Float[np.ndarray, "draws compared"]:
        own = own_variances(self.errors)
        return weights_of_variance(own[:, 1:], own[:, 0])

    @cached_property
    def levels(self) -> Levels:
        of_mean = self.errors.var(axis=-1, ddof=1) / self.errors.shape[-1]
        baseline = self.errors[:, :1].mean(axis=-1)
        return Levels(baseline, of_mean[:, :1], of_mean[:, 1:], self.images)

    @cached_property
    def log_way(self) -> TwoWay:
        return as_log_ratio(self.way, self.levels)


def drawn(column: Column, case: Case, place: int, seeds: int, draws: int) -> Drawn:
    """Return many tables of a data set.

    Args:
        column: The data set.
        case: How its arms err.
        place: Of the data set.
        seeds: Of each arm.
        draws: Tables.
    """
    generator = column.generator
    if case.is_wild:  # as in `unlike_arms.py`
        generator = replace(generator, seed=min(generator.seed / 2, _MOST_WILD), law="normal")
    if case.scales == SPREADS["unlike"]:
        generator = replace(generator, seed=min(generator.seed, _MOST_UNLIKE))
    if case.correlation:
        generator = replace(generator, law="normal")
    generator = replace(generator, scales=case.scales)
    stream = [case.stream, seeds, crc32(case.name.encode())]
    chance, common = np.random.default_rng([place, *stream]), np.random.default_rng(stream)
    common_to_all = common.standard_normal((draws, COMPARED + 1, seeds, 1))
    at_once = max(1, _AT_ONCE // ((COMPARED + 1) * seeds * column.images))
    parts: list[Drawn] = []
    for start in range(0, draws, at_once):
        num = min(at_once, draws - start)
        alike = common_to_all[start : start + num]
        places, true, true_log = _errors(chance, generator, case, num)
        of_images, of_seeds = generator.effects(chance, COMPARED + 1, (num, seeds, column.images))
        scale = np.array([generator.seed * generator.scale(arm) for arm in range(COMPARED + 1)])
        of_seeds = (
            case.correlation**0.5 * scale[:, None, None] * alike
            + (1 - case.correlation) ** 0.5 * of_seeds
        )
        logits = (places[..., None, None] + of_seeds).astype(np.float32) + of_images
        chances = chance.random(logits.shape, dtype=np.float32)
        wrong = chances * (1 + np.exp(np.minimum(-logits, _MOST_LOGIT))) < 1
        parts.append(
            Drawn(two_way(minus_first(wrong)), wrong.mean(axis=-1), column.images, true, true_log)
        )
    return _together(parts)


def _errors(
    chance: np.random.Generator, generator: LogitGenerator, case: Case, num: int
) -> tuple[Float[np.ndarray, "draws arms"], ...]:
    """Return the places of arms, and their true differences and log ratios."""
    logs = case.change + case.spread * chance.standard_normal((num, COMPARED))
    of_baseline = place_of(generator, generator.error, generator.scale(0))
    places = np.full((num, COMPARED + 1), of_baseline)
    errors = generator.error * np.exp(logs) + case.points
    for arm in range(1, COMPARED + 1):
        places[:, arm] = _places(generator, case, generator.scale(arm))(np.log(errors[:, arm - 1]))
    return places, errors - generator.error, np.log(errors / generator.error)


def _places(
    generator: LogitGenerator, case: Case, scale: float
) -> Callable[[Float[np.ndarray, " draws"]], Float[np.ndarray, " draws"]]:
    """Return what gives the place of an arm by the logarithm of its error."""
    middle = float(np.log(generator.error * np.exp(case.change) + case.points))
    if not case.spread:
        place = place_of(generator, float(np.exp(middle)), scale)
        return lambda logs: np.full_like(logs, place)
    at = middle + case.spread * np.linspace(-_MOST_SPREADS, _MOST_SPREADS, _KNOTS)
    return CubicSpline(at, [place_of(generator, float(np.exp(log)), scale) for log in at])


def _together(parts: Sequence[Drawn]) -> Drawn:
    first = parts[0]
    names = [name for name, value in vars(first.alone).items() if isinstance(value, np.ndarray)]
    alone = {name: np.concatenate([getattr(part.alone, name) for part in parts]) for name in names}
    return Drawn(
        replace(first.alone, **alone),
        np.concatenate([part.errors for part in parts]),
        first.images,
        np.concatenate([part.true for part in parts]),
        np.concatenate([part.true_log for part in parts]),
    )


@dataclass(frozen=True)
class Together:
    """Many tables of several data sets."""

    columns: tuple[Drawn, ...]
    shares_seeds: bool

    @classmethod
    def of(cls, columns: Sequence[Drawn], *, shares_seeds: bool) -> "Together":
        """Return tables in which arms are apart that vary more by all data sets together."""
        is_apart = vary_more_on_all(np.stack([column.weights for column in columns]))
        return cls(tuple(replace(each, is_apart=is_apart) for each in columns), shares_seeds)

    @property
    def cells_are_bold(self) -> Bool[np.ndarray, "draws cells"]:
        """By Holm over arms and data sets together."""
        p_values = np.concatenate([column.way.p_value for column in self.columns], axis=1)
        return _bold(p_values, is_alone=p_values.shape[1] == len(self.columns))

    @cached_property
    def points(self) -> OverallDifference:
        if self.shares_seeds:
            return overall([self._averaged([np.ones((1, 1))] * len(self.columns), is_log=False)])
        return overall([column.way for column in self.columns])

    @cached_property
    def percent(self) -> OverallDifference:
        if not self.shares_seeds:
            return overall([column.log_way for column in self.columns])
        scales = [column.levels.per_error(column.way.mean) for column in self.columns]
        return overall([self._averaged(scales, is_log=True)])

    def _averaged(self, scales: Sequence[Float[np.ndarray, "..."]], *, is_log: bool) -> TwoWay:
        by_seed, own_by_seed, errors = 0.0, 0.0, 0.0
        for column, scale in zip(self.columns, scales, strict=True):
            of_arms = column.errors
            by_seed = by_seed + scale[..., None] * (of_arms[:, 1:] - of_arms[:, :1])
            mean = of_arms.mean(axis=-1, keepdims=True) + 1 / (2 * column.images)
            relative = of_arms / mean
            own_by_seed = own_by_seed + relative[:, 1:] - relative[:, :1]
            errors = errors + (relative if is_log else of_arms)
        num, seeds = len(self.columns), self.columns[0].errors.shape[-1]
        over_seeds = (np.asarray(by_seed) / num).var(axis=-1, ddof=1) / seeds
        if is_log:
            own_seeds = (np.asarray(own_by_seed) / num).var(axis=-1, ddof=1) / seeds
            over_seeds = np.where(over_seeds > 0, np.maximum(over_seeds, own_seeds), 0.0)
        own = own_variances(np.asarray(errors) / num)
        ways = [column.log_way if is_log else column.way for column in self.columns]
        return share_seeds(averaged(ways, over_seeds, seeds), own[:, 1:], own[:, 0])

    @cached_property
    def like_these(self) -> OverallDifference:
        return like_these(np.stack([column.log_way.mean for column in self.columns], axis=-1))

    def is_equivalent(self, margin: float) -> Bool[np.ndarray, "draws compared"]:
        ways = overall([with_rare_images(column.way) for column in self.columns])
        p_value = overall_beyond_margin(ways, margin)
        is_within = (p_value < SIGNIFICANCE / 2) & (holm_rows(p_value) < SIGNIFICANCE)
        return is_within & ~_bold(self.points.p_value)

    @property
    def ranks_differ(self) -> Bool[np.ndarray, "draws compared"]:
        errors = np.stack([column.errors.mean(axis=-1) for column in self.columns], axis=-2)
        return rank_test(errors).adjusted_p < SIGNIFICANCE


def _bold(
    p_values: Float[np.ndarray, "draws comparisons"], *, is_alone: bool = False
) -> Bool[np.ndarray, "draws _"]:
    return holm_rows(p_values) < SIGNIFICANCE * (SHARE_ALONE if is_alone else 1)


def _any(happened: Bool[np.ndarray, "draws _"]) -> tuple[int, int]:
    return counted(np.asarray(happened.any(axis=1)))


def tables_of(
    case: Case, seeds: int, draws: int, kinds: Collection[str] = tuple(KINDS)
) -> Iterator[tuple[str, Together, tuple[str, int, int]]]:
    """Yield tables of some kinds, with what they are called in a figure."""
    needed = sorted({place for kind in kinds for place in KINDS[kind]})
    every = {place: drawn(COLUMNS[place], case, place, seeds, draws) for place in needed}
    for compared in (1, COMPARED):
        some = {place: column.only(compared) for place, column in every.items()}
        for kind in kinds:
            columns = tuple(some[place] for place in KINDS[kind])
            images = sum(column.images for column in columns)
            together = Together.of(columns, shares_seeds=case.correlation > 0)
            yield kind, together, (f"{case.name}, {kind}, {compared} compared", seeds, images)


def under_null(
    case: Case,
    seeds: int,
    draws: int,
    kinds: Collection[str] = tuple(KINDS),
    *,
    covers: bool = True,
) -> Iterator[Figure]:
    """Count what is bold where no arm differs, and what intervals cover."""
    for _, tables, of in tables_of(case, seeds, draws, kinds):
        num, is_alone = len(tables.columns), tables.columns[0].true.shape[1] == 1
        alone = MOST_WILD if case.is_wild else MOST_ALONE if is_alone else MOST
        yield Figure(
            CELLS,
            *of,
            *_any(tables.cells_are_bold),
            most=MOST_WILD if case.is_wild else MOST,
        )
        context: dict[str, float] = {}
        if case.correlation:
            naive = replace(tables, shares_seeds=False)
            context = {
                "as if seeds were others": float(
                    _bold(naive.points.p_value, is_alone=is_alone).any(1).mean()
                )
            }
        for scale, difference in (("points", tables.points), ("percent", tables.percent)):
            bold = _any(_bold(difference.p_value, is_alone=is_alone))
            yield Figure(OVERALL.format(scale), *of, *bold, most=alone, context=context)
        if num >= FEWEST_LIKE_THESE:
            bold = _any(_bold(tables.like_these.p_value))
            yield Figure(LIKE_THESE, *of, *bold, most=1.0 if case.correlation else alone)
        if not is_alone:
            most = 1.0 if case.correlation else MOST  # the product refuses both with equal seeds
            yield Figure(RANKS, *of, *_any(tables.ranks_differ), most=most)
        if covers:
            yield from coverage(case, tables, of)


def coverage(case: Case, tables: Together, of: tuple[str, int, int]) -> Iterator[Figure]:
    """Count what overall intervals cover of the arm where they cover least."""
    true = np.mean([column.true for column in tables.columns], axis=0)
    true_log = np.mean([column.true_log for column in tables.columns], axis=0)
    both = (("points", tables.points, true), ("percent", tables.percent, true_log))
    for scale, difference, truth in both:
        covers = np.abs(difference.mean - truth) <= difference.half_width()
        worst = counted(covers[:, covers.mean(axis=0).argmin()])
        context = {"mean of all arms": float(covers.mean())}
        least = LEAST_WILD if case.is_wild else LEAST
        yield Figure(COVERED.format(scale), *of, *worst, least, LARGEST, context=context)


def unlike_data_sets(
    case: Case, seeds: int, draws: int, kinds: Collection[str] = tuple(KINDS)
) -> Iterator[Figure]:
    """Count what is bold for data sets like these where arms differ on each, but not on average."""
    for _, tables, of in tables_of(case, seeds, draws, kinds):
        if len(tables.columns) >= FEWEST_LIKE_THESE:
            is_alone = tables.columns[0].true.shape[1] == 1
            bold = _any(_bold(tables.like_these.p_value))
            yield Figure(LIKE_THESE, *of, *bold, most=MOST_ALONE if is_alone else MOST)
        yield from coverage(case, tables, of)


def power(
    case: Case, seeds: int, draws: int, kinds: Collection[str] = tuple(KINDS)
) -> Iterator[Figure]:
    """Count how often each kind of verdict finds arms that are better."""
    for _, tables, of in tables_of(case, seeds, draws, kinds):
        is_alone = tables.columns[0].true.shape[1] == 1
        points = _bold(tables.points.p_value, is_alone=is_alone)
        context = {
            "overall, percent": _bold(tables.percent.p_value, is_alone=is_alone).mean(),
            "mean of cells": tables.cells_are_bold.mean(),
            "ranks": 0.0 if is_alone else tables.ranks_differ.mean(),
        }
        if len(tables.columns) >= FEWEST_LIKE_THESE:
            context["data sets like these"] = _bold(tables.like_these.p_value).mean()
        yield Figure(POWER, *of, *counted(points), context=context)
        yield from coverage(case, tables, of)


def at_margin(
    case: Case, seeds: int, draws: int, kinds: Collection[str] = tuple(KINDS)
) -> Iterator[Figure]:
    """Count tables in which any arm is equivalent overall that differs by the margin everywhere."""
    for _, tables, of in tables_of(case, seeds, draws, kinds):
        equivalent = _any(tables.is_equivalent(case.points))
        yield Figure(EQUIVALENT, *of, *equivalent, most=MOST_EQUIVALENT)
        yield from coverage(case, tables, of)


Part = tuple[Callable[..., Iterator[Figure]], tuple[Case, ...]]
PARTS: dict[str, Part] = {
    "null": (under_null, tuple(Case(name, scales) for name, scales in SPREADS.items())),
    "equal-seeds": (
        under_null,
        tuple(
            Case(f"{name}, equal seeds", SPREADS[name], correlation=CORRELATION)
            for name in ("alike", "unlike")
        ),
    ),
    "unlike": (
        unlike_data_sets,
        tuple(
            Case(f"{name}, 15 % between data sets", SPREADS[name], spread=SPREAD)
            for name in ("alike", "unlike")
        ),
    ),
    "power": (
        power,
        (
            Case("30 % less", SPREADS["unlike"], float(np.log(BETTER)), SPREAD),
            Case(
                "30 % less, equal seeds",
                SPREADS["unlike"],
                float(np.log(BETTER)),
                SPREAD,
                correlation=CORRELATION,
            ),
        ),
    ),
    "margin": (
        at_margin,
        tuple(Case(f"{100 * by:g} points more", points=by) for by in (0.01, 0.02)),
    ),
}


def is_excluded(figure: Figure, level: float) -> bool:
    """Return whether a count excludes what is asked, at a one-sided level."""
    from scipy.special import bdtr, bdtrc

    above = figure.count and bdtrc(figure.count - 1, figure.draws, figure.most) < level
    below = figure.least and bdtr(figure.count, figure.draws, figure.least) < level
    return bool(above or below)


AGAIN, NEAR = 20_000, 0.005


def counted_twice(part: Part, case: Case, seeds: int, draws: int) -> list[Figure]:
    """Return the rates of a case; those near what is asked are counted in 20,000 other tables."""
    count = part[0]
    figures = [*count(case, seeds, draws)]
    if count is not under_null:
        return figures

    def is_near(figure: Figure) -> bool:
        return figure.most in {MOST, MOST_ALONE} and figure.rate > figure.most - NEAR

    names = [figure.case for figure in figures if is_near(figure)]
    kinds = [kind for kind in KINDS if any(f", {kind}, " in name for name in names)]
    if draws >= AGAIN or not kinds:
        return figures
    again = under_null(replace(case, stream=1), seeds, AGAIN, kinds, covers=False)
    second = {(figure.criterion, figure.case): figure for figure in again}
    return [
        second[figure.criterion, figure.case] if is_near(figure) else figure for figure in figures
    ]


def jobs(names: Collection[str], draws: int) -> Iterator[tuple[str, Callable[[], list[Figure]]]]:
    """Yield what counts some rates, with its name."""
    for name in names:
        if name == LOOKS_PART:
            for case, effects, margin in data_set_looks.cases():
                rates = partial(data_set_looks.rates, case, effects, draws // 4, margin)
                yield f"{case}, {len(effects)} data sets", lambda rates=rates: [*rates()]
            continue
        for case in PARTS[name][1]:
            for seeds in SEEDS:
                count = partial(counted_twice, PARTS[name], case, seeds, draws)
                yield f"{case.name}, {seeds} seeds", count


LOOKS_PART = "looks"


def main() -> int:
    """Count what the command line asks for, and print a table for each criterion."""
    names = [*PARTS, LOOKS_PART]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=4_000, help="tables a rate")
    parser.add_argument("--only", nargs="+", choices=names, help="these parts")
    parser.add_argument("--figures", type=Path, help="gets a line of JSON a rate")
    options = parser.parse_args()
    start, everything = time.perf_counter(), list[Figure]()
    for name, count in jobs(options.only or names, options.draws):
        everything += count()
        print(f"{time.perf_counter() - start:6.0f} s {name}", file=sys.stderr, flush=True)
        if options.figures:
            lines = (json.dumps(figure.as_record()) + "\n" for figure in everything)
            options.figures.write_text("".join(lines), encoding="utf-8")
    return int(printed(everything))


def printed(everything: Sequence[Figure]) -> bool:
    """Print a table for each criterion, and return whether any rate excludes what is asked."""
    level = _SURE / len(everything)
    by_criterion = dict[str, list[Figure]]()
    for figure in everything:
        by_criterion.setdefault(figure.criterion, []).append(figure)
    for criterion, figures in by_criterion.items():
        print(f"\n**{criterion}**\n")
        print("| networks | seeds | images | rate | 95 % | within | beside | excluded |")
        print("| :--- | ---: | ---: | ---: | ---: | :--- | :--- | :--- |")
        for figure in figures:
            print(figure.as_line(), "**yes**" if is_excluded(figure, level) else "no", "|")
    return any(is_excluded(figure, level) for figure in everything)


if __name__ == "__main__":
    sys.exit(main())
