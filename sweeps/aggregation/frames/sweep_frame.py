"""Sweeps as a frame: one row a sweep of a store."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sweeps.aggregation.frames.units import with_units
from sweeps.aggregation.results.ranking import ranking
from sweeps.records.manifest import Manifest
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    import pandas as pd

_TYPES = {
    "sweep": "str",
    "description": "str",
    "kind": "str",
    "num_arms": "int64",
    "num_cells": "int64",
    "num_expected": "int64",
    "num_finished": "int64",
    "num_diverged": "int64",
    "num_failed": "int64",
    "last_ended_at": "datetime64[s, UTC]",
    "metric": "str",
    "best_arm": "str",
    "best": "float64",
    "best_low": "float64",
    "best_high": "float64",
}
_OF_THE_METRIC = ("best", "best_low", "best_high")  # whose unit it has, where all have one
_COUNTED = (Outcome.FINISHED, Outcome.DIVERGED, Outcome.FAILED)


def sweeps(
    tracking_uri: str | RecordStore | None = None, storage: str | None = None
) -> "pd.DataFrame":
    """Return a frame with one row a sweep of the store, by name.

    Its columns: sweep, description, kind ("design" or "search"), numbers of arms, of cells, of
    cells that there will be in the end, and of those whose trials are finished, diverged or failed;
    when the last trial ended (UTC), and of the best arm the mean of the metric that ranks, with
    its 95 % interval over seeds, as `best_configs` ranks arms. A fraction of 0.02 is 2 %.

    Args:
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.

    Raises:
        BadInput: If there is no such store, or a sweep's manifest is not valid.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd

    store = open_to_read(tracking_uri, storage)
    manifests = [store.manifest(name) for name in store.sweeps()]
    keys = {cell.trial_key for manifest in manifests for cell in manifest.cells}
    records = store.records(keys) if keys else {}
    rows = [_row(manifest, records) for manifest in manifests]
    frame = pd.DataFrame(rows, columns=[*_TYPES])
    frame["last_ended_at"] = pd.to_datetime(frame["last_ended_at"], unit="s", utc=True)
    units = {manifest.objective.metric.unit for manifest in manifests}
    own = dict.fromkeys(_OF_THE_METRIC, units.pop()) if len(units) == 1 else {}
    return with_units(frame.astype(_TYPES), own=own.items())


def _row(manifest: Manifest, records: Mapping[str, TrialRecord]) -> dict[str, Any]:
    cells = [(cell, records.get(cell.trial_key)) for cell in manifest.cells]
    outcomes = Counter(
        trial.outcome for cell, trial in cells if trial is not None and cell.stopped is None
    )
    ended = [trial.ended_at for _, trial in cells if trial is not None and trial.ended_at]
    ranked = ranking(manifest, records)
    best = ranked[0].value if ranked else None
    return {
        "sweep": manifest.sweep,
        "description": manifest.description,
        "kind": "search" if manifest.search else "design",
        "num_arms": len(manifest.arms),
        "num_cells": len(manifest.cells),
        "num_expected": manifest.num_expected,
        **{f"num_{outcome}": outcomes[outcome] for outcome in _COUNTED},
        "last_ended_at": max(ended, default=None),
        "metric": manifest.objective.metric.name,
        "best_arm": ranked[0].arm.arm.name if ranked else None,
        "best": best.mean if best else None,
        "best_low": best.low if best else None,
        "best_high": best.high if best else None,
    }
