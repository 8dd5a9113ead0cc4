"""All pairs of a table's arms: what tells of their spread over seeds, and what holds at once."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from sweeps.aggregation.statistics.families import SIGNIFICANCE, simultaneous_confidence
from sweeps.aggregation.statistics.shared_seeds import (
    MOST_PRIOR_DEGREES,
    beyond_others,
    by_seed,
    drawn_together,
    own_variances,
    shared_among,
)
from sweeps.aggregation.statistics.two_way import TwoWay

_SMALLEST_P = 1e-12  # what the integral of the studentized range is exact to
_PRECISION = 1e-6  # of a quantile


def places_of_pairs(num_arms: int) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
    """Return the places of the first and the second arm of each pair: (0, 1), (0, 2), (1, 2)...

    Args:
        num_arms: K, of which there are K (K - 1) / 2 pairs.
    """
    first, second = np.triu_indices(num_arms, 1)
    return first, second


def pool_degrees_of_pairs(
    by_arm: Float[np.ndarray, "... arms"], num_seeds: int
) -> Float[np.ndarray, "..."]:
    """Return the degrees of freedom of the mean variance over seeds of all pairs of K arms.

    That mean is twice the variance of the arms about the mean of each seed, however many pairs
    there are. Arms that vary alike give it (K - 1) (S - 1) degrees, one that varies alone S - 1.

    Source: Box 1954, Some theorems on quadratic forms, for arms that are independent but for what a
    seed does to all of them.

    Args:
        by_arm: How much the seeds of each arm vary, see `shared_seeds.own_variances`.
        num_seeds: S.
    """
    num_arms = by_arm.shape[-1]
    total, squares = by_arm.sum(axis=-1), (by_arm**2).sum(axis=-1)
    trace = total * (1 - 1 / num_arms)
    of_square = squares * (1 - 2 / num_arms) + (total / num_arms) ** 2
    alike = np.divide(
        trace**2, of_square, out=np.full_like(trace, num_arms - 1.0), where=of_square > 0
    )
    return np.asarray((num_seeds - 1) * alike)


def share_pairs(
    ways: TwoWay,
    by_arm: Float[np.ndarray, "... arms"],
    places: tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]],
) -> TwoWay:
    """Return the comparisons of all pairs, their variances over seeds shared.

    As in `shared_seeds.share_seeds`, but for the degrees of freedom of the mean, see
    `pool_degrees_of_pairs`; and a pair has to hold by its own seeds too where either of its arms
    varies far more than the others.

    Args:
        ways: The comparisons, the last axis all pairs of one table, all with the same seeds.
        by_arm: As in `pool_degrees_of_pairs`.
        places: Of both arms of each pair in `by_arm`.
    """
    num_arms, degrees = by_arm.shape[-1], ways.num_seeds - 1
    if ways.over_seeds.shape[-1] < 2:
        return ways
    pool = ways.over_seeds.mean(axis=-1, keepdims=True)
    beyond = pool_degrees_of_pairs(by_arm, ways.num_seeds) - degrees
    prior = np.minimum(MOST_PRIOR_DEGREES, np.maximum(beyond, 0.0))[..., None]
    shared = drawn_together(ways.over_seeds, pool, ways.residual, prior=prior, degrees=degrees)
    of_arms = beyond_others(by_arm, by_arm.sum(axis=-1, keepdims=True), num_arms - 1)
    first, second = places
    is_apart = of_arms[..., first] | of_arms[..., second]
    return replace(ways, shared=replace(shared, is_apart=is_apart))


def shared_between_pairs(
    ways: Mapping[tuple[int, int], TwoWay], errors: Sequence[Mapping[int, float]]
) -> dict[tuple[int, int], TwoWay]:
    """Return the comparisons of the pairs of one table, their variances over seeds shared.

    Args:
        ways: Places of two arms -> their comparison, of those pairs that have one.
        errors: Mean error of each arm by seed.
    """
    taking_part = sorted({place for pair in ways for place in pair})
    if len(ways) < 2:
        return dict(ways)
    by_arm = own_variances(by_seed([errors[place] for place in taking_part]))
    at = {place: number for number, place in enumerate(taking_part)}
    places = np.asarray([(at[first], at[second]) for first, second in ways]).T

    def share(stacked: TwoWay) -> TwoWay:
        return share_pairs(stacked, by_arm, (places[0], places[1]))

    return dict(zip(ways, shared_among([*ways.values()], share), strict=True))


def p_of_pair(way: TwoWay, num_arms: int, num_pairs: int) -> float:
    """Return the p value of a pair's difference, adjusted for all pairs together.

    Where the pairs share their variance over seeds it is by the joint distribution of all
    differences, the studentized range: as for one pair, the largest by each of `TwoWay.errors`. A
    pair that stands alone has its own variance, for which the range is too sure: Bonferroni's.

    Source: Tukey 1953, The problem of multiple comparisons; with an error and degrees of freedom
    of each pair: Games and Howell 1976, Pairwise multiple comparison procedures with unequal n's.

    Args:
        way: The difference of one pair.
        num_arms: K, arms of the table.
        num_pairs: Pairs that are tested.
    """
    if way.shared is None:
        return min(1.0, num_pairs * float(way.p_value))
    if float(way.over_seeds) <= 0:
        return 1.0
    return max(
        range_p(abs(float(way.mean)) / float(error), float(degrees), num_arms)
        for error, degrees in way.errors
        if error > 0
    )


def half_width_of_pair(way: TwoWay, num_arms: int, num_pairs: int) -> float:
    """Return half the width of a pair's interval that holds for all pairs at once, 95 % of tables.

    It leaves out 0 where `p_of_pair` is below .05, unless all seeds differ alike.

    Args:
        way: As in `p_of_pair`.
        num_arms: The same.
        num_pairs: The same.
    """
    if way.shared is None:
        return float(way.half_width(simultaneous_confidence(num_pairs)))
    return max(
        range_quantile(num_arms, float(degrees)) * float(error) for error, degrees in way.errors
    )


@cache
def range_quantile(num_arms: int, degrees: float, level: float = SIGNIFICANCE) -> float:
    """Return what the t ratio of any pair of equal arms exceeds in a share `level` of tables.

    It lies between the quantile of one pair and Bonferroni's, where it is found in a few steps:
    scipy's own search over all numbers takes ten times as long.

    Args:
        num_arms: Number of arms, at least two.
        degrees: Degrees of freedom of the error.
        level: How often.
    """
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    num_pairs = num_arms * (num_arms - 1) // 2
    least, most = (float(stdtrit(degrees, 1 - level / 2 / num)) for num in (1, num_pairs))
    if num_pairs == 1:
        return least

    def excess(ratio: float) -> float:
        return math.log(range_p(ratio, degrees, num_arms) / level)  # nearly straight

    found: Any = brentq(excess, least, most, xtol=_PRECISION)
    return float(found)


def range_p(ratio: float, degrees: float, num_arms: int) -> float:
    """Return how often the t ratio of any pair of equal arms exceeds a ratio.

    Args:
        ratio: A difference divided by its standard error, without its sign.
        degrees: Degrees of freedom of the error.
        num_arms: Number of arms, at least two.
    """
    from scipy.stats import studentized_range  # here, as it takes half a second to import

    p_value = float(studentized_range.sf(math.sqrt(2) * ratio, num_arms, degrees))
    return min(1.0, max(p_value, _SMALLEST_P))


def compact_letters(num_arms: int, different: Sequence[tuple[int, int]]) -> list[str]:
    """Return letters for each arm: two arms share one exactly where they are not different.

    Source: Piepho 2004, An algorithm for a letter-based representation of all-pairwise comparisons
    (insert and absorb).

    Args:
        num_arms: Number of arms, in the order in which letters are given out.
        different: Places of the arms of each pair that differs.

    Returns:
        The letters of each arm, in the order of the alphabet.
    """
    groups = [frozenset(range(num_arms))]
    for first, second in different:
        split = [
            part
            for group in groups
            for part in (
                (group - {first}, group - {second}) if {first, second} <= group else (group,)
            )
        ]
        distinct = list(dict.fromkeys(split))
        groups = [group for group in distinct if not any(group < larger for larger in distinct)]
    ordered = sorted(groups, key=sorted)
    return [
        "".join(_letter(number) for number, group in enumerate(ordered) if place in group)
        for place in range(num_arms)
    ]


def _letter(number: int) -> str:
    return chr(ord("a") + number)
