"""Stopping the hopeless early: a pure function of the curves that were recorded.

Rivals of a trial are the other arms with the same seed: the seeds of one arm must not stop each
other.
"""

import math
import sys
from collections.abc import Mapping, Sequence


def is_hopeless(value: float, rivals: Sequence[float], kept: float, min_rivals: int) -> bool:
    """Return whether a trial is stopped at a rung.

    Args:
        value: The trial's objective at the rung; small is good.
        rivals: The objective of the others there.
        kept: Share of the trials that goes on.
        min_rivals: How many rivals a verdict needs.
    """
    import numpy as np

    if len(rivals) < min_rivals or not math.isfinite(value):
        return False
    told = [rival if math.isfinite(rival) else sys.float_info.max for rival in rivals]
    return bool(value > np.percentile(told, 100 * kept))


def rung_to_judge(
    rungs: Sequence[int], curve: Mapping[int, float], judged: Sequence[int]
) -> int | None:
    """Return the rung that a trial has passed last, if no verdict fell there.

    Usually it has just been reached. Where a process died between an epoch and its verdict, that
    falls later. A verdict that fell is never asked for again, as rivals that came later could turn
    it round.
    """
    last = max(curve, default=0)
    passed = max((rung for rung in rungs if rung <= last), default=None)
    return None if passed is None or passed in judged or passed not in curve else passed
