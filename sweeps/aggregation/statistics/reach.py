"""What a next table like this one finds, of arms that err more than the baseline and less."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from sweeps.aggregation.statistics.power import COARSE, FINE, POWER, Nodes, detectable

HALF_POWER = 0.5
LIMITS = (0.1, 0.5, 0.9)
_MIDDLE = LIMITS[1]
_WITHIN = 5e-5  # a twentieth of what is printed


class Case(NamedTuple):
    """Under which variances a power is asked for.

    Attributes:
        confidence: How often the variance over seeds is no smaller than the true one.
        sign: -1 for arms that err less, else 1.
        nodes: Of the quadrature.
    """

    confidence: float
    sign: int
    nodes: Nodes


class Sizes(NamedTuple):
    """A true difference that tables find so often, as a fraction.

    Each is 1 for all beyond `power.LARGEST`, and infinity where nothing can be found.

    Attributes:
        low: By a variance over seeds at its lower limit, which the true one passes in one of ten.
        middle: By one that is as often too large as too small.
        high: By one at its upper limit; `benchmarks/reports/2026-11-30_reach_acceptance.md` counts
            how often the true size lies between both.
    """

    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class Reach:
    """Differences that a next table finds, by their direction and how often.

    Attributes:
        more: Found four times out of five in an arm that errs more.
        less: The same in one that errs less, though it be more than the baseline's whole error.
        half_more: Found every second time in an arm that errs more.
        half_less: The same in one that errs less.
        error: Of the baseline, a fraction: no arm errs less by more than that.
        num_seeds: Of the table. With fewer than five, half the power is not foretold well: see
            `benchmarks/reports/2026-11-30_reach_acceptance.md`.
    """

    more: Sizes
    less: Sizes
    half_more: Sizes
    half_less: Sizes
    error: float
    num_seeds: int

    def beyond(self, slack: float) -> "Reach":
        """Return it for arms of which a part of the difference, a fraction, does not count."""
        more, less, half_more, half_less = (
            Sizes(*(size + slack for size in sizes))
            for sizes in (self.more, self.less, self.half_more, self.half_less)
        )
        return replace(self, more=more, less=less, half_more=half_more, half_less=half_less)


def reach_of(
    power_at: Callable[[Case, float], float], error: float, num_seeds: int
) -> Reach | None:
    """Return what a next table finds; None where it finds no difference, however large.

    Args:
        power_at: The power of the table's rule at a difference, a fraction.
        error: Of the baseline, a fraction.
        num_seeds: Of the table.
    """

    def sizes(power: float, sign: int) -> Sizes:
        is_first = sign > 0 and power == POWER
        found = list[float]()
        for confidence in LIMITS:
            is_fine = is_first and confidence == _MIDDLE
            case = Case(confidence, sign, FINE if is_fine else COARSE)
            within = {} if is_fine else {"within": _WITHIN}
            found.append(detectable(partial(power_at, case), power, **within))
        # an arm of smaller variance may be held to its own seeds more often, and found more seldom
        return Sizes(min(found), found[1], max(found))

    more = sizes(POWER, 1)
    if math.isinf(more.middle):
        return None
    return Reach(
        more=more,
        less=sizes(POWER, -1),
        half_more=sizes(HALF_POWER, 1),
        half_less=sizes(HALF_POWER, -1),
        error=error,
        num_seeds=num_seeds,
    )
