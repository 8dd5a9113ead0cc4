"""Which machines a table's trials ran on: devices and numbers of threads."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from sweeps.aggregation.results.arms import ArmResults
from sweeps.records.trial_record import TrialRecord

UNKNOWN = "unknown"


def device_of(trial: TrialRecord) -> str:
    """Return the device that a trial ran on."""
    return trial.device or UNKNOWN


def threads_of(trial: TrialRecord) -> str:
    """Return the number of threads that a trial ran with."""
    return UNKNOWN if trial.threads is None else str(trial.threads)


FEATURES: Mapping[str, Callable[[TrialRecord], str]] = {
    "devices": device_of,
    "numbers of threads": threads_of,
}


def shares(counts: Counter[str]) -> str:
    """Return how many trials have each value: "1 (4 trials), 2 (1 trial)"."""
    return ", ".join(
        f"{value} ({counts[value]} trial{'s' * (counts[value] != 1)})" for value in sorted(counts)
    )


def machine_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say where a table mixes machines, on which the same training ends in other last digits."""
    trials = [trial for arm in arms for trial in arm.counted.values()]
    for what, feature in FEATURES.items():
        counts = Counter(map(feature, trials))
        del counts[UNKNOWN]
        if len(counts) > 1:
            yield (
                f"The trials were trained on different {what}, {shares(counts)}: sums are rounded "
                f"in another order there, so the same settings and seed may differ in the last "
                f"digits of the weights, and a little in the error."
            )
