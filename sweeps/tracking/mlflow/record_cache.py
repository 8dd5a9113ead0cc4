"""What a server said of final records, cached on this machine for readers.

A report of 1,000 trials takes 8 s with it and 127 s without. The cache has a folder for each
server, with two Parquet tables (records, histories) and the files that tables are made of. All of
it is derived and may be deleted at any time: a part that cannot be written is left out, and a part
that cannot be read, or was changed on the disk, is deleted and asked for anew. Launches cache
nothing.

Whether a cached record was replaced, deleted or evaluated since, three small searches find out.
"""

import hashlib
import io
import json
import logging
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from sweeps.records.errors import BadInput
from sweeps.records.trial_record import ARTIFACT_CONFIG, ARTIFACT_PREDICTIONS, TrialRecord
from sweeps.storage.folder import PRIVATE, Folder, folder_of, read_named_file
from sweeps.storage.locations import user_cache
from sweeps.tracking.mlflow.artifacts import Artifacts
from sweeps.tracking.mlflow.client_runs import ClientRuns
from sweeps.tracking.mlflow.runs import History, RunData

MAX_AGE_SECONDS = 600.0
"""How long a cached record counts, if the server says nothing else of it.

A run that was deleted and then freed by `mlflow gc` leaves no trace that could be asked for.
"""

_LOG = logging.getLogger(__name__)
_LAYOUT = 2  # of the tables: those of another layout lie in another folder
_MAX_TABLE_BYTES = 2**31
_MAX_FILE_BYTES = 16 * 2**20
_CACHED_FILES = frozenset({ARTIFACT_CONFIG, ARTIFACT_PREDICTIONS})
_RECORDS, _HISTORIES = "records.parquet", "histories.parquet"


class CachedRuns:
    """Live runs of a server, of which final records and their histories are cached; a `Runs`.

    Args:
        client: Who is asked for what is not in the cache.

    Attributes:
        folder: The server's folder in the cache; None before `records` is called, or where
            nothing can be cached.
    """

    def __init__(self, client: ClientRuns) -> None:
        self.folder: Path | None = None
        self._client = client
        self._final: dict[str, TrialRecord] = {}  # by run id, as `records` returned them

    def is_final(self, run_id: str) -> bool:
        """Return whether `records` has returned a run as a final record."""
        return run_id in self._final

    def sweeps(self, name: str | None = None) -> Sequence[RunData]:
        """Return the sweeps' own runs; none is cached, as each launch changes them."""
        return self._client.sweeps(name)

    def records(self, keys: Collection[str]) -> dict[str, TrialRecord]:
        """Return the record of each trial key that counts."""
        if len(keys) < 2:  # one request, as many as it would take to check the cache
            return self._client.records(keys)
        self.folder = _folder_of(self._client)
        cached = read_records(self.folder) if self.folder else {}
        valid = self._checked({key: entry for key, entry in cached.items() if entry.is_fresh})
        known = {key: valid[key].record for key in keys if key in valid}
        uris = {entry.record.record_id: entry.artifact_uri for entry in valid.values()}
        self._client.artifact_uris |= uris
        asked = self._client.records(keys - known.keys())
        new = {
            key: CachedRecord(
                record, time.time(), self._client.artifact_uris.get(record.record_id, "")
            )
            for key, record in asked.items()
            if record.outcome.is_final
        }
        if self.folder and valid | new != cached:
            write_records(self.folder, (valid | new).values())
        final = [*known.values(), *(entry.record for entry in new.values())]
        self._final |= {record.record_id: record for record in final}
        return known | asked

    def records_beginning(self, start: str) -> dict[str, TrialRecord]:
        """Return the records that count whose trial keys begin with letters and digits."""
        return self._client.records_beginning(start)

    def records_of_run(self, run_id: str) -> dict[str, TrialRecord]:
        """Return a trial's record by the id of its run."""
        return self._client.records_of_run(run_id)

    def histories(
        self, run_ids: Sequence[str], metrics: Sequence[str]
    ) -> Iterable[tuple[str, str, History]]:
        """Return each metric's history of each run; those of final records are asked for once."""
        if self.folder is None or not any(map(self.is_final, run_ids)):
            return self._client.histories(run_ids, metrics)
        cached = _read_histories(self.folder)
        wanted = [(run_id, metric) for run_id in run_ids for metric in metrics]
        asked: dict[tuple[str, str], History] = {}
        for metric in metrics:
            missing = [
                run_id
                for run_id in run_ids
                if (run_id, metric) not in cached or not self.is_final(run_id)
            ]
            for run_id, _, history in self._client.histories(missing, [metric]):
                asked[run_id, metric] = history
        if new := {at: history for at, history in asked.items() if self._is_whole(at[0], history)}:
            _write_histories(self.folder, cached | new)
        histories = cached | asked
        return [(run_id, metric, histories[run_id, metric]) for run_id, metric in wanted]

    def first_tests(
        self, sweeps: Collection[str], fingerprints: Collection[str]
    ) -> dict[str, float]:
        """Return when sweeps started their first trial with a test error on some data."""
        return self._client.first_tests(sweeps, fingerprints)

    def deleted(self, kind: str) -> frozenset[str]:
        """Return the names of a kind's runs that others have deleted; none is cached."""
        return self._client.deleted(kind)

    def _checked(self, cached: Mapping[str, "CachedRecord"]) -> dict[str, "CachedRecord"]:
        """Return cached records without deleted ones, and those evaluated since as they are now."""
        if not cached:
            return {}
        deleted = self._client.deleted_or_replaced()
        now = {record.record_id: record for record in self._client.evaluated().values()}
        return {
            key: entry._replace(record=now.get(entry.record.record_id, entry.record))
            for key, entry in cached.items()
            if entry.record.record_id not in deleted
        }

    def _is_whole(self, run_id: str, history: History) -> bool:
        """Return whether no epoch of a final record is missing, which a repair might add."""
        record = self._final.get(run_id)
        return record is not None and len(history) == record.epochs


