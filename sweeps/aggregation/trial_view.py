"""One trial in full: its record, config, curve and evaluations."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from capsmodel.metrics import TEST_ERROR, VALIDATION_ERROR, is_name_of_part_metric
from sweeps.aggregation.rendering.notebook_pieces import (
    MOST_ROWS,
    Grid,
    Shown,
    block,
    facts,
    folded,
    settings,
    summary,
    value_text,
)
from sweeps.aggregation.results.recorded_evaluations import RecordedEvaluation, recorded_evaluations
from sweeps.aggregation.trained_models import trial_of
from sweeps.records.trial_record import (
    ARTIFACT_WEIGHTS,
    EPOCH_METRICS,
    Json,
    Outcome,
    TrialRecord,
)
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore


@dataclass(frozen=True, repr=False)
class TrialView:
    """One trial in full.

    Attributes:
        config: Its full training config.
        curve: Metric -> epoch -> value, of its losses, its validation error, and the metrics that
            parts of the user's measured.
        weights: Where its weights lie (path or address), None where none are kept.
        evaluations: What was found of its network after its training.
    """

    record: TrialRecord
    config: Json
    curve: Mapping[str, Mapping[int, float]]
    weights: str | None
    evaluations: tuple[RecordedEvaluation, ...] = ()

    def __repr__(self) -> str:
        parts = [f"arm '{self.record.arm}'", f"seed {self.record.seed}", str(self.record.outcome)]
        parts += [f"{name} {value}" for name, value in self._errors]
        return summary("TrialView", self.record.trial_key[:8], *parts)

    def _repr_html_(self) -> str:
        """Return it for a notebook: outcome, curve and settings, small and escaped."""
        record = self.record
        entries = [
            ("sweep", record.sweep),
            ("arm", record.arm),
            ("seed", str(record.seed)),
            ("outcome", f"{record.outcome}{': ' * bool(record.reason)}{record.reason}"),
            ("epochs", f"{record.epochs}{tested_text(record)}"),
            *self._errors,
            *(("warning", warning) for warning in record.warnings),
            ("weights", self.weights or "none are kept"),
        ]
        rows = [[Shown(text) for text in _texts(*row)] for row in self.epochs()[-MOST_ROWS:]]
        headings = ("epoch", *self.headings)
        curve = Grid(headings, rows, range(len(headings)))
        folds = (folded("curve", curve.html) if rows else "", settings(self.config))
        return block(f"trial {record.trial_key}", facts(entries), *folds)

    @property
    def headings(self) -> tuple[str, ...]:
        """What the metrics of the curve are called, in its order."""
        return tuple(name.replace("_", " ") for name in self.curve)

    def epochs(self) -> list[tuple[int, *tuple[float, ...]]]:
        """Return each epoch with its values in the order of the curve, NaN for a missing one."""
        epochs = sorted(set[int]().union(*self.curve.values()))
        histories = self.curve.values()
        return [(epoch, *(values.get(epoch, math.nan) for values in histories)) for epoch in epochs]

    @property
    def _errors(self) -> list[tuple[str, str]]:
        named = (("validation error", VALIDATION_ERROR), ("test error", TEST_ERROR))
        values = ((name, metric, self.record.value(metric)) for name, metric in named)
        return [
            (name, value_text(value, metric)) for name, metric, value in values if value is not None
        ]


def tested_text(record: TrialRecord) -> str:
    """Return which epoch's weights were tested, ", tested after 7", "" for those of the last."""
    return "" if record.tested_epoch is None else f", tested after {record.tested_epoch}"


def _texts(
    epoch: int, train_loss: float, validation_loss: float, error: float, *others: float
) -> list[str]:
    losses = (f"{train_loss:.5f}", f"{validation_loss:.5f}")
    measured = (f"{value:.5g}" for value in others)
    return [str(epoch), *losses, value_text(error, VALIDATION_ERROR), *measured]


def measured_by_parts(record: TrialRecord) -> list[str]:
    """Return the names of the epoch metrics in a record that parts of the user's measured."""
    return sorted(name for name in record.metrics if is_name_of_part_metric(name))


def show(
    trial: str, tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> TrialView:
    """Return one trial's record, config, curve and where its weights lie.

    Args:
        trial: The first characters of its trial key, or the id of its record.
        tracking_uri: Address of the records, or the store; by default that of the command line.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If no trial, or more than one, answers to it.
        StoreUnreachable: If the tracking store does not answer.
    """
    store = open_to_read(tracking_uri, storage)
    record = trial_of(trial, store)
    metrics = (*EPOCH_METRICS, *measured_by_parts(record))
    return TrialView(
        record=record,
        config=store.config(record),
        curve={name: store.histories([record], name)[record.trial_key] for name in metrics},
        weights=store.location(record, ARTIFACT_WEIGHTS)
        if record.outcome is Outcome.FINISHED and store.holds(record, ARTIFACT_WEIGHTS)
        else None,
        evaluations=recorded_evaluations(record, store),
    )
