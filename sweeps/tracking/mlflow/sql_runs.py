"""Runs of an embedded store: read by SQL where its schema was tested, else by MLflow's client.

SQL is used because MLflow takes seconds to import. Every query gives what MLflow's client gives,
for whatever rows there are (tests/sweeps/tracking/mlflow/test_two_readers.py).
"""

import json
import logging
import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from sys import intern
from typing import Any, TypeVar

from sweeps.records.errors import StoreRefused
from sweeps.records.trial_record import METRIC_TEST_ERROR, TrialRecord
from sweeps.tracking.mlflow.client_runs import ClientRuns
from sweeps.tracking.mlflow.connection import opened_database
from sweeps.tracking.mlflow.runs import (
    EXPERIMENT,
    MOST_LETTERS,
    NAMED_BY,
    TAG_SHOWN,
    TYPE_ARM,
    History,
    RunData,
    counts,
    history_of,
    read_record,
    seconds,
    sweep_status,
)
from sweeps.tracking.mlflow.runs_page import VIEW, VIEW_TAG
from sweeps.tracking.record_facts import (
    TAG_ARM,
    TAG_DATA_FINGERPRINT,
    TAG_DELETED,
    TAG_LOG_HASH,
    TAG_REPLACED,
    TAG_SWEEP,
    TAG_TRIAL_KEY,
    TAG_TYPE,
)
from sweeps.tracking.store import SettledSweep
from sweeps.tracking.validation import counted_records

TESTED_SCHEMAS = frozenset({"dc11669786a5"})
"""What `alembic_version` may hold: of MLflow 3.17."""
_LIVE = """
select runs.run_uuid, runs.end_time from tags as type
join runs on runs.run_uuid = type.run_uuid
join experiments on experiments.experiment_id = runs.experiment_id
where type.key = ? and type.value = ? and runs.lifecycle_stage = 'active'
and experiments.name = ? and experiments.lifecycle_stage = 'active' {condition}
order by runs.start_time is null, runs.start_time, runs.run_uuid
"""
_DELETED = """
select held.value from tags as type
join runs on runs.run_uuid = type.run_uuid
join experiments on experiments.experiment_id = runs.experiment_id
join tags as held on held.run_uuid = type.run_uuid and held.key = ?
where type.key = ? and type.value = ? and experiments.name = ? and typeof(held.value) = 'text'
and (runs.lifecycle_stage = 'deleted' or experiments.lifecycle_stage = 'deleted')
and not exists (select 1 from tags as ours where ours.run_uuid = type.run_uuid and ours.key = ?)
"""
_FIRST_TESTS = """
select trained.value, min(runs.start_time) from tags as data
join runs on runs.run_uuid = data.run_uuid
join experiments on experiments.experiment_id = runs.experiment_id
join tags as trained on trained.run_uuid = data.run_uuid and trained.key = ?
where data.key = ? and data.value in (select value from json_each(?))
and trained.value in (select value from json_each(?))
and runs.lifecycle_stage = 'active' and typeof(runs.start_time) = 'integer'
and experiments.name = ? and experiments.lifecycle_stage = 'active'
and exists (select 1 from tags as t where t.run_uuid = data.run_uuid and t.key = ? and t.value = ?)
and not exists (select 1 from tags as t where t.run_uuid = data.run_uuid and t.key = ?)
and exists (select 1 from latest_metrics as t where t.run_uuid = data.run_uuid and t.key = ?)
group by trained.value
"""
_TAGGED = "and runs.run_uuid in (select run_uuid from tags where key = ? and {condition})"
_SWEEP = _TAGGED.format(condition="value = ?")
_KEYS = _TAGGED.format(condition="value in (select value from json_each(?))")
_START = _TAGGED.format(condition="substr(value, 1, length(?)) = ?")
_RUN = "and runs.run_uuid = ?"
_TAGS = """
select held.run_uuid, held.key, substr(held.value, 1, ?) from json_each(?) as wanted
cross join tags as held on held.run_uuid = wanted.value
where typeof(held.key) = 'text' and typeof(held.value) = 'text' and held.key glob 'capsweep.*'
"""
_NUMBERS = """
select held.run_uuid, held.key, held.value, held.is_nan from json_each(?) as wanted
cross join latest_metrics as held on held.run_uuid = wanted.value
where typeof(held.key) = 'text'
"""
_POINTS = """
select told.run_uuid, timestamp, step, told.value, is_nan from json_each(?) as wanted
cross join metrics as told on told.run_uuid = wanted.value and +told.key = ?
order by timestamp, step, told.value
"""
_FINISHED = """
select 1 from runs
join experiment_tags as view on view.experiment_id = runs.experiment_id
where runs.run_uuid = ? and runs.status = ? and view.key = ? and view.value = ?
"""
Values = Mapping[str, Mapping[str, Any]]
_NONE: Values = {}


