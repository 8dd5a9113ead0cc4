"""Variances over seeds that the comparisons of a table share: three seeds of one arm say little."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float

from sweeps.aggregation.statistics.two_way import SeedVariance, TwoWay

MOST_PRIOR_DEGREES = 4.0
APART = 1.8
"""An arm whose seeds vary more than so many times as much as those of the others is judged by its
own seeds as well.

By `tools/acceptance/statistics.py`: intervals of an arm of 25 times the variance of the others then
hold in .91 to .94 of tables of three seeds (at 2 in .905 to .935). At 1.5 three seeds find less.
"""


def pool_degrees(
    num_compared: int, num_seeds: int, baseline: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Return the degrees of freedom of the mean variance over seeds of a table's comparisons.

    Differences from one baseline have its seeds in common: with K of them, arms of equal variance
    and a baseline of b times that, it has (S - 1) K (1 + b)^2 / ((1 + b)^2 + (K - 1) b^2).

    Source: Box 1954, Some theorems on quadratic forms; the covariance by the design, as one of
    three seeds has two directions at most.

    Args:
        num_compared: K.
        num_seeds: S.
        baseline: b; one below 1 is taken for 1.
    """
    b = np.maximum(baseline, 1.0)
    share = num_compared * (1 + b) ** 2 / ((1 + b) ** 2 + (num_compared - 1) * b**2)
    return np.asarray((num_seeds - 1) * share)


