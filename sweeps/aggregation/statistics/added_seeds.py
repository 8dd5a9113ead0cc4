"""Seeds that were added after somebody had looked: evidence that looking does not inflate."""

import math
from collections.abc import Sequence
from itertools import count

_PRIOR = 0.25  # precision: the effect has a variance of 4, in units of the differences' own


def log_e_value(differences: Sequence[float]) -> float:
    """Return the logarithm of the evidence against a mean of 0, which may be looked at any time.

    Under a mean of 0 it ever exceeds log(1 / a) in a share a of all sequences at most, however
    often it is looked at. Differences without spread are no evidence.

    Source: the e-process of the t test with a normal prior on the effect: Wang and Ramdas 2023,
    Anytime-valid t-tests and confidence sequences, from Lai 1976.

    Args:
        differences: One a seed, in any order.
    """
    n = len(differences)
    squares = math.fsum(value * value for value in differences)
    if n < 2 or squares == 0 or max(differences) == min(differences):
        return 0.0
    share = math.fsum(differences) ** 2 / ((n + _PRIOR) * squares)
    return 0.5 * math.log(_PRIOR / (n + _PRIOR)) - n / 2 * math.log1p(-share)


def level_of_evidence(num_seeds: int, log_e: float) -> float:
    """Return the two-sided level at which a t test over seeds asks for as much as evidence does.

    Args:
        num_seeds: Number of seeds of the differences, at least two.
        log_e: What `log_e_value` has to reach.

    Returns:
        The level; 0 where no differences of so few seeds reach it, however clear they are.
    """
    from scipy.special import stdtr

    n = num_seeds
    share = -math.expm1(-2 / n * (log_e + 0.5 * math.log((n + _PRIOR) / _PRIOR)))
    remaining = n - share * (n + _PRIOR)
    if remaining <= 0:
        return 0.0
    ratio = math.sqrt(share * (n + _PRIOR) * (n - 1) / remaining)
    return 2 * float(stdtr(n - 1, -ratio))


def fewest_seeds(log_e: float) -> int:
    """Return how many seeds can reach some evidence at all."""
    return next(n for n in count(2) if level_of_evidence(n, log_e) > 0)