def is_known(database: sqlite3.Connection) -> bool:
    """Return whether a database is of a schema that was tested, with one experiment of ours."""
    versions = {version for (version,) in database.execute("select * from alembic_version")}
    same = database.execute("select count(*) from experiments where name = ?", (EXPERIMENT,))
    return versions <= TESTED_SCHEMAS and same.fetchone()[0] <= 1


class SqlRuns:
    """Live runs of a database that is open, in one transaction.

    Args:
        database: Database with a known schema.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def sweeps(self, name: str | None = None) -> Sequence[RunData]:
        """Return the sweeps' own runs, the earliest started first, by their tags."""
        named = (TAG_SWEEP, name) if name is not None else ()
        ends = self._ends("sweep", _SWEEP if named else "", named)
        return _counted_runs(ends, self._tags(ends))

    def settled(self, sweep: str) -> SettledSweep | None:
        """Return what the own run of a finished sweep says; None where a page lacks our view."""
        run = next(iter(self.sweeps(sweep)), None)
        if run is None:
            return None
        wanted = (run.run_id, sweep_status(0), VIEW_TAG, VIEW)
        if not self._database.execute(_FINISHED, wanted).fetchone():
            return None
        arms = self._tags(self._ends(TYPE_ARM, _SWEEP, (TAG_SWEEP, sweep)))
        names = tuple(sorted(tags.get(TAG_ARM, "") for tags in arms.values()))
        log, shown = (run.tags.get(name, "") for name in (TAG_LOG_HASH, TAG_SHOWN))
        numbers = self._metrics([run.run_id]).get(run.run_id, {})
        return SettledSweep(run.run_id, log, shown, numbers, names)

    def trials(self, keys: Iterable[str]) -> Sequence[RunData]:
        """Return the trials' runs of some keys, the earliest started first."""
        return self._trials(_KEYS, (TAG_TRIAL_KEY, json.dumps([*keys])))

    def trials_beginning(self, start: str) -> Sequence[RunData]:
        """Return the trials' runs whose keys begin with a text."""
        return self._trials(_START, (TAG_TRIAL_KEY, start, start))

    def trials_of_run(self, run_id: str) -> Sequence[RunData]:
        """Return a trial's run by its id."""
        return self._trials(_RUN, (run_id,))

    def histories(
        self, run_ids: Sequence[str], metrics: Sequence[str]
    ) -> Iterable[tuple[str, str, History]]:
        """Yield each metric's history of each run."""
        wanted = json.dumps(run_ids)
        for metric in metrics:
            points = defaultdict[str, list[tuple[Any, Any, Any]]](list)
            for run_id, *point, is_nan in self._database.execute(_POINTS, (wanted, metric)):
                time, epoch, value = point
                points[run_id].append((time, epoch, math.nan if is_nan else value))
            for run_id in run_ids:
                yield run_id, metric, history_of(points.get(run_id, ()))

    def first_tests(
        self, sweeps: Collection[str], fingerprints: Collection[str]
    ) -> dict[str, float]:
        """Return when sweeps started their first trial with a test error on some data."""
        wanted = json.dumps([*fingerprints]), json.dumps([*sweeps])
        parameters = (TAG_SWEEP, TAG_DATA_FINGERPRINT, *wanted, EXPERIMENT)
        parameters = (*parameters, TAG_TYPE, "trial", TAG_REPLACED, METRIC_TEST_ERROR)
        rows = self._database.execute(_FIRST_TESTS, parameters)
        return {name: time for name, start in rows if (time := seconds(start)) is not None}

    def deleted(self, kind: str) -> frozenset[str]:
        """Return the names of a kind's runs that others have deleted."""
        parameters = (NAMED_BY[kind], TAG_TYPE, kind, EXPERIMENT, TAG_DELETED)
        return frozenset(name for (name,) in self._database.execute(_DELETED, parameters))

    def _trials(self, condition: str, parameters: tuple[str, ...]) -> Sequence[RunData]:
        ends = self._ends("trial", condition, parameters)
        return _counted_runs(ends, self._tags(ends), self._metrics(ends))

    def _tags(self, run_ids: Iterable[str]) -> Values:
        """Return the tags of runs that are ours, and texts: id -> name -> value."""
        rows = self._database.execute(_TAGS, (MOST_LETTERS + 1, json.dumps([*run_ids])))
        return {
            run_id: {intern(name): value for _, name, value in rows_of_run}
            for run_id, rows_of_run in groupby(rows, itemgetter(0))
        }

    def _metrics(self, run_ids: Iterable[str]) -> Values:
        """Return the last value of each metric of runs: id -> name -> value."""
        rows = self._database.execute(_NUMBERS, (json.dumps([*run_ids]),))
        return {
            run_id: {
                intern(name): math.nan if is_nan else value
                for _, name, value, is_nan in rows_of_run
            }
            for run_id, rows_of_run in groupby(rows, itemgetter(0))
        }

    def _ends(self, kind: str, condition: str, parameters: tuple[str, ...]) -> dict[str, Any]:
        """Return the live runs of a kind, id -> end, the earliest started first."""
        query = _LIVE.format(condition=condition)
        rows = self._database.execute(query, (TAG_TYPE, kind, EXPERIMENT, *parameters))
        return {run_id: ended for run_id, ended in rows if isinstance(run_id, str)}


