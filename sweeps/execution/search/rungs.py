"""Stopping the hopeless early: a pure function of the curves that were recorded.

Rivals of a trial are the other arms with the same seed: the seeds of one arm must not stop each
other.
"""

import math
from collections.abc import Collection, Mapping, Sequence


def is_hopeless(value: float, rivals: Sequence[float], kept: float, min_rivals: int) -> bool:
    """Return whether a trial is stopped at a rung. Costs the same however many rivals there are.

    Args:
        value: The trial's objective at the rung; small is good.
        rivals: The objective of the others there, ascending and finite.
        kept: Share of the trials that goes on.
        min_rivals: How many rivals a verdict needs.
    """
    if len(rivals) < min_rivals or not math.isfinite(value):
        return False
    return value > quantile(rivals, 100 * kept / 100)


def quantile(ascending: Sequence[float], share: float) -> float:
    """Return what a share of ascending values lies below, to the bit as `numpy.percentile` does.

    Between two values it goes straight, from the nearer one.
    """
    position = (len(ascending) - 1) * share
    index = math.floor(position)
    if index + 1 >= len(ascending):
        return ascending[-1]
    low, high, part = ascending[index], ascending[index + 1], position - index
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def rung_to_judge(
    rungs: Sequence[int], curve: Mapping[int, float], judged: Collection[int]
) -> int | None:
    """Return the rung that a trial has passed last, if no verdict fell there.

    Usually it has just been reached. Where a process died between an epoch and its verdict, that
    falls later. A verdict that fell is never asked for again, as rivals that came later could turn
    it round.
    """
    last = max(curve, default=0)
    passed = max((rung for rung in rungs if rung <= last), default=None)
    return None if passed is None or passed in judged or passed not in curve else passed
