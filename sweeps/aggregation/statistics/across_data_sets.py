"""Differences between arms over several data sets: averaged over these, or of others like them.

The average over these data sets asks nothing of how data sets differ: new seeds and new images of
each move it, and each data set has the same weight, however many images it has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from sweeps.aggregation.statistics.equivalence import equivalence_p
from sweeps.aggregation.statistics.families import SIGNIFICANCE, holm_rows
from sweeps.aggregation.statistics.intervals import Interval
from sweeps.aggregation.statistics.two_way import Errors, TwoWay, half_width_by, p_value_by

FEWEST_DATA_SETS = 2
FEWEST_LIKE_THESE = 6
UNLIKE_LEVELS = 3.0
"""Differences are given in percent where the baseline errs so many times as much on one data set as
on another: in points the data set on which all err most would decide alone."""

_IMAGES_OF_NONE = 4  # of N, where none differs: 1.96 sqrt(4) / N is the exact limit of 97.5 %


def width_at(way: TwoWay, confidence: float) -> Float[np.ndarray, "..."]:
    """Return how much wider intervals of another confidence are than those of 95 %.

    A cell that a look has ended early is likely to show too large a difference. Its printed
    interval allows for that, as it holds at all looks together: with errors that are so many times
    as large the overall difference allows for it too.

    Args:
        way: Differences.
        confidence: Of their printed intervals.
    """
    half = way.half_width()
    ones = np.ones_like(half)
    return np.asarray(np.divide(way.half_width(confidence), half, out=ones, where=half > 0))


def scaled(way: TwoWay, scale: Float[np.ndarray, "..."]) -> TwoWay:
    """Return differences of the same means with errors that are so many times as large."""
    names = ("over_seeds", "over_images", "residual", "largest")
    parts = {name: np.asarray(getattr(way, name) * scale**2) for name in names}
    shared = way.shared
    if shared is not None:
        shared = replace(shared, over_seeds=np.asarray(shared.over_seeds * scale**2))
    return replace(way, **parts, square=None, shared=shared)


@runtime_checkable
class Difference(Protocol):
    """What an overall difference takes of that on one data set, see `TwoWay`."""

    @property
    def mean(self) -> Float[np.ndarray, "..."]: ...

    @property
    def errors(self) -> Errors: ...

    @property
    def over_seeds(self) -> Float[np.ndarray, "..."]: ...


@dataclass(frozen=True)
class OverallDifference:
    """Mean differences over data sets, of one or many tables.

    Attributes:
        mean: Each data set has the same weight.
        errors: As in `TwoWay`; what is said of a mean has to hold by each.
        has_spread: Whether seeds, or data sets, do not all agree.
    """

    mean: Float[np.ndarray, "..."]
    errors: Errors
    has_spread: Bool[np.ndarray, "..."]

    def half_width(self, confidence: float = 0.95) -> Float[np.ndarray, "..."]:
        """Return half the width of the interval of each mean."""
        return half_width_by(self.errors, confidence)

    def interval(self, num_data_sets: int, confidence: float = 0.95) -> Interval:
        """Return the mean with its interval; of a single table."""
        mean, half = float(self.mean), float(self.half_width(confidence))
        return Interval(num_data_sets, mean, mean - half, mean + half, confidence)

    @property
    def p_value(self) -> Float[np.ndarray, "..."]:
        """Two-sided, of a mean of 0; 1 where there is no spread."""
        return np.where(self.has_spread, p_value_by(self.mean, self.errors), 1.0)


def overall(ways: Sequence[Difference], num_data_sets: int = 0) -> OverallDifference:
    """Return differences averaged over data sets whose seeds and images are their own.

    Each error of a `TwoWay` is that of the average, by the same error of each data set.

    Source: the variance of a sum of independent means; its degrees of freedom by Satterthwaite
    1946, An approximate distribution of estimates of variance components.

    Args:
        ways: The differences on each data set, all of one shape.
        num_data_sets: Where there are more of them: on the others nothing differs at all.
    """
    num = num_data_sets or len(ways)
    by_data_set = [way.errors for way in ways]
    errors = [_joined(of_all, num) for of_all in zip(*by_data_set, strict=True)]
    return OverallDifference(
        mean=np.asarray(sum(way.mean for way in ways) / num),
        errors=tuple(errors),
        has_spread=np.asarray(np.any([way.over_seeds > 0 for way in ways], axis=0)),
    )


def _joined(
    errors: Sequence[tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]], num: int
) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    squares = np.stack([error**2 for error, _ in errors])
    degrees = np.stack([np.broadcast_to(of_one, squares.shape[1:]) for _, of_one in errors])
    total, below = squares.sum(axis=0), (squares**2 / degrees).sum(axis=0)
    joined = np.where(below > 0, total**2 / np.where(below > 0, below, 1), degrees.min(axis=0))
    return np.asarray(np.sqrt(total) / num), joined


def averaged(
    ways: Sequence[TwoWay],
    over_seeds: Float[np.ndarray, "..."],
    num_seeds: int,
    num_data_sets: int = 0,
) -> TwoWay:
    """Return differences averaged over data sets that have the same seeds.

    What a seed does may be alike on all data sets, so that their variances over seeds do not add
    up. The differences of a seed are averaged over data sets first, and seeds are those averages.

    Args:
        ways: The differences on each data set, of the same seeds.
        over_seeds: Variance of the mean over these seeds, by their averages over data sets.
        num_seeds: Of which there are so many, or as many splits.
        num_data_sets: As in `overall`.
    """
    num = num_data_sets or len(ways)

    def squared(name: str) -> Float[np.ndarray, "..."]:
        return np.asarray(sum(getattr(way, name) for way in ways) / num**2)

    return TwoWay(
        mean=np.asarray(sum(way.mean for way in ways) / num),
        over_seeds=over_seeds,
        over_images=squared("over_images"),
        residual=squared("residual"),
        largest=squared("largest"),
        num_seeds=num_seeds,
        num_clusters=min(way.num_clusters for way in ways),
    )


@dataclass(frozen=True)
class Levels:
    """Errors on one data set, which make differences ratios.

    Attributes:
        baseline: Error of the baseline.
        of_baseline: Variance of that over seeds, as that of a mean.
        of_arm: The same of the arm.
        num_images: Half an image is added to each error, so that one of 0 has a logarithm, as
            Haldane 1956 and Anscombe 1956 add half a case to a count.
    """

    baseline: Float[np.ndarray, "..."]
    of_baseline: Float[np.ndarray, "..."]
    of_arm: Float[np.ndarray, "..."]
    num_images: int

    def per_error(self, difference: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return what a logarithm changes by for each unit of an error between both."""
        return np.asarray(1 / (self.baseline + difference / 2 + self._half))

    def log_ratio(self, difference: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return the logarithm of the arm's expected error over the baseline's.

        The logarithm of a mean over few seeds is on average below that of what it estimates, by
        half its relative variance: an arm that varies more would seem to err less.
        """
        arm, baseline = self._both(difference)
        below = self.of_arm / arm**2 - self.of_baseline / baseline**2
        return np.asarray(np.log(arm / baseline) + below / 2)

    def seeds_factor(
        self, difference: Float[np.ndarray, "..."], over_seeds: Float[np.ndarray, "..."]
    ) -> Float[np.ndarray, "..."]:
        """Return how much more a logarithm varies over seeds than `per_error` says; at least 1.

        Source: the delta method, with the covariance of both errors by the three variances. Where
        the arm that errs less varies more, a division by the mean error says too little.

        Args:
            difference: The arm's error less the baseline's.
            over_seeds: Variance of that, as of a mean; where it is 0 nothing is added.
        """
        arm, baseline = self._both(difference)
        covariance = (self.of_arm + self.of_baseline - over_seeds) / 2
        variance = np.asarray(
            self.of_arm / arm**2
            + self.of_baseline / baseline**2
            - 2 * covariance / (arm * baseline)
        )
        by_mean = over_seeds * self.per_error(difference) ** 2
        ratio = np.divide(variance, by_mean, out=np.ones_like(variance), where=by_mean > 0)
        return np.asarray(np.maximum(ratio, 1.0))

    def _both(
        self, difference: Float[np.ndarray, "..."]
    ) -> tuple[Float[np.ndarray, "..."], Float[np.ndarray, "..."]]:
        """Return the errors of arm and baseline, half an image added."""
        arm = np.maximum(self.baseline + difference, 0.0)
        return np.asarray(arm + self._half), np.asarray(self.baseline + self._half)

    @property
    def _half(self) -> float:
        return 1 / (2 * self.num_images)


@dataclass(frozen=True)
class LogRatio(TwoWay):
    """Differences as logarithms of ratios, judged by two variances over seeds.

    One is that of the difference over the mean of both errors, the other divides each error by its
    own. An interval by the larger one alone may be the narrower: joined with those of other data
    sets a variance may add more degrees of freedom than it adds to the error.

    Attributes:
        seeds_factor: How many times as large the second variance over seeds is, at least 1.
        shared_factor: The same of the shared one. Not `seeds_factor`, which is far too large where
            few seeds of both arms happen to move together.
    """

    seeds_factor: Float[np.ndarray, "..."] = field(kw_only=True)
    shared_factor: Float[np.ndarray, "..."] = field(kw_only=True)

    @property
    def errors(self) -> Errors:
        """Those of `TwoWay` by the first variance over seeds, then by the second."""
        shared = self.shared
        if shared is not None:
            shared = replace(shared, over_seeds=np.asarray(shared.over_seeds * self.shared_factor))
        over_seeds = np.asarray(self.over_seeds * self.seeds_factor)
        second = replace(self, over_seeds=over_seeds, shared=shared)
        return (*super().errors, *super(LogRatio, second).errors)


def as_log_ratio(way: TwoWay, levels: Levels) -> LogRatio:
    """Return differences as logarithms of the arm's error over the baseline's.

    Source: the delta method. Images: the standard error is that of the difference over the mean
    error. Seeds: as `LogRatio` says.

    Args:
        way: Differences of errors.
        levels: Errors of the same arms.
    """
    logarithms = scaled(way, levels.per_error(way.mean))
    parts = {each.name: getattr(logarithms, each.name) for each in fields(logarithms)}
    parts["mean"] = levels.log_ratio(way.mean)
    shared = way.shared.over_seeds if way.shared else way.over_seeds
    return LogRatio(
        **parts,
        seeds_factor=levels.seeds_factor(way.mean, way.over_seeds),
        shared_factor=levels.seeds_factor(way.mean, shared),
    )


def with_rare_images(way: TwoWay) -> TwoWay:
    """Return differences as equivalence wants them: with rare images, and seeds that may vary.

    Where no image differs, the variance is that of a share of images which none of so many shows.
    """
    rare = way.with_rare_images
    of_none = _IMAGES_OF_NONE / way.num_clusters**2
    return replace(
        rare,
        over_images=np.where(way.largest > 0, rare.over_images, of_none),
        over_seeds=np.asarray(np.maximum(rare.over_seeds, rare.residual)),
    )


def overall_beyond_margin(difference: OverallDifference, margin: float) -> Float[np.ndarray, "..."]:
    """Return the p value of overall differences that lie beyond a margin.

    Args:
        difference: Of data sets `with_rare_images`.
        margin: Above 0.
    """
    p_values = [equivalence_p(difference.mean, *error, margin) for error in difference.errors]
    return np.asarray(np.max(p_values, axis=0))


def like_these(log_ratios: Float[np.ndarray, "... data_sets"]) -> OverallDifference:
    """Return the mean over data sets of which those at hand are taken to be a sample.

    Seeds and images of each data set are in what it differs from the others by.

    Args:
        log_ratios: Of an arm's error over the baseline's, for each data set.
    """
    num = log_ratios.shape[-1]
    spread = log_ratios.std(axis=-1, ddof=1)
    error = (np.asarray(spread / np.sqrt(num)), np.full_like(spread, num - 1.0))
    mean, differs = log_ratios.mean(axis=-1), np.ptp(log_ratios, axis=-1) > 0
    return OverallDifference(np.asarray(mean), (error,), np.asarray(differs))


@dataclass(frozen=True)
class RankTest:
    """Ranks by mean error on each data set, averaged over data sets, of one or many tables.

    Attributes:
        ranks: Of each arm, the baseline first; 1 is the best.
        friedman_p: Of no difference between any.
        adjusted_p: Of each arm but the baseline, of ranking as that does, by Holm; no smaller than
            `friedman_p`.
        critical_difference: What average ranks differ by from the baseline's of which, with no arm
            different, any is farther in one table of twenty at most.
    """

    ranks: Float[np.ndarray, "... arms"]
    friedman_p: Float[np.ndarray, "..."]
    adjusted_p: Float[np.ndarray, "... compared"]
    critical_difference: float


def rank_test(errors: Float[np.ndarray, "... data_sets arms"]) -> RankTest:
    """Return average ranks, compared with the baseline's.

    Source: Friedman 1937, with ties as in `scipy.stats.friedmanchisquare`; against a baseline as in
    Demsar 2006, Statistical comparisons of classifiers over multiple data sets: Holm's step-down
    p values, and Bonferroni-Dunn's critical difference. Nemenyi's, for all pairs, finds less.

    Args:
        errors: Mean error of each arm on each data set, the baseline first; at least three arms.
    """
    from scipy.special import chdtrc, ndtr, ndtri
    from scipy.stats import rankdata

    num, arms = errors.shape[-2:]
    by_data_set = rankdata(errors, axis=-1)
    ranks = by_data_set.mean(axis=-2)
    # as scipy's: what ranks vary by within data sets, ties included
    within = (by_data_set**2).sum(axis=(-2, -1)) - num * arms * (arms + 1) ** 2 / 4
    between = num * ((ranks - (arms + 1) / 2) ** 2).sum(axis=-1)
    square = np.divide(
        num * (arms - 1) * between, within, out=np.zeros_like(within), where=within > 0
    )
    friedman_p = np.asarray(chdtrc(arms - 1, square))
    error = float(np.sqrt(arms * (arms + 1) / (6 * num)))
    far = np.abs(ranks[..., 1:] - ranks[..., :1]) / error
    return RankTest(
        ranks=ranks,
        friedman_p=friedman_p,
        adjusted_p=np.maximum(holm_rows(2 * ndtr(-far)), friedman_p[..., None]),
        critical_difference=-float(ndtri(SIGNIFICANCE / (2 * (arms - 1)))) * error,
    )
