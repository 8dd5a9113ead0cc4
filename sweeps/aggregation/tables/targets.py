"""Trainings that stop at a target: what it is, which trials missed it, which arms it matches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from capsmodel.metrics import Metric, find_metric
from sweeps.aggregation.rendering.table import PLUS_MINUS, Cell, Column, Value
from sweeps.aggregation.results.arms import ArmResults
from sweeps.aggregation.results.comparisons import Comparison
from sweeps.records.manifest import Manifest
from sweeps.records.plain_text import one_line, points_text, shortened
from sweeps.records.trial_record import Json, TrialRecord

MARK = "\N{DAGGER}"
_LONGEST_WORDS = 100
_LONGEST_NAMES = 400


def target_words(config: Json) -> str:
    """Return the target of a training config, "validation error at or below 4 %".

    With its lower end, "validation error above 3.8 % and at or below 4 %", where it is a window.

    "" where its stopping has none that could be put into words.
    """
    stopping = _stopping(config)
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
    words = f"{metric.replace('_', ' ')} {above}at or below {known.shown(value):g}{unit}"
    return shortened(words, _LONGEST_WORDS)


def most_epochs(config: Json) -> int | None:
    """Return the number of epochs after which a training stops without its target."""
    epochs = _stopping(config).get("max_epochs")
    return epochs if isinstance(epochs, int) else None


def missed(arm: ArmResults) -> list[TrialRecord]:
    """Return the counted trials of an arm that missed their target."""
    return [trial for trial in arm.counted.values() if trial.target == "missed"]


def marked(cell: Cell, arm: ArmResults) -> Cell:
    """Return a cell, marked where its value includes trials that missed their target."""
    return replace(cell, text=f"{cell.text} {MARK}") if cell.text and missed(arm) else cell


def target_columns(arms: Sequence[ArmResults]) -> tuple[Column, ...]:
    """Return a column for programs, the count of trials that missed, if any arm has a target."""
    has_target = any(trial.target for arm in arms for trial in arm.counted.values())
    column = Column("Target missed", ("num_target_missed",), hide_if_empty=True)
    return (column,) if has_target else ()


def target_cells(arm: ArmResults | None, columns: Sequence[Column]) -> tuple[Cell, ...]:
    """Return an arm's cells in those columns."""
    return tuple(Cell("", (len(missed(arm)) if arm else None,)) for _ in columns)


def target_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield which trainings stop at a target, and how many trials of each arm missed it."""
    ending = [arm for arm in arms if any(trial.target for trial in arm.counted.values())]
    within = [arm for arm in ending if _stopping(arm.arm.config).get("every_steps")]
    for some, place, what in (
        ([arm for arm in ending if arm not in within], "epoch", "that is their last epoch"),
        (within, "judgement", "their last epoch ends with it"),
    ):
        if some:
            yield (
                f"Trials of {_names(some)} end with the first {place} that reaches their target, a "
                f"figure of the validation images: {what}."
            )
    for arm in arms:
        if not (late := missed(arm)):
            continue
        words = target_words(arm.arm.config)
        asked = f" ({words})" if words else ""
        epochs = most_epochs(arm.arm.config) or max(trial.epochs for trial in late)
        yield (
            f"{MARK} {len(late)} of {len(arm.counted)} trials of {one_line(arm.arm.name)} never "
            f"reached their target{asked} within {epochs} epochs."
        )


def has_window(arms: Sequence[ArmResults]) -> bool:
    """Return whether trials of any arm stop in a window, to be compared at matched accuracy."""
    return any(_stopping(arm.arm.config).get("window") is not None for arm in arms)


def matched(arms: Sequence[ArmResults], compared: Sequence[Comparison]) -> Mapping[str, bool]:
    """Return for each arm but the baseline whether it is as good as that on clean test images.

    It is where the verdict on its test error is "equivalent", within the margin declared, or where
    all its results are those of the baseline.

    Args:
        arms: Of the sweep.
        compared: Their test errors with the baseline's.
    """
    by_arm = {arm.arm.name: one for one in compared for arm in one.arms}
    return {
        arm.arm.name: by_arm[arm.arm.name].verdict == "equivalent"
        if arm.arm.name in by_arm
        else bool(arm.counted)
        for arm in arms
        if not arm.is_baseline
    }


def matched_values(
    arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Mapping[str, dict[str, Value]]:
    """Return by arm, for programs, whether it is matched and how many of its trials never arrived.

    Empty where no trial stops in a window. Where data have an extra test, no arm is called matched:
    the test images may be of a kind on which nothing was to be equal.
    """
    if not has_window(arms):
        return {}
    are_matched = {} if _extra_tests(arms) else matched(arms, compared)
    return {
        arm.arm.name: {
            "num_target_missed": len(missed(arm)),
            "is_matched": are_matched.get(arm.arm.name),
        }
        for arm in arms
    }


def _extra_tests(arms: Sequence[ArmResults]) -> list[str]:
    trials = [trial for arm in arms for trial in arm.counted.values()]
    return sorted({name for trial in trials for name in trial.extra_test_errors})


def matched_notes(
    manifest: Manifest, arms: Sequence[ArmResults], compared: Sequence[Comparison]
) -> Iterator[str]:
    """Yield, where trials stop in a window, which arms are as good as the baseline on clean images.

    Args:
        manifest: The sweep's margin.
        arms: Of the sweep.
        compared: Their test errors with the baseline's.
    """
    if not has_window(arms) or len(arms) < 2:
        return
    if extra := _extra_tests(arms):
        yield (
            f"Trials stop in a window so that arms are equally good on images like those of "
            f"validation. The test images may be of another kind, so no arm is called matched: "
            f"compare the errors on {', '.join(map(repr, extra))} in trials.csv."
        )
        return
    if (within := manifest.margin_points) is None:
        yield (
            "Not matched: trials stop in a window so that arms are equally good on clean images, "
            "and no margin was declared within which their test errors have to be equivalent: give "
            "the sweep margin_points before you see results."
        )
        return
    are_matched = matched(arms, compared)
    words = f"to the baseline's within {PLUS_MINUS}{points_text(within)}, the margin declared"
    if equal := [arm for arm in arms if are_matched.get(arm.arm.name)]:
        yield f"Matched: clean test errors of {_names(equal)} are equivalent {words}."
    if apart := [arm for arm in arms if are_matched.get(arm.arm.name) is False]:
        yield (
            f"Not matched: clean test errors of {_names(apart)} are not shown to be equivalent "
            f"{words}: other differences from it may come from that."
        )


def arrival_notes(arms: Sequence[ArmResults]) -> Iterator[str]:
    """Yield, where trials stop in a window, how many never arrived in it."""
    late = [
        f"{len(missed(arm))} of {len(arm.counted)} of {_name(arm)}" for arm in arms if missed(arm)
    ]
    if late and has_window(arms):
        yield f"Trials that never reached their window and are in the means: {', '.join(late)}."


def _names(arms: Sequence[ArmResults]) -> str:
    return shortened(", ".join(map(_name, arms)), _LONGEST_NAMES)


def _name(arm: ArmResults) -> str:
    return one_line(arm.arm.name)


def _stopping(config: Json) -> Mapping[str, Any]:
    stopping = config.get("stopping")
    return cast(Mapping[str, Any], stopping) if isinstance(stopping, Mapping) else {}
