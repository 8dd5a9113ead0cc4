"""Means and paired differences with Student's t intervals. Values in, values out."""

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from sweeps.records.errors import BadInput

FEWEST_SPLITS = 5  # of the training images, over which an interval speaks of other splits


@dataclass(frozen=True)
class Interval:
    """A mean and where it may lie.

    Attributes:
        n: Values it rests on.
        mean: None where n is 0.
        low: Lower end of the interval, None where n is below 2.
        high: Upper end, as `low`.
        confidence: How often such intervals cover the true mean, were the values normal.
        half_before_cut: Half the distance between its ends before they were cut, None where they
            were not.
        deviation: Standard deviation of the values, where tables may print it.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None
    confidence: float = 0.95
    half_before_cut: float | None = None
    deviation: float | None = None

    @property
    def half_width(self) -> float | None:
        """What stands behind the mean's ±: half the distance between the ends before any cut.

        None where there is no interval.
        """
        if self.half_before_cut is not None:
            return self.half_before_cut
        return None if self.low is None or self.high is None else (self.high - self.low) / 2

    @property
    def excludes_zero(self) -> bool:
        """Whether there is an interval and 0 lies outside it."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def mean_interval(values: Iterable[float], confidence: float = 0.95) -> Interval:
    """Return the mean of the values and its t interval with n - 1 degrees of freedom.

    Values that are not finite are left out, and n says how many remain. The sums are exact, so the
    order of the values changes nothing. Equal values give an interval of width zero.

    Raises:
        BadInput: If the confidence is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise BadInput(f"A confidence lies between 0 and 1, given was {confidence}: try 0.95.")
    return _mean_interval(tuple(value for value in values if math.isfinite(value)), confidence)


@lru_cache(maxsize=100_000)
def _mean_interval(values: tuple[float, ...], confidence: float) -> Interval:
    if not values:
        return Interval(0, None, None, None, confidence)
    mean = statistics.mean(values)
    if len(values) == 1:
        return Interval(1, mean, None, None, confidence)
    half = (
        _t_quantile(len(values) - 1, confidence) * statistics.stdev(values) / math.sqrt(len(values))
    )
    return Interval(len(values), mean, mean - half, mean + half, confidence)


def where_fractions_lie(interval: Interval, largest: float = 1.0) -> Interval:
    """Return an interval cut to the values that fractions can have; it covers as often.

    Args:
        interval: Interval of a mean of fractions. It is returned as it is if its mean is no
            fraction.
        largest: The largest value: 1 for fractions, 100 for percent.
    """
    if interval.low is None or interval.high is None or interval.mean is None:
        return interval
    if not 0 <= interval.mean <= largest:
        return interval
    low, high = max(interval.low, 0.0), min(interval.high, largest)
    return replace(interval, low=low, high=high, half_before_cut=interval.half_width)


def paired_difference(
    arm: Mapping[int, float], baseline: Mapping[int, float], confidence: float = 0.95
) -> Interval:
    """Return the mean of arm minus baseline over the seeds that both have, with its t interval.

    Args:
        arm: One value per seed.
        baseline: The same for the arm compared with.
        confidence: As in `mean_interval`.
    """
    common = arm.keys() & baseline.keys()
    return mean_interval((arm[seed] - baseline[seed] for seed in common), confidence)


@cache
def _t_quantile(degrees: int, confidence: float) -> float:
    from scipy.special import stdtrit  # here, and not scipy.stats, to keep imports quick

    return float(stdtrit(degrees, (1 + confidence) / 2))
