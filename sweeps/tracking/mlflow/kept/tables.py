"""The two tables of a server's final records: what they are, and their histories."""

import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.mlflow.kept.place import drop, read_rows, write_rows
from sweeps.tracking.mlflow.reading.runs_read import History

BELIEVED_SECONDS = 600.0
"""How long a record is believed to be as it was told, if the server says nothing else of it.

One that was deleted and then freed, by `mlflow gc`, leaves no trace that could be asked for.
"""

_RECORDS, _HISTORIES = "records.parquet", "histories.parquet"


class KeptRecord(NamedTuple):
    """A final record and when the server told it, in seconds since 1970."""

    record: TrialRecord
    told_at: float

    @property
    def is_believed(self) -> bool:
        """Whether it was told lately."""
        return 0 <= time.time() - self.told_at < BELIEVED_SECONDS


def read_records(place: Path) -> dict[str, KeptRecord]:
    """Return the kept records by trial key."""
    path = place / _RECORDS
    try:
        told = [
            KeptRecord(TrialRecord.model_validate(json.loads(row["record"])), float(row["told_at"]))
            for row in read_rows(path)
        ]
    except (
        KeyError,
        TypeError,
        ValueError,
        ValidationError,
    ):  # of another release, or no such table
        drop(path)
        return {}
    return {one.record.trial_key: one for one in told}


def write_records(place: Path, records: Iterable[KeptRecord]) -> None:
    """Keep records, and no others."""
    import pyarrow as pa  # here, as it takes long to import

    rows = [{"record": json.dumps(one.model_dump()), "told_at": at} for one, at in records]
    schema = pa.schema([("record", pa.string()), ("told_at", pa.float64())])
    write_rows(place / _RECORDS, rows, schema)


def read_histories(place: Path) -> dict[tuple[str, str], History]:
    """Return the kept histories by record id and metric."""
    path = place / _HISTORIES
    try:
        return {
            (row["record_id"], row["metric"]): dict(zip(row["epochs"], row["values"], strict=True))
            for row in read_rows(path)
        }
    except (KeyError, TypeError, ValueError):
        drop(path)
        return {}


def write_histories(place: Path, histories: Mapping[tuple[str, str], History]) -> None:
    """Keep histories, and no others."""
    rows = [
        {"record_id": record_id, "metric": metric, "epochs": [*one], "values": [*one.values()]}
        for (record_id, metric), one in histories.items()
    ]
    write_rows(place / _HISTORIES, rows, _schema_of_histories())


def _schema_of_histories() -> Any:
    import pyarrow as pa

    names = [("record_id", pa.string()), ("metric", pa.string())]
    lists = [("epochs", pa.list_(pa.int64())), ("values", pa.list_(pa.float64()))]
    return pa.schema(names + lists)