def _counted_runs(ends: Mapping[str, Any], tags: Values, metrics: Values = _NONE) -> list[RunData]:
    """Return the runs that count."""
    empty = dict[str, Any]()
    return [
        RunData(run_id, own_tags, metrics.get(run_id, empty), end)
        for run_id, end in ends.items()
        if counts(own_tags := tags.get(run_id, empty))
    ]


_LOG = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class EmbeddedRuns:
    """Live runs of a database. Each question is one transaction, and writes nothing.

    Args:
        path: Path of the database.
        client: Who is asked where its schema is not known.
    """

    def __init__(self, path: Path, client: ClientRuns) -> None:
        self._path = path
        self._client = client

    def sweeps(self, name: str | None = None) -> Sequence[RunData]:
        """Return the sweeps' own runs."""
        with self._opened() as runs:
            if runs:
                return runs.sweeps(name)
        return self._client.sweeps(name)

    def settled(self, sweep: str) -> SettledSweep | None:
        """Return what the own run of a finished sweep says; None where SQL cannot tell."""
        with self._opened() as runs:
            return runs.settled(sweep) if runs else None

    def records(self, keys: Collection[str]) -> dict[str, TrialRecord]:
        """Return the record of each trial key that counts."""
        return self._records(lambda runs: runs.trials(keys), lambda: self._client.records(keys))

    def records_beginning(self, start: str) -> dict[str, TrialRecord]:
        """Return the records that count whose trial keys begin with letters and digits."""
        return self._records(
            lambda runs: runs.trials_beginning(start),
            lambda: self._client.records_beginning(start),
        )

    def records_of_run(self, run_id: str) -> dict[str, TrialRecord]:
        """Return a trial's record by the id of its run."""
        return self._records(
            lambda runs: runs.trials_of_run(run_id), lambda: self._client.records_of_run(run_id)
        )

    def histories(
        self, run_ids: Sequence[str], metrics: Sequence[str]
    ) -> Iterable[tuple[str, str, History]]:
        """Return each metric's history of each run."""
        with self._opened() as runs:
            if runs:
                return [*runs.histories(run_ids, metrics)]
        return self._client.histories(run_ids, metrics)

    def first_tests(
        self, sweeps: Collection[str], fingerprints: Collection[str]
    ) -> dict[str, float]:
        """Return when sweeps started their first trial with a test error on some data."""
        with self._opened() as runs:
            if runs:
                return runs.first_tests(sweeps, fingerprints)
        return self._client.first_tests(sweeps, fingerprints)

    def deleted(self, kind: str) -> frozenset[str]:
        """Return the names of a kind's runs that others have deleted."""
        with self._opened() as runs:
            if runs:
                return runs.deleted(kind)
        return self._client.deleted(kind)

    def _records(
        self,
        by_sql: Callable[[SqlRuns], Sequence[RunData]],
        by_client: Callable[[], dict[str, TrialRecord]],
    ) -> dict[str, TrialRecord]:
        with self._opened() as runs:
            runs_read = by_sql(runs) if runs else None
        # the transaction is over: who writes to the store does not wait for validation
        return by_client() if runs_read is None else counted_records(map(read_record, runs_read))

    @contextmanager
    def _opened(self) -> Generator[SqlRuns | None]:
        """Hold the database open as it is at one moment; None where it is MLflow's to read.

        Raises:
            BadInput: If it is not there, or is no MLflow store.
            StoreRefused: If it cannot be read.
        """
        with opened_database(self._path) as database:
            try:
                if is_known(database):
                    _LOG.info("SQL reads sqlite:///%s", self._path)
                    yield SqlRuns(database)
                    return
            except sqlite3.Error as error:
                sentence = f"The tracking store at {self._path} cannot be read: {error}"
                raise StoreRefused(sentence, str(error)) from error
        _LOG.info("%s has a schema that MLflow has to read, which takes longer", self._path)
        yield None