def prior_degrees(
    num_compared: int, num_seeds: int, baseline: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Return the degrees of freedom that the other comparisons add to a variance over seeds.

    Args:
        num_compared: As in `pool_degrees`.
        num_seeds: The same.
        baseline: The same.
    """
    beyond = pool_degrees(num_compared, num_seeds, baseline) - (num_seeds - 1)
    return np.asarray(np.minimum(MOST_PRIOR_DEGREES, beyond))


def own_variances(errors: Float[np.ndarray, "... arms seeds"]) -> Float[np.ndarray, "... arms"]:
    """Return how much the seeds of each arm vary, beyond what a seed does to all arms alike.

    What a seed does to all is the median over arms of their errors about each arm's own mean: an
    arm that errs more or less than the others is no outlier by that.

    Args:
        errors: Mean error of each arm and seed; NaN where there is none.
    """
    centred = errors - np.nanmean(errors, axis=-1, keepdims=True)
    alike = np.nanmedian(centred, axis=-2, keepdims=True)
    return np.nanvar(centred - alike, axis=-1, ddof=1)


def varies_more(
    own: Float[np.ndarray, "... arms"], of_baseline: Float[np.ndarray, "..."]
) -> Bool[np.ndarray, "... arms"]:
    """Return which arms are held to their own seeds as well, see `APART`.

    Args:
        own: How much the seeds of each compared arm vary, see `own_variances`.
        of_baseline: The same of the baseline.
    """
    total = own.sum(axis=-1, keepdims=True) + of_baseline[..., None]
    return beyond_others(own, total, own.shape[-1])


def beyond_others(
    own: Float[np.ndarray, "... arms"], total: Float[np.ndarray, "... 1"], num_others: int
) -> Bool[np.ndarray, "... arms"]:
    """Return which arms vary more than `APART` times as much as the others on average.

    Args:
        own: How much the seeds of each arm vary.
        total: Sum over all arms.
        num_others: Number of arms besides each.
    """
    return own > APART * (total - own) / num_others


def weights_of_variance(
    own: Float[np.ndarray, "... arms"], of_baseline: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "... arms"]:
    """Return how much the seeds of each arm vary against those of the others: half is alike.

    An arm varies v times as much as the others on average where it is v / (1 + v), so that means
    over several tables can say which arms `vary_more_on_all`.

    Args:
        own: How much the seeds of each compared arm vary, see `own_variances`.
        of_baseline: The same of the baseline.
    """
    weighted = own * own.shape[-1]
    both = weighted + own.sum(axis=-1, keepdims=True) + of_baseline[..., None] - own
    return np.divide(weighted, both, out=np.full_like(own, 0.5), where=both > 0)


def vary_more_on_all(weights: Float[np.ndarray, "tables ..."]) -> Bool[np.ndarray, "..."]:
    """Return which arms vary more than `APART` times as much as the others, by several tables.

    Args:
        weights: Of each table, see `weights_of_variance`.
    """
    return np.asarray(weights.mean(axis=0) > APART / (1 + APART))


def variances_of(
    errors: Sequence[Mapping[int, float]], of_baseline: Mapping[int, float]
) -> tuple[Float[np.ndarray, " arms"], Float[np.ndarray, ""]]:
    """Return `own_variances` of the compared arms of one table, and of the baseline.

    Args:
        errors: Mean error of each arm by seed.
        of_baseline: The same of the baseline.
    """
    baseline, *own = own_variances(by_seed([of_baseline, *errors]))
    return np.asarray(own), np.asarray(baseline)


def by_seed(errors: Sequence[Mapping[int, float]]) -> Float[np.ndarray, "arms seeds"]:
    """Return errors side by side, NaN where an arm has not a seed that others have.

    Args:
        errors: Mean error of each arm by seed.
    """
    seeds = sorted(set[int]().union(*errors))
    return np.asarray([[of_arm.get(seed, np.nan) for seed in seeds] for of_arm in errors])


def share_seeds(
    ways: TwoWay, own: Float[np.ndarray, "... arms"], of_baseline: Float[np.ndarray, "..."]
) -> TwoWay:
    """Return the comparisons of each table, their variances over seeds shared.

    The variance of a comparison is drawn towards the mean of all, as far as the others add degrees
    of freedom, and is no smaller than that mean or than its own residual. An arm that varies far
    more than the others has to hold by its own seeds too. One comparison has nothing to share.

    Source: variances drawn towards their mean: Smyth 2004, Linear models and empirical Bayes
    methods. Difference: the degrees of the prior follow from the design, and no variance is drawn
    below the mean.

    Args:
        ways: The comparisons, the last axis those of one table, all with the same seeds.
        own: How much the seeds of each compared arm vary, see `own_variances`.
        of_baseline: The same of the baseline.
    """
    num = ways.over_seeds.shape[-1]
    if num < 2:
        return ways
    usual = own.mean(axis=-1)
    baseline = np.divide(of_baseline, usual, out=np.ones_like(usual), where=usual > 0)
    prior = prior_degrees(num, ways.num_seeds, baseline)[..., None]
    pool = ways.over_seeds.mean(axis=-1, keepdims=True)
    shared = drawn_together(
        ways.over_seeds, pool, ways.residual, prior=prior, degrees=ways.num_seeds - 1
    )
    return replace(ways, shared=replace(shared, is_apart=varies_more(own, of_baseline)))


def drawn_together(
    over_seeds: Float[np.ndarray, "..."],
    pool: Float[np.ndarray, "..."],
    residual: Float[np.ndarray, "..."],
    *,
    prior: Float[np.ndarray, "..."] | float,
    degrees: int,
) -> SeedVariance:
    """Return variances drawn towards their mean, none of them apart.

    Args:
        over_seeds: Variance over seeds of each comparison on its own.
        pool: Mean of these variances.
        residual: Residual of each comparison.
        prior: Degrees of freedom that the other comparisons add.
        degrees: Degrees of freedom of each comparison.
    """
    drawn = (prior * pool + degrees * over_seeds) / (prior + degrees)
    return SeedVariance(
        over_seeds=np.maximum(np.maximum(drawn, pool), residual),
        degrees=np.broadcast_to(np.asarray(prior + degrees), drawn.shape),
        is_apart=np.zeros(drawn.shape, dtype=bool),
    )


def shared_between(
    ways: Sequence[TwoWay],
    errors: Sequence[Mapping[int, float]],
    of_baseline: Mapping[int, float],
) -> list[TwoWay]:
    """Return the comparisons of one table with its baseline, their variances over seeds shared.

    Args:
        ways: Each of one comparison.
        errors: Mean error of the arm of each by seed.
        of_baseline: The same of the baseline.
    """
    if len(ways) < 2:
        return list(ways)
    own, baseline = variances_of(errors, of_baseline)
    return shared_among(ways, lambda stacked: share_seeds(stacked, own, baseline))


def shared_among(ways: Sequence[TwoWay], share: Callable[[TwoWay], TwoWay]) -> list[TwoWay]:
    """Return comparisons that share their variances over seeds by a rule.

    Where trials are missing, the comparisons have different numbers of seeds: to each one the
    others are what they would be with as many.

    Args:
        ways: Each of one comparison.
        share: Gives comparisons side by side, all with the same seeds, their shared variances.
    """
    by_count = {
        num: share(stacked(ways, num, ways[0].num_clusters))
        for num in {way.num_seeds for way in ways}
    }
    return [
        replace(way, shared=_at(by_count[way.num_seeds].shared, place))
        for place, way in enumerate(ways)
    ]


def stacked(ways: Sequence[TwoWay], num_seeds: int, num_clusters: int) -> TwoWay:
    """Return comparisons side by side, as they would be with so many seeds and images."""
    scale = np.asarray([way.num_seeds / num_seeds for way in ways])

    def all_of(name: str) -> Float[np.ndarray, " arms"]:
        return np.asarray([float(getattr(way, name)) for way in ways])

    return TwoWay(
        mean=all_of("mean"),
        over_seeds=scale * all_of("over_seeds"),
        over_images=all_of("over_images"),
        residual=scale * all_of("residual"),
        largest=all_of("largest"),
        num_seeds=num_seeds,
        num_clusters=num_clusters,
        square=None if ways[0].square is None else all_of("square"),
    )


def _at(shared: SeedVariance | None, place: int) -> SeedVariance | None:
    if shared is None:
        return None
    of_one = (np.asarray(all_of[place]) for all_of in vars(shared).values())
    return SeedVariance(*of_one)
