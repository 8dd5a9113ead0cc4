"""Epoch after epoch of trials, as MLflow holds it."""

from typing import TYPE_CHECKING, Any

from sweeps.records import trial_record as names
from sweeps.tracking.mlflow.runs import as_recorded
from sweeps.tracking.store import CurvePoint

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient


def read_history(client: "MlflowClient", run_id: str, metric: str) -> dict[int, float]:
    """Return a metric of a run, epoch -> value, in order. Of two values the later counts.

    A row of a database may hold anything in place of a number, and is then left out.
    """
    told: list[tuple[Any, Any, Any]] = [
        (point.timestamp, point.step, point.value)
        for point in client.get_metric_history(run_id, metric)
    ]
    points = [point for point in told if all(isinstance(number, int | float) for number in point)]
    history = {
        step: as_recorded(value) for _, step, value in sorted(points, key=lambda point: point[0])
    }
    return dict(sorted(history.items()))


def read_curve(client: "MlflowClient", run_id: str) -> list[CurvePoint]:
    """Return a run's epochs in order. One request a metric."""
    histories = [read_history(client, run_id, name) for name in names.EPOCH_METRICS]
    epochs = sorted(set[int]().union(*histories))
    nan = float("nan")
    return [CurvePoint(e, *(history.get(e, nan) for history in histories)) for e in epochs]