class CachedArtifacts:
    """Files of a server's runs, of which those of final records are downloaded once.

    An `Artifacts`. Weights are not cached. A cached file lies in a folder named by its digest.

    Args:
        served: Who has the files.
        runs: Which runs are final, and where their files are cached.
    """

    def __init__(self, served: Artifacts, runs: CachedRuns) -> None:
        self._served = served
        self._runs = runs
        self.num_at_once = served.num_at_once
        self.location, self.write = served.location, served.write
        self.upload, self.delete = served.upload, served.delete

    def path(self, run_id: str, name: str) -> Path:
        """Return the local path of a file, downloaded if need be.

        Raises:
            BadInput: If the run does not hold it, or its address is not followed.
        """
        if cached := self._cached(run_id, name):
            return cached
        path = self._served.path(run_id, name)
        if folder := self._folder(run_id, name):
            with suppress(OSError, BadInput, ValueError):
                content = read_named_file(path, _MAX_FILE_BYTES)
                _check_whole(name, content)
                _write(folder / hashlib.sha256(content).hexdigest() / name, content)
        return path

    def size(self, run_id: str, name: str) -> int | None:
        """Return the bytes of a file, None where the run does not hold it.

        Raises:
            BadInput: If the run's address is not followed.
        """
        cached = self._cached(run_id, name)
        return cached.stat().st_size if cached else self._served.size(run_id, name)

    def _folder(self, run_id: str, name: str) -> Path | None:
        """Return where the digests of a file lie, None where it is not cached."""
        folder = self._runs.folder
        is_cached = folder and name in _CACHED_FILES and self._runs.is_final(run_id)
        return folder / "files" / run_id if folder and is_cached else None

    def _cached(self, run_id: str, name: str) -> Path | None:
        """Return the cached file, None where there is none that is sound."""
        folder = self._folder(run_id, name)
        for path in sorted(folder.glob(f"*/{name}")) if folder else ():
            with suppress(OSError, BadInput):
                content = _place(path).read(path.name, _MAX_FILE_BYTES)
                if hashlib.sha256(content).hexdigest() == path.parent.name:
                    return path
            _LOG.info("%s was changed on the disk, and is requested again", path)
            _drop(path)
        return None


class CachedRecord(NamedTuple):
    """A final record, when the server sent it, and where it said that the record's files lie.

    Attributes:
        sent_at: In seconds since 1970.
    """

    record: TrialRecord
    sent_at: float
    artifact_uri: str

    @property
    def is_fresh(self) -> bool:
        """Whether it was sent lately."""
        return 0 <= time.time() - self.sent_at < MAX_AGE_SECONDS


def read_records(folder: Path) -> dict[str, CachedRecord]:
    """Return the cached records by trial key."""
    path = folder / _RECORDS
    try:
        records = [
            CachedRecord(
                TrialRecord.model_validate(json.loads(row["record"])),
                float(row["told_at"]),
                str(row["artifact_uri"]),
            )
            for row in read_rows(path)
        ]
    except (
        KeyError,
        TypeError,
        ValueError,
        ValidationError,
    ):  # another release's, or no such table
        _drop(path)
        return {}
    return {entry.record.trial_key: entry for entry in records}


