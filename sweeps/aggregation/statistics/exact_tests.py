"""What single trained pairs say: how often one is better, and on which images they part."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Bool

_TAIL = 0.025


@dataclass(frozen=True)
class Proportion:
    """How often something happened, and the shares that are in keeping with it.

    Attributes:
        count: How often, of `total`; a half where ties count as halves.
        low: Lower end of the exact 95 % interval.
        high: Upper end.
    """

    count: float
    total: int
    low: float
    high: float


@cache
def share(count: int, total: int) -> Proportion:
    """Return a count with its exact 95 % interval; of nothing it is 0 to 1.

    Source: Clopper and Pearson 1934, as in `scipy.stats.binomtest`.
    """
    if not total:
        return Proportion(0.0, 0, 0.0, 1.0)
    from scipy.special import betaincinv  # here, and not scipy.stats, to keep imports quick

    low = betaincinv(count, total - count + 1, _TAIL) if count else 0.0
    high = betaincinv(count + 1, total - count, 1 - _TAIL) if count < total else 1.0
    return Proportion(float(count), total, float(low), float(high))


def better_share(values: Mapping[int, float], others: Mapping[int, float]) -> Proportion:
    """Return how often a value is smaller than the other of its seed, ties as halves.

    The interval leaves ties out.

    Source: Bouthillier et al. 2021, Accounting for variance in machine learning benchmarks.
    """
    common = values.keys() & others.keys()
    wins = sum(values[seed] < others[seed] for seed in common)
    ties = sum(values[seed] == others[seed] for seed in common)
    decided = share(wins, len(common) - ties)
    return Proportion(wins + ties / 2, len(common), decided.low, decided.high)


def mcnemar_p(wrong: Bool[np.ndarray, " images"], others: Bool[np.ndarray, " images"]) -> float:
    """Return the exact p value of two networks erring equally often on the same images.

    It holds for these two networks alone. Values of several seeds must not be combined.

    Source: McNemar 1947, as in `statsmodels.stats.contingency_tables.mcnemar`.
    """
    parted = sorted((int((~wrong & others).sum()), int((wrong & ~others).sum())))
    return _mcnemar_p(*parted)


@cache
def _mcnemar_p(fewer: int, more: int) -> float:
    """Return the p value from the two numbers of images on which just one network errs.

    Whole numbers make it right to the last digit on every machine.
    """
    parted = fewer + more
    ways = at_most = 1
    for place in range(fewer):
        ways = ways * (parted - place) // (place + 1)
        at_most += ways
    return min(1.0, 2 * at_most / 2**parted)


@cache
def more_often_p(count: int, total: int, other_count: int, other_total: int) -> float:
    """Return the p value of two shares being equal, such as those of diverged trials.

    Source: Boschloo 1970, as in `scipy.stats.boschloo_exact`; 1 where one of them is of nothing.
    """
    if not total or not other_total or count / total == other_count / other_total:
        return 1.0
    from scipy.stats import boschloo_exact

    table = [[count, other_count], [total - count, other_total - other_count]]
    return float(boschloo_exact(table).pvalue)


@cache
def far_apart_p(
    count: int, total: int, other_count: int, other_total: int, *, within: float
) -> float:
    """Return the exact p value of two shares whose odds differ by at most a factor, two-sided.

    It is 1 where the odds that were counted do not differ by more.

    Source: Fisher 1935, given the sum of both counts; for a factor above 1 by the distribution of
    `scipy.stats.nchypergeom_fisher`, which takes a hundred times as long.

    Args:
        count: Of the first, such as its errors.
        total: What these are of, at least 1.
        other_count: Of the second.
        other_total: What these are of, at least 1.
        within: The factor, at least 1.
    """
    if count * other_total < other_count * total:
        return far_apart_p(other_count, other_total, count, total, within=within)
    if count * (other_total - other_count) <= within * other_count * (total - count):
        return 1.0
    from scipy.special import gammaln

    both = count + other_count
    least, most = max(0, both - other_total), min(total, both)
    counts = np.arange(least, most + 1)
    others = both - counts
    logs = counts * np.log(within) - gammaln(counts + 1) - gammaln(total - counts + 1)
    logs -= gammaln(others + 1) + gammaln(other_total - others + 1)
    weights = np.exp(logs - logs.max())
    return min(1.0, float(2 * weights[count - least :].sum() / weights.sum()))
