"""The smallest difference that a t test finds, by the noncentral t distribution written out."""

import math
from functools import partial
from typing import Any

from sweeps.aggregation.statistics.families import SIGNIFICANCE
from sweeps.aggregation.statistics.rule_power import POWER

_STEP = 1.25
_MOST_STEPS = 60


def detectable_difference(
    standard_error: float,
    degrees: float,
    num_comparisons: int = 1,
    *,
    power: float = POWER,
    level: float = SIGNIFICANCE,
) -> float:
    """Return the smallest true difference that is found with some power beside others.

    The level is that of Holm's first step, which every verdict has to pass where it stands alone.

    Source: the noncentral t distribution as in `statsmodels.stats.power.TTestPower.power`, solved
    for the effect here: its own `solve_power` stops too early where n is small.

    Args:
        standard_error: Standard error of the difference, in any unit.
        degrees: Degrees of freedom of the standard error.
        num_comparisons: In the table.
        power: How often it is to be found.
        level: Significance level of all comparisons together; at 0 nothing is found.

    Returns:
        The difference in the unit of the standard error; infinity where none is found.
    """
    if standard_error <= 0 or level <= 0:
        return math.inf
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    critical = -float(stdtrit(degrees, level / max(num_comparisons, 1) / 2))
    power_at = partial(_power, degrees=degrees, critical=critical)
    high = 1.0
    for _ in range(_MOST_STEPS):
        if power_at(high) >= power:
            break
        high *= _STEP
    else:
        return math.inf

    def missing(effect: float) -> float:
        return power_at(effect) - power

    ratio: Any = brentq(missing, high / _STEP, high, xtol=1e-10)
    return float(ratio) * standard_error


def _power(effect: float, degrees: float, critical: float) -> float:
    """Return how often a t test finds an effect above 0, given in standard errors.

    Of large effects scipy has no value for the wrong side, below 1e-9 there.

    Args:
        effect: Above 0.
        degrees: Degrees of freedom.
        critical: What the absolute value of t has to pass.
    """
    from scipy.special import nctdtr  # a hundred times faster than scipy.stats.nct

    upper = 1 - float(nctdtr(degrees, effect, critical))
    lower = float(nctdtr(degrees, effect, -critical))
    if math.isnan(upper):  # which only the slower one finds
        from scipy.stats import nct

        upper = float(nct.sf(critical, degrees, effect))
    return sum(side for side in (upper, lower) if not math.isnan(side))
