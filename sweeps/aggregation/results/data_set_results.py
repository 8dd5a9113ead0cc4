"""Arms compared with their baseline on several data sets: on each of them, and over all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

import numpy as np

from sweeps.aggregation.results.comparisons import (
    Compared,
    Comparison,
    Family,
    comparisons_together,
    evidence_needed,
)
from sweeps.aggregation.results.measured_arms import MeasuredArm
from sweeps.aggregation.results.overall_ways import ArmOnData, OverallWays, Scale, overall_ways
from sweeps.aggregation.results.planned_looks import NOT_YET
from sweeps.aggregation.statistics.across_data_sets import (
    FEWEST_DATA_SETS,
    FEWEST_LIKE_THESE,
    UNLIKE_LEVELS,
    like_these,
    rank_test,
)
from sweeps.aggregation.statistics.families import (
    SIGNIFICANCE,
    Verdict,
    holm,
    simultaneous_confidence,
)
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.looks import SHARE_ALONE
from sweeps.aggregation.statistics.shared_images import linked_places
from sweeps.aggregation.statistics.shared_seeds import (
    variances_of,
    vary_more_on_all,
    weights_of_variance,
)
from sweeps.records.plain_text import listed

UNLIKE_ARMS = "it is not the same arm on all data sets"
NOT_ASKED = "it was not asked for"
SAME_SEEDS = (
    "the data sets have seed numbers in common, so that they are no sample of such data sets"
)
_FEWEST_RANKED = 3
_MOST_NAMED = 5


@dataclass(frozen=True)
class MeasuredDataSet:
    """The arms of a sweep on one of its data sets.

    Attributes:
        name: The column's.
        arms: With the errors that they are compared by, the smaller the better, and the baseline.
        planned_seeds: Those planned before any were added; empty for all.
        slacks: Arm -> how far it may lie above its best, as `tuning_slacks` returns it.
        images_of: Names of the data sets whose images it shows; () where they are its own.
        launched_as: What all data sets of one table have in common but their arms.
        changes: Arm -> what it changes, as text; without those that are made anew on each data set.
        at_looks: The comparisons that looks have judged, as `comparisons_at_looks` returns them;
            None where no looks were planned.
    """

    name: str
    arms: tuple[MeasuredArm, ...]
    planned_seeds: Sequence[int] = ()
    slacks: Mapping[str, float] = field(default_factory=dict[str, float])
    images_of: tuple[str, ...] = ()
    launched_as: str = ""
    changes: Mapping[str, str] = field(default_factory=dict[str, str])
    at_looks: tuple[Comparison, ...] | None = None

    @property
    def baseline(self) -> MeasuredArm | None:
        """The arm that the others are compared with, if it is among them."""
        return next((arm for arm in self.arms if arm.arm.is_baseline), None)


@dataclass(frozen=True)
class DataSetColumn:
    """What arms come to on one data set. Verdicts hold for the cells of all data sets together.

    Attributes:
        name: The data set's.
        arms: Name -> the arm with its errors, the baseline among them.
        baseline: Name of the baseline, "" where it has no result on this data set.
        cells: Name of an arm -> its comparison with the baseline. Arms with identical results have
            the same one, those identical with the baseline none.
        identical: Arms that err as the baseline does, on every seed.
        missing: Arm -> why it has no interval here, and so no part in an overall difference.
        images_of: As of `MeasuredDataSet`.
    """

    name: str
    arms: Mapping[str, MeasuredArm]
    baseline: str
    cells: Mapping[str, Comparison] = field(default_factory=dict[str, Comparison])
    identical: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    images_of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """On how many data sets an arm came out how, by the verdicts of the cells."""

    better: int = 0
    equivalent: int = 0
    undecided: int = 0
    worse: int = 0
    identical: int = 0
    missing: int = 0


@dataclass(frozen=True)
class LikeThese:
    """What is said of other data sets like these, of which these are taken to be a sample.

    Attributes:
        change: Geometric mean of the arm's error over the baseline's, less 1, with its interval
            over data sets: -0.2 errs 20 % less.
        p_value: Two-sided, of no difference on average over such data sets.
        adjusted_p: Adjusted for all arms.
    """

    change: Interval
    p_value: float
    adjusted_p: float

    @property
    def is_different(self) -> bool:
        """Whether it stands in bold."""
        return self.adjusted_p < SIGNIFICANCE


@dataclass(frozen=True)
class OverallComparison:
    """One arm, or several with identical results on every data set, against the baseline, over all.

    Each data set has the same weight. Verdicts hold for all arms together, and are a family apart
    from the cells. Where an arm is missing on a data set there is no difference, only the reason.

    Attributes:
        arms: Names, in the sweep's order; usually one.
        scale: Of the verdict.
        counts: Of its cells.
        points: Mean over data sets of the difference in errors, a fraction, with its 95 % interval
            for new seeds and new images of these data sets; None where it is unknown. `n` is the
            number of data sets.
        change: Geometric mean over data sets of the arm's error over the baseline's, less 1, with
            its interval: -0.2 errs 20 % less. None where it is unknown.
        simultaneous: The interval on `scale` that holds for all arms at once.
        p_value: Two-sided, of no difference on `scale`; None where it cannot be tested.
        adjusted_p: Adjusted for all arms.
        equivalent_p: p of a difference outside the declared margin; None without a margin, and
            where the scale is percent.
        adjusted_equivalent_p: Adjusted for all arms.
        log_e: As in `Comparison`, where seeds were added on some data set.
        like_these: Of other data sets; None where not asked for, or where there are too few.
        missing_on: Data sets on which it has no comparison -> why.
        why_undecided: Why there is no verdict, "" where there could be one.
        verdict: "different" is what stands in bold.
    """

    arms: tuple[str, ...]
    scale: Scale
    counts: Counts = Counts()
    points: Interval | None = None
    change: Interval | None = None
    simultaneous: Interval | None = None
    p_value: float | None = None
    adjusted_p: float | None = None
    equivalent_p: float | None = None
    adjusted_equivalent_p: float | None = None
    log_e: float | None = None
    like_these: LikeThese | None = None
    missing_on: Mapping[str, str] = field(default_factory=dict[str, str])
    why_undecided: str = ""
    verdict: Verdict = "undecided"

    @property
    def difference(self) -> Interval | None:
        """The difference on the scale of the verdict."""
        return self.points if self.scale == "points" else self.change

    @property
    def is_different(self) -> bool:
        """Whether it stands in bold."""
        return self.verdict == "different"


@dataclass(frozen=True)
class AverageRanks:
    """Ranks of the arms by mean error on each data set, 1 the best, averaged over data sets.

    Attributes:
        ranks: Arm -> its average rank, the baseline among them; those with a result everywhere.
        friedman_p: p value of Friedman's test of no difference between any.
        adjusted_p: Arm -> p of a rank like the baseline's, adjusted for all arms by Holm, and no
            smaller than `friedman_p`.
        critical_difference: Of an average rank from the baseline's, for a figure.
        left_out: Arms without a result on some data set.
        num_data_sets: Those that have a baseline.
    """

    ranks: Mapping[str, float]
    friedman_p: float
    adjusted_p: Mapping[str, float]
    critical_difference: float
    left_out: tuple[str, ...]
    num_data_sets: int


@dataclass(frozen=True)
class DataSetResults:
    """A table of arms by data sets.

    Attributes:
        columns: In order.
        scale: Of overall verdicts: percent where the baseline's errors differ threefold or more.
        shares_seeds: Whether the data sets have the same seed numbers, so that differences are
            averaged over data sets within a seed first.
        overall: In the order of the arms, the baseline and those identical with it left out.
        identical: Arms that err as the baseline does on every data set and seed.
        without_baseline: Data sets on which the baseline has no result; no overall counts them.
        why_no_overall: Why there is none at all, "" where there is.
        why_not_like_these: Why nothing is said of other data sets, "" where something is.
        ranks: None where there are none.
        why_no_ranks: Why, "" where there are.
    """

    columns: tuple[DataSetColumn, ...]
    scale: Scale
    shares_seeds: bool
    overall: tuple[OverallComparison, ...] = ()
    identical: tuple[str, ...] = ()
    without_baseline: tuple[str, ...] = ()
    why_no_overall: str = ""
    why_not_like_these: str = ""
    ranks: AverageRanks | None = None
    why_no_ranks: str = ""

    @property
    def same_images(self) -> list[list[str]]:
        """Names of data sets that show the same images, those of one group together."""
        groups = linked_places([column.images_of for column in self.columns])
        return [[self.columns[place].name for place in group] for group in groups if group[1:]]

    @cached_property
    def by_arm(self) -> Mapping[str, OverallComparison]:
        """Name of an arm -> its overall comparison."""
        return {name: comparison for comparison in self.overall for name in comparison.arms}


def data_set_results(
    data_sets: Sequence[MeasuredDataSet],
    *,
    margin: float | None = None,
    like_these: bool = False,
    ranks: bool = False,
    judges_divergence: bool = True,
    finds_reach: bool = True,
) -> DataSetResults:
    """Return how arms compare on each of several data sets, and over all.

    Args:
        data_sets: In the order of the columns.
        margin: Differences within it do not matter, a fraction; None where none is declared.
        like_these: Whether to say what holds for other data sets like these, from six on.
        ranks: Whether to rank the arms.
        judges_divergence: As in `comparisons_together`.
        finds_reach: The same.
    """
    columns = _columns(
        data_sets, margin=margin, judges_divergence=judges_divergence, finds_reach=finds_reach
    )
    counted = [column for column in columns if column.baseline]
    errors = [fmean(column.arms[column.baseline].errors.values()) for column in counted]
    is_unlike = bool(errors) and max(errors) >= UNLIKE_LEVELS * min(errors)
    shares_seeds = _shares_seeds(data_sets)
    why = _why_no_overall(data_sets, counted)
    results = DataSetResults(
        columns=tuple(columns),
        scale="percent" if is_unlike else "points",
        shares_seeds=shares_seeds,
        identical=tuple(
            arm
            for arm in _compared_arms(columns)
            if counted and all(arm in column.identical for column in counted)
        ),
        without_baseline=tuple(column.name for column in columns if not column.baseline),
        why_no_overall=why,
        why_not_like_these=(why or _why_not_like_these(counted, shares_seeds=shares_seeds))
        if like_these
        else NOT_ASKED,
    )
    results = replace(results, overall=tuple(_overall(results, data_sets, margin)))
    why_no_ranks = (SAME_SEEDS if shares_seeds else "") if ranks else NOT_ASKED
    ranked = None if why_no_ranks else _ranks(counted)
    if ranked is None and not why_no_ranks:
        why_no_ranks = "it takes two data sets and three arms that have a result on each"
    return replace(results, ranks=ranked, why_no_ranks=why_no_ranks)


def _columns(
    data_sets: Sequence[MeasuredDataSet],
    *,
    margin: float | None,
    judges_divergence: bool,
    finds_reach: bool,
) -> list[DataSetColumn]:
    together = [
        data_set for data_set in data_sets if data_set.at_looks is None and data_set.baseline
    ]
    tables = comparisons_together(
        [data_set.arms for data_set in together],
        margin=margin,
        planned_seeds=[data_set.planned_seeds for data_set in together],
        slacks=[data_set.slacks for data_set in together],
        judges_divergence=judges_divergence,
        finds_reach=finds_reach,
        family=_DataSets(),
    )
    of_table = {
        data_set.name: tuple(table) for data_set, table in zip(together, tables, strict=True)
    }
    return [
        _column(data_set, data_set.at_looks or of_table.get(data_set.name, ()))
        for data_set in data_sets
    ]


class _DataSets(Family):
    """Comparisons on all data sets together.

    Three seeds do not always show that an arm varies more than the others. Those of all data sets
    together do: an arm that is apart by the mean of its shares of the variance is so on each.

    Where one arm is compared alone, verdicts have four fifths of the level: differences of networks
    that vary unlike are skewed, and those on other data sets are independent, so that Bonferroni's
    bound leaves no reserve for that.
    """

    def shared(self, tables: Compared, baselines: Sequence[MeasuredArm]) -> Compared:
        """Return comparisons that share their variances over seeds, without p values."""
        found = super().shared(tables, baselines)
        weights: dict[str, list[float]] = {}
        for table, baseline in zip(found, baselines, strict=True):
            sharing = [cell for cell in table if cell.way and cell.way.shared]
            if sharing:
                by_arm = variances_of([cell.errors for cell in sharing], baseline.errors)
                for cell, weight in zip(sharing, weights_of_variance(*by_arm), strict=True):
                    weights.setdefault(cell.arm.arm.name, []).append(float(weight))
        apart = {arm for arm, each in weights.items() if vary_more_on_all(np.asarray(each))}
        return [
            [_apart(cell) if cell.arm.arm.name in apart else cell for cell in table]
            for table in found
        ]

    def together(self, tables: Compared) -> Compared:
        """Return comparisons with their adjusted p and simultaneous interval, where tested."""
        found = super().together(tables)
        is_alone = all(sum(cell.p_value is not None for cell in table) <= 1 for table in found)
        return [[_alone(cell) for cell in table] for table in found] if is_alone else found


def _apart(cell: Comparison) -> Comparison:
    """Return a comparison that is held to its own seeds as well."""
    way = cell.way
    if way is None or way.shared is None:
        return cell
    return replace(cell, way=replace(way, shared=replace(way.shared, is_apart=np.asarray(True))))


def _alone(cell: Comparison) -> Comparison:
    if cell.adjusted_p is None:
        return cell
    confidence = 1 - SHARE_ALONE * (1 - simultaneous_confidence(cell.num_together))
    return replace(
        cell,
        adjusted_p=min(cell.adjusted_p / SHARE_ALONE, 1.0),
        simultaneous=cell.way and cell.way.interval(cell.difference.n, confidence),
    )


def _column(data_set: MeasuredDataSet, compared: Sequence[Comparison]) -> DataSetColumn:
    baseline = data_set.baseline
    cells = {arm.arm.name: comparison for comparison in compared for arm in comparison.arms}
    others = [arm.arm.arm.name for arm in data_set.arms if arm is not baseline]
    return DataSetColumn(
        name=data_set.name,
        arms={arm.arm.arm.name: arm for arm in data_set.arms},
        baseline=baseline.arm.arm.name if baseline and baseline.errors else "",
        cells=cells,
        identical=tuple(name for name in others if baseline and name not in cells),
        missing={name: cell.why_seeds_alone for name, cell in cells.items() if cell.way is None},
        images_of=data_set.images_of,
    )


def _compared_arms(columns: Sequence[DataSetColumn]) -> list[str]:
    """Return the names of all arms but the baseline, in the order of the first data set."""
    names = dict.fromkeys(
        name
        for column in columns
        for name, measured in column.arms.items()
        if not measured.arm.is_baseline
    )
    return list(names)


def _shares_seeds(data_sets: Sequence[MeasuredDataSet]) -> bool:
    """Return whether any two data sets have a seed number in common."""
    seeds = [{seed for arm in data_set.arms for seed in arm.arm.trials} for data_set in data_sets]
    return sum(map(len, seeds)) > len(set[int]().union(*seeds))


def _why_no_overall(data_sets: Sequence[MeasuredDataSet], counted: Sequence[DataSetColumn]) -> str:
    if len(counted) < FEWEST_DATA_SETS:
        return "it takes two data sets on which the baseline has a result"
    if len(baselines := dict.fromkeys(column.baseline for column in counted)) > 1:
        return f"the data sets have unlike baselines: {listed([*baselines], _MOST_NAMED)}"
    known = [data_set for data_set in data_sets if data_set.arms]
    if len({data_set.launched_as for data_set in known}) > 1:
        return "the data sets were launched with unlike bases or options"
    has_looks = any(data_set.at_looks is not None for data_set in known)
    is_open = [data_set.name for data_set in data_sets if has_looks and not data_set.arms]
    is_open += [
        data_set.name
        for data_set in data_sets
        for comparison in data_set.at_looks or ()
        if comparison.why_seeds_alone == NOT_YET
        or (comparison.verdict == "undecided" and not comparison.look.is_last)
    ]
    return (
        f"looks are still to come on {listed([*dict.fromkeys(is_open)], _MOST_NAMED)}"
        if is_open
        else ""
    )


def unlike_arms(data_sets: Sequence[MeasuredDataSet]) -> tuple[str, ...]:
    """Return the arms that change other settings on one data set than on another."""
    changes: dict[str, set[str]] = {}
    for data_set in data_sets:
        for arm, text in data_set.changes.items():
            changes.setdefault(arm, set()).add(text)
    return tuple(arm for arm, texts in changes.items() if len(texts) > 1)


def _why_not_like_these(counted: Sequence[DataSetColumn], *, shares_seeds: bool) -> str:
    num_data_sets = len(linked_places([column.images_of for column in counted]))
    if num_data_sets < min(len(counted), FEWEST_LIKE_THESE):
        return (
            f"only {num_data_sets} of the data sets have images of their own, and it takes "
            f"{FEWEST_LIKE_THESE}"
        )
    if num_data_sets < FEWEST_LIKE_THESE:
        return f"{num_data_sets} data sets say nothing of others: it takes {FEWEST_LIKE_THESE}"
    return SAME_SEEDS if shares_seeds else ""


def _counts(arm: str, columns: Sequence[DataSetColumn]) -> Counts:
    outcomes = [_outcome(arm, column) for column in columns]
    return Counts(**{name: outcomes.count(name) for name in vars(Counts())})


def _outcome(arm: str, column: DataSetColumn) -> str:
    if arm in column.identical:
        return "identical"
    cell = column.cells.get(arm)
    if cell is None or (cell.verdict == "undecided" and cell.way is None):
        return "missing"
    if not cell.is_different:
        return cell.verdict
    mean = cell.difference.mean
    if cell.way is None or mean is None:  # judged by how often they diverge
        mean = cell.arm.count("diverged") - column.arms[column.baseline].arm.count("diverged")
    return "better" if mean < 0 else "worse"


def _overall(
    results: DataSetResults, data_sets: Sequence[MeasuredDataSet], margin: float | None
) -> list[OverallComparison]:
    counted = [column for column in results.columns if column.baseline]
    planned = {data_set.name: data_set.planned_seeds for data_set in data_sets}
    groups: dict[object, list[str]] = {}
    for arm in _compared_arms(results.columns):
        if arm not in results.identical:
            groups.setdefault(_same_on_all(arm, counted), []).append(arm)
    unlike = unlike_arms(data_sets)
    every = [
        OverallComparison(
            arms=tuple(arms),
            scale=results.scale,
            counts=_counts(arms[0], counted),
            missing_on=_missing_on(arms[0], counted),
        )
        for arms in groups.values()
    ]
    tested = [
        each for each in every if not _why_untested(each, results, unlike=each.arms[0] in unlike)
    ]
    cells = [_on_each(comparison.arms[0], counted, planned) for comparison in tested]
    ways = overall_ways(cells, shares_seeds=results.shares_seeds)
    known = [
        _Tested(comparison, of_data, way)
        for comparison, of_data, way in zip(tested, cells, ways, strict=True)
        if way is not None
    ]
    judged = {comparison.arms: comparison for comparison in _judged(known, results, margin)}
    return [
        judged.get(comparison.arms)
        or replace(
            comparison,
            why_undecided=_why_untested(comparison, results, unlike=comparison.arms[0] in unlike)
            or "fewer than three seeds are common to all data sets",
        )
        for comparison in every
    ]


def _on_each(
    arm: str, columns: Sequence[DataSetColumn], planned: Mapping[str, Sequence[int]]
) -> list[ArmOnData]:
    return [
        ArmOnData(
            column.arms[arm],
            column.arms[column.baseline],
            column.cells.get(arm),
            planned[column.name],
            column.images_of,
        )
        for column in columns
    ]


class _Tested(NamedTuple):
    comparison: OverallComparison
    cells: Sequence[ArmOnData]
    way: OverallWays


def _same_on_all(arm: str, columns: Sequence[DataSetColumn]) -> object:
    """Return what arms have in common whose results are identical on every data set."""
    if _missing_on(arm, columns):
        return arm
    cells = [column.cells.get(arm) for column in columns]
    return tuple(cell and tuple(of.arm.name for of in cell.arms) for cell in cells)


def _missing_on(arm: str, columns: Sequence[DataSetColumn]) -> dict[str, str]:
    return {
        column.name: column.missing.get(arm, "it is no arm there")
        for column in columns
        if arm in column.missing or arm not in column.arms
    }


def _why_untested(comparison: OverallComparison, results: DataSetResults, *, unlike: bool) -> str:
    """Return why an arm has no overall difference, "" where it may have one."""
    if results.why_no_overall:
        return results.why_no_overall
    if unlike:
        return UNLIKE_ARMS
    if comparison.missing_on:
        return f"it is missing on {listed([*comparison.missing_on], _MOST_NAMED)}"
    return ""


def _judged(
    tested: Sequence[_Tested], results: DataSetResults, margin: float | None
) -> list[OverallComparison]:
    """Return comparisons with their verdicts, which hold for all of them together."""
    scale, num = results.scale, len(tested)
    p_values = [way.p_value(scale) for _, _, way in tested]
    shown = [
        replace(
            _with_intervals(comparison, way, len(cells), num),
            p_value=p_value,
            log_e=way.log_e.get(scale),
            equivalent_p=way.equivalent_p(margin) if margin and scale == "points" else None,
        )
        for (comparison, cells, way), p_value in zip(tested, p_values, strict=True)
    ]
    shown = _adjusted(_adjusted(shown, "p_value"), "equivalent_p")
    if num == 1:
        shown = [replace(shown[0], adjusted_p=min(p_values[0] / SHARE_ALONE, 1.0))]
    if not results.why_not_like_these:
        shown = _with_like_these(shown, [way for _, _, way in tested])
    return [
        replace(
            comparison,
            verdict=_verdict(comparison, num, has_diverged=any(map(_has_diverged, cells))),
        )
        for comparison, (_, cells, _) in zip(shown, tested, strict=True)
    ]


def _adjusted(compared: Sequence[OverallComparison], name: str) -> list[OverallComparison]:
    """Return comparisons with comparison of their p values adjusted for all that have it."""
    adjusted_name = f"adjusted_{name.removesuffix('_value')}"
    of_holm = iter(
        holm([p for comparison in compared if (p := getattr(comparison, name)) is not None])
    )
    return [
        comparison
        if getattr(comparison, name) is None
        else replace(comparison, **{adjusted_name: next(of_holm)})
        for comparison in compared
    ]


def _has_diverged(cell: ArmOnData) -> bool:
    return bool(cell.arm.arm.count("diverged") or cell.baseline.arm.count("diverged"))


def _with_intervals(
    comparison: OverallComparison, way: OverallWays, num_data_sets: int, num_together: int
) -> OverallComparison:
    points, logs = way.usual["points"], way.usual["percent"]
    confidence = simultaneous_confidence(num_together)
    if num_together == 1:
        confidence = 1 - SHARE_ALONE * SIGNIFICANCE
    together = way.usual[comparison.scale].interval(num_data_sets, confidence)
    return replace(
        comparison,
        points=points.interval(num_data_sets),
        change=_as_change(logs.interval(num_data_sets)),
        simultaneous=together if comparison.scale == "points" else _as_change(together),
    )


def _as_change(logarithms: Interval) -> Interval:
    """Return an interval of logarithms of ratios as one of the ratio less 1."""
    ends = (logarithms.mean, logarithms.low, logarithms.high)
    mean, low, high = (None if end is None else float(np.expm1(end)) for end in ends)
    return replace(logarithms, mean=mean, low=low, high=high)


def _with_like_these(
    compared: Sequence[OverallComparison], ways: Sequence[OverallWays]
) -> list[OverallComparison]:
    """Return comparisons with what is said of other data sets, lost trials as guesses too."""
    every = [[like_these(np.asarray(logs)) for logs in way.log_ratios] for way in ways]
    p_values = [
        max(float(mean.p_value) for mean in means)
        if len({float(np.sign(mean.mean)) for mean in means}) == 1
        else 1.0
        for means in every
    ]
    changes = [
        _as_change(means[0].interval(len(way.log_ratios[0])))
        for means, way in zip(every, ways, strict=True)
    ]
    return [
        replace(comparison, like_these=LikeThese(change, p_value, adjusted))
        for comparison, change, p_value, adjusted in zip(
            compared, changes, p_values, holm(p_values), strict=True
        )
    ]


def _verdict(comparison: OverallComparison, num_together: int, *, has_diverged: bool) -> Verdict:
    """Return the verdict, by the rules of a cell's."""
    log_e, adjusted = comparison.log_e, comparison.adjusted_p
    level = SIGNIFICANCE if log_e is None else SIGNIFICANCE / 2
    is_shown = log_e is None or log_e >= evidence_needed(num_together)
    if adjusted is not None and adjusted < level and is_shown:
        return "different"
    alone, together = comparison.equivalent_p, comparison.adjusted_equivalent_p
    is_within = alone is not None and alone < SIGNIFICANCE / 2
    holds_for_all = together is not None and together < SIGNIFICANCE
    return "equivalent" if is_within and holds_for_all and not has_diverged else "undecided"


