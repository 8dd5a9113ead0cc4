"""Arms compared with their baseline on several data sets: on each of them, and over all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from sweeps.aggregation.results.comparisons import Comparison
from sweeps.aggregation.results.measured_arms import MeasuredArm
from sweeps.aggregation.statistics.families import Verdict
from sweeps.aggregation.statistics.intervals import Interval

Scale = Literal["points", "percent"]
"""Of overall differences: errors subtracted, or each as a share of the baseline's."""


@dataclass(frozen=True)
class MeasuredDataSet:
    """The arms of a sweep on one of its data sets.

    Attributes:
        name: The column's.
        arms: With the errors that they are compared by, the smaller the better, and the baseline.
        planned_seeds: Those planned before any were added; empty for all.
        slacks: Arm -> how far it may lie above its best, as `tuning_slacks` returns it.
        at_looks: The comparisons that looks have judged, as `comparisons_at_looks` returns them;
            None where no looks were planned.
    """

    name: str
    arms: tuple[MeasuredArm, ...]
    planned_seeds: Sequence[int] = ()
    slacks: Mapping[str, float] = field(default_factory=dict[str, float])
    at_looks: tuple[Comparison, ...] | None = None


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
    """

    name: str
    arms: Mapping[str, MeasuredArm]
    baseline: str
    cells: Mapping[str, Comparison] = field(default_factory=dict[str, Comparison])
    identical: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict[str, str])


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
        return self.adjusted_p < 0.05


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
        ranks: None where not asked for, or where two data sets or three arms are missing.
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

    Raises:
        ValueError: If data sets have some, but not all, of their seed numbers in common.
    """
    raise NotImplementedError
