"""Which machines a table's trials ran on, and in which precision: devices and threads."""

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


PRECISIONS: Mapping[str, str] = {
    "tf32": "in TF32 (10 binary digits) where a GPU has it",
    "bf16": "in bfloat16 (7 binary digits)",
}


def shares(counts: Counter[str]) -> str:
    """Return how many trials have each value: "1 (4 trials), 2 (1 trial)"."""
    return ", ".join(
        f"{value} ({counts[value]} trial{'s' * (counts[value] != 1)})" for value in sorted(counts)
    )


def machine_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Say who was not trained in full precision, and where a table mixes machines.

    On another machine the same training ends in other last digits.
    """
    yield from _precision_notes(arms)
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


def _precision_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    for precision, words in PRECISIONS.items():
        names = [arm.arm.name for arm in arms if arm.arm.config.get("precision") == precision]
        if names:
            who = "All trials" if len(names) == len(arms) else ", ".join(names)
            yield (
                f"{who}: matrix products and convolutions were computed {words}, not in single "
                f"precision."
            )
