"""The power that is asked for, and estimated spreads that are as often too large as too small."""

import math

POWER = 0.8


def middle_error(standard_error: float, degrees: float) -> float:
    """Return an estimated standard error made as often too large as too small.

    By itself it is too small in 63 of 100 cases at two degrees of freedom, and so would be the
    difference that is said to be found.

    Args:
        standard_error: The root of an unbiased variance.
        degrees: Degrees of freedom.
    """
    from scipy.special import chdtri

    return standard_error * math.sqrt(degrees / float(chdtri(degrees, 0.5)))
