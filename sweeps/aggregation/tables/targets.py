"""Trainings that stop at a target: the target in words, and the trials that missed it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from capsmodel.metrics import Metric, find_metric
from sweeps.aggregation.rendering.table import Cell, Column
from sweeps.aggregation.results.arms import ArmResults
from sweeps.records.plain_text import one_line, shortened
from sweeps.records.trial_record import Json, TrialRecord

MARK = "\N{DAGGER}"
_LONGEST_WORDS = 100


def target_words(config: Json) -> str:
    """Return the target of a training config, "validation error at or below 4 %".

    "" where its stopping has none that could be put into words.
    """
    stopping = _stopping(config)
    metric, value = stopping.get("metric"), stopping.get("at_or_below")
    if not isinstance(metric, str) or not isinstance(value, int | float):
        return ""
    known = find_metric(metric) or Metric(name=metric)
    amount = f"{known.shown(value):g}{' %' * known.is_fraction}"
    return shortened(f"{metric.replace('_', ' ')} at or below {amount}", _LONGEST_WORDS)


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
    ending = [
        one_line(arm.arm.name)
        for arm in arms
        if any(trial.target for trial in arm.counted.values())
    ]
    if ending:
        yield (
            f"Trials of {', '.join(ending)} end with the first epoch that reaches their target, a "
            "figure of the validation images: that is their last epoch."
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


def _stopping(config: Json) -> Mapping[str, Any]:
    stopping = config.get("stopping")
    return cast(Mapping[str, Any], stopping) if isinstance(stopping, Mapping) else {}