def write_records(folder: Path, records: Iterable[CachedRecord]) -> None:
    """Cache records in place of all that are cached."""
    import pyarrow as pa  # here, as it takes long to import

    rows = [
        {"record": json.dumps(record.model_dump()), "told_at": at, "artifact_uri": uri}
        for record, at, uri in records
    ]
    names = ("record", pa.string()), ("told_at", pa.float64()), ("artifact_uri", pa.string())
    schema = pa.schema([*names])
    write_rows(folder / _RECORDS, rows, schema)


def _read_histories(folder: Path) -> dict[tuple[str, str], History]:
    """Return the cached histories by run id and metric."""
    path = folder / _HISTORIES
    try:
        return {
            (row["record_id"], row["metric"]): dict(zip(row["epochs"], row["values"], strict=True))
            for row in read_rows(path)
        }
    except (KeyError, TypeError, ValueError):
        _drop(path)
        return {}


def _write_histories(folder: Path, histories: Mapping[tuple[str, str], History]) -> None:
    import pyarrow as pa  # here, as it takes long to import

    rows = [
        {"record_id": run_id, "metric": metric, "epochs": [*history], "values": [*history.values()]}
        for (run_id, metric), history in histories.items()
    ]
    names = [("record_id", pa.string()), ("metric", pa.string())]
    lists = [("epochs", pa.list_(pa.int64())), ("values", pa.list_(pa.float64()))]
    write_rows(folder / _HISTORIES, rows, pa.schema(names + lists))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a table, none where there is no sound one."""
    import pyarrow as pa  # here, as it takes long to import
    from pyarrow import parquet

    try:
        content = _place(path).read(path.name, _MAX_TABLE_BYTES)
        table = parquet.read_table(io.BytesIO(content), page_checksum_verification=True)
        return table.to_pylist()
    except (FileNotFoundError, RuntimeError):
        return []
    except (OSError, BadInput, pa.ArrowException, ValueError) as error:
        _LOG.info("%s cannot be read, and is made again: %s", path, error)
        _drop(path)
        return []


def write_rows(path: Path, rows: list[dict[str, Any]], schema: Any) -> None:
    """Write a table whole, in place of the one that is there.

    Args:
        path: Path of the table.
        rows: Name of a column -> value.
        schema: The table's pyarrow schema.
    """
    import pyarrow as pa
    from pyarrow import parquet

    buffer = io.BytesIO()
    with suppress(OSError, BadInput, RuntimeError, pa.ArrowException):
        table = pa.Table.from_pylist(rows, schema)
        parquet.write_table(table, buffer, compression="zstd", write_page_checksum=True)
        _write(path, buffer.getvalue())


def _folder_of(client: ClientRuns) -> Path | None:
    """Return the folder of a server, None where it has no experiment of ours, or the user no home.

    An address may lead to another server tomorrow, as those of this machine do: the time at which
    its experiment was created distinguishes them. The folder is named by a digest, as an address
    may hold a password.
    """
    experiment = client.experiment()
    if experiment is None:
        return None
    server = f"{_LAYOUT} {client.address} {experiment.experiment_id} {experiment.creation_time}"
    with suppress(RuntimeError):
        name = hashlib.sha256(server.encode()).hexdigest()[:32]
        return user_cache().path / "records" / name
    return None


def _write(path: Path, content: bytes) -> None:
    """Write a file whole where only its owner looks.

    Raises:
        BadInput: If the folder is a stranger's.
        OSError: If it cannot be written.
    """
    _place(path).make(0o700).write(path.name, content, PRIVATE)


def _drop(path: Path) -> None:
    with suppress(OSError, BadInput):
        _place(path).remove(path.name)


def _place(path: Path) -> Folder:
    """Return the folder of a cached file, from the user's cache down."""
    return folder_of(path, user_cache().path.parent)


def _check_whole(name: str, content: bytes) -> None:
    """Check that a file is whole: a repair might replace one that is cut off.

    Raises:
        ValueError: If it is cut off, or damaged otherwise so that it shows.
    """
    from safetensors import SafetensorError, deserialize

    if name.endswith(".json"):
        json.loads(content)
        return
    try:
        deserialize(content)
    except SafetensorError as error:
        raise ValueError(str(error)) from error
