"""What an F test can show: the shortest way off 0 that it finds four times of five."""

import math

import numpy as np
from jaxtyping import Float

from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.power import POWER

_LONGEST = 1e10  # of a squared length: where scipy stops to look


def detectable_length(
    above: Float[np.ndarray, "..."],
    below: Float[np.ndarray, "..."],
    num_tests: int = 1,
    level: float = SIGNIFICANCE,
) -> Float[np.ndarray, "..."]:
    """Return the joint distance from 0 at which an F test detects several contrasts.

    It is found four times of five, at the level of Holm's first step.

    Source: the noncentral F distribution of `scipy.special`.

    Args:
        above: Degrees of freedom of the contrasts.
        below: Degrees of freedom of their variance.
        num_tests: In the table.
        level: Significance level of all tests together; at 0 nothing is found.

    Returns:
        The length in standard errors of one contrast; infinity where none is found.
    """
    from scipy.special import fdtri, ncfdtrinc

    if level <= 0:
        return np.full_like(above, math.inf)
    critical = fdtri(above, below, 1 - level / max(num_tests, 1))
    squared = ncfdtrinc(above, below, 1 - POWER, critical)
    return np.asarray(np.sqrt(np.where(squared < _LONGEST, squared, math.inf)))
