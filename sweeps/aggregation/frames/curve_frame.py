"""Learning curves as a frame: one row an epoch of a trial."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capsmodel.metrics import HEALTH, Metric
from capsmodel.spelling import hint
from sweeps.aggregation.frames.cell_rows import SWEEP, CellRow, cell_rows, check_no_filter
from sweeps.aggregation.frames.units import with_units
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import EPOCH_METRICS, TrialRecord
from sweeps.tracking.opening import open_to_read
from sweeps.tracking.store import RecordStore

if TYPE_CHECKING:
    import pandas as pd

_OF_AN_EPOCH = {"arm": "str", "seed": "int64", "trial_key": "str", "epoch": "int64"}

History = Mapping[int, float]


def curves(
    name: str | None = None,
    tracking_uri: str | RecordStore | None = None,
    storage: str | None = None,
    *,
    metrics: str | Sequence[str] | None = None,
    where: None = None,
) -> "pd.DataFrame":
    """Return a frame with one row an epoch of each trial, and a column a metric.

    Its columns: sweep, where all are asked for, arm, seed, trial_key, epoch (from 1), and the
    metrics; what an epoch did not record is NaN. Trials stand in the sweep's order, whatever their
    outcome; one that a scheduler stopped as far as the sweep saw it.

    Args:
        name: The sweep's name; None for all sweeps.
        tracking_uri: Where records are, or the store; by default as the command line finds it.
        storage: Folder of the embedded store.
        metrics: Those of epochs; by default losses, validation error and those of the sweep's own
            parts.
        where: No longer an option: filter the frame with pandas.

    Raises:
        BadInput: If there is no such sweep, store or metric, or `where` is given.
        StoreUnreachable: If the tracking store does not answer.
    """
    import pandas as pd

    check_no_filter(where)
    store = open_to_read(tracking_uri, storage)
    cells = cell_rows(store, name)
    names = _names(cells, metrics)
    rows = [row for row in cells if row.record]
    records = {row.record.trial_key: row.record for row in rows if row.record}
    histories = {one: store.histories(records.values(), one) for one in names}
    first = {} if name else {SWEEP: "str"}
    frame = pd.DataFrame(
        [line for row in rows for line in _lines(row, histories)],
        columns=[*first, *_OF_AN_EPOCH, *names],
    )
    frame = frame.astype(first | _OF_AN_EPOCH | dict.fromkeys(names, "float64"))
    return with_units(frame, [metric for row in cells for metric in row.manifest.metrics])


def _lines(row: CellRow, histories: Mapping[str, Mapping[str, History]]) -> list[dict[str, Any]]:
    cell = row.cell
    own = {name: by_key.get(cell.trial_key, {}) for name, by_key in histories.items()}
    epochs = sorted({epoch for history in own.values() for epoch in history})
    last = cell.stopped.epoch if cell.stopped else None
    place = {SWEEP: row.manifest.sweep, "arm": cell.arm, "seed": cell.seed}
    return [
        place
        | {"trial_key": cell.trial_key, "epoch": epoch}
        | {name: history.get(epoch) for name, history in own.items()}
        for epoch in epochs
        if last is None or epoch <= last
    ]


def _names(rows: Sequence[CellRow], asked: str | Sequence[str] | None) -> list[str]:
    """Return the metrics that are asked for.

    Raises:
        BadInput: If one is none of an epoch.
    """
    own = {metric.name: metric for row in rows for metric in row.manifest.metrics}
    known = [*EPOCH_METRICS, *(name for name, metric in own.items() if metric.moment == "epoch")]
    if asked is None:
        return known
    given = [asked] if isinstance(asked, str) else [*map(str, asked)]
    health = _health([row.record for row in rows if row.record])
    for name in given:
        if name not in known and name not in health:
            raise _no_metric(name, known, health, own)
    return list(dict.fromkeys(given))


def _health(records: Sequence[TrialRecord]) -> list[str]:
    names = {name for record in records for name in record.metrics if name.startswith(HEALTH)}
    return sorted(names)


def _no_metric(
    name: str, known: Sequence[str], health: Sequence[str], own: Mapping[str, Metric]
) -> BadInput:
    is_of_the_end = name in own or name.startswith("test_error")
    why = "is of a trial's end, and no epoch has it" if is_of_the_end else "is not known"
    also = f", and {len(health)} of health, such as {health[0]}" if health else ""
    return BadInput(
        f"The metric '{name}' {why}.{hint(name, [*known, *health])} "
        f"Of epochs there are: {', '.join(known)}{also}."
    )
