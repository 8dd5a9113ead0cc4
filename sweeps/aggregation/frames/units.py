"""In which units the columns of a frame are."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from capsmodel.metrics import Metric, find_metric

if TYPE_CHECKING:
    import pandas as pd

UNITS = "units"
"""The name in `frame.attrs` of a mapping, column -> unit, of the columns that have one."""

_OF_COLUMNS = {
    "epoch": "count",
    "epochs": "count",
    "stopped_epoch": "count",
    "num_parameters": "count",
    "threads": "count",
    "num_arms": "count",
    "num_cells": "count",
    "num_expected": "count",
    "num_finished": "count",
    "num_diverged": "count",
    "num_failed": "count",
    "num_trials": "count",
    "num_planned": "count",
    "duration_seconds": "seconds",
    "peak_memory_bytes": "bytes",
}


def with_units(
    frame: "pd.DataFrame",
    metrics: Iterable[Metric] = (),
    own: Iterable[tuple[str, str | None]] = (),
) -> "pd.DataFrame":
    """Return the frame, which now says the units of its columns.

    Losses, seeds and settings have none. A fraction of 0.02 is 2 %.

    Args:
        frame: Whatever its columns are.
        metrics: Those that are not built in.
        own: Column -> unit, of columns that are called so in this frame alone.
    """
    declared, given = tuple(metrics), dict(own)
    units = {name: given.get(name) or _unit(name, declared) for name in map(str, frame.columns)}
    frame.attrs[UNITS] = {name: unit for name, unit in units.items() if unit}
    return frame


def _unit(name: str, declared: Iterable[Metric]) -> str | None:
    metric = find_metric(name, declared)
    return metric.unit if metric else _OF_COLUMNS.get(name)
