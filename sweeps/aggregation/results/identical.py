"""Arms that gave exactly the same results: one in truth, so that they stand and count once."""

from collections.abc import Sequence

from sweeps.aggregation.results.arms import ArmResults
from sweeps.records.trial_record import EPOCH_METRICS, METRIC_TEST_ERROR


def grouped(arms: Sequence[ArmResults]) -> list[list[ArmResults]]:
    """Return the arms in groups of identical results, in the order of each group's first arm.

    Identical are arms whose last-epoch losses and errors are exactly equal on every seed. One with
    a cell that does not count stands alone.
    """
    groups: dict[object, list[ArmResults]] = {}
    for place, arm in enumerate(arms):
        groups.setdefault(_fingerprint(arm) or place, []).append(arm)
    return list(groups.values())


def _fingerprint(arm: ArmResults) -> tuple[tuple[float | None, ...], ...]:
    """Return every last-epoch metric of every seed, or nothing where a seed is not counted."""
    if len(arm.counted) < len(arm.trials):
        return ()
    names = (*EPOCH_METRICS, METRIC_TEST_ERROR)
    return tuple(
        (seed, *(getattr(trial, name) for name in names)) for seed, trial in arm.counted.items()
    )
