"""Trainings that stop at a target: what it is, which trials missed it, which arms it matches."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from capsmodel.metrics import Metric, find_metric
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.records.plain_text import shortened
from sweeps.records.trial_record import Json, TrialRecord

_LONGEST_TEXT = 100
_LAST = "the last epoch"


def target_text(config: Json) -> str:
    """Return the target of a training config, "validation error at or below 4 %".

    With its lower end, "validation error above 3.8 % and at or below 4 %", where it is a window.

    "" where its stopping has none that could be put into words.
    """
    stopping = stopping_of(config)
    metric, value = stopping.get("metric"), stopping.get("at_or_below")
    if not isinstance(metric, str) or not isinstance(value, int | float):
        return ""
    known = find_metric(metric) or Metric(name=metric)
    unit = " %" * known.is_fraction
    window = stopping.get("window")
    above = (
        f"above {known.shown(value - window):g}{unit} and "
        if isinstance(window, int | float)
        else ""
    )
    text = f"{metric.replace('_', ' ')} {above}at or below {known.shown(value):g}{unit}"
    return shortened(text, _LONGEST_TEXT)


def epoch_of_test_text(configs: Iterable[Json]) -> str:
    """Return after which epoch the weights are tested, "the last epoch"."""
    best = "the epoch of the lowest validation error"
    texts = {best if config.get("weights") == "best" else _LAST for config in configs} or {_LAST}
    return f"{_LAST} or, where an arm sets weights=best, {best}" if len(texts) > 1 else texts.pop()


def most_epochs(config: Json) -> int | None:
    """Return the number of epochs after which a training stops at the latest, None if always."""
    epochs = stopping_of(config).get("max_epochs")
    return epochs if isinstance(epochs, int) else None


def missed(arm: ArmResults) -> list[TrialRecord]:
    """Return the counted trials of an arm that missed their target."""
    return [trial for trial in arm.counted.values() if trial.target == "missed"]


def has_window(arms: Sequence[ArmResults]) -> bool:
    """Return whether trials of any arm stop in a window, to be compared at matched accuracy."""
    return any(stopping_of(arm.arm.config).get("window") is not None for arm in arms)


def matched(arms: Sequence[ArmResults], compared: Sequence[Comparison]) -> Mapping[str, bool]:
    """Return for each arm but the baseline whether it is as good as that on clean test images.

    It is where the verdict on its test error is "equivalent", within the margin declared, or where
    all its results are those of the baseline.

    Args:
        arms: Of the sweep.
        compared: Their test errors with the baseline's.
    """
    by_arm = {arm.arm.name: comparison for comparison in compared for arm in comparison.arms}
    return {
        arm.arm.name: by_arm[arm.arm.name].verdict == "equivalent"
        if arm.arm.name in by_arm
        else bool(arm.counted)
        for arm in arms
        if not arm.is_baseline
    }


def extra_tests(arms: Sequence[ArmResults]) -> list[str]:
    """Return the names of the extra tests of the arms' counted trials."""
    trials = [trial for arm in arms for trial in arm.counted.values()]
    return sorted({name for trial in trials for name in trial.extra_test_errors})


def stopping_of(config: Json) -> Mapping[str, Any]:
    """Return the settings of a training config's stopping rule, none where it has no such."""
    stopping = config.get("stopping")
    return cast(Mapping[str, Any], stopping) if isinstance(stopping, Mapping) else {}
