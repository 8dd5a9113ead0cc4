"""Seeds that were added after somebody had looked: evidence that looking does not inflate."""

import math
from collections.abc import Sequence

_PRIOR = 0.25  # of the effect's variance, in units of the differences' own


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