def _ranks(columns: Sequence[DataSetColumn]) -> AverageRanks | None:
    every = dict.fromkeys(name for column in columns for name in column.arms)
    errors = {name: [_error_with_lost(column, name) for column in columns] for name in every}
    known = {
        name: [error for error in of_arm if error is not None] for name, of_arm in errors.items()
    }
    names = [name for name, of_arm in known.items() if len(of_arm) == len(columns)]
    baseline = next((column.baseline for column in columns), "")
    names = [baseline, *(name for name in names if name != baseline)]
    if len(columns) < FEWEST_DATA_SETS or len(names) < _FEWEST_RANKED:
        return None
    test = rank_test(np.transpose([known[name] for name in names]))
    return AverageRanks(
        ranks=dict(zip(names, test.ranks.tolist(), strict=True)),
        friedman_p=float(test.friedman_p),
        adjusted_p=dict(zip(names[1:], test.adjusted_p.tolist(), strict=True)),
        critical_difference=test.critical_difference,
        left_out=tuple(name for name in every if name not in names),
        num_data_sets=len(columns),
    )


def _error_with_lost(column: DataSetColumn, arm: str) -> float | None:
    """Return the mean error of an arm, of diverged trials that of a guess; None without any."""
    measured = column.arms.get(arm)
    if measured is None or not measured.errors or not measured.by_image:
        return None
    guess = next(iter(measured.by_image.values())).guess
    return fmean([*measured.errors.values(), *[guess] * measured.arm.count("diverged")])
