"""Runs of an embedded store: by SQL where its schema was tested, else by MLflow's client."""

import logging
import sqlite3
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from sweeps.records.errors import StoreRefused
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking.addresses import sqlite_path
from sweeps.tracking.answers import those_that_count
from sweeps.tracking.mlflow.connection import opened_database
from sweeps.tracking.mlflow.reading.client_runs import ClientRuns
from sweeps.tracking.mlflow.reading.runs_read import FoundRun, History, Runs, record_of_found
from sweeps.tracking.mlflow.reading.sql_runs import SqlRuns, is_known

_LOG = logging.getLogger(__name__)
Answer = TypeVar("Answer")


class EmbeddedRuns:
    """Live runs of a database. Each question is one transaction, and writes nothing.

    Args:
        path: Of the database.
        client: Who is asked where its schema is not known.
    """

    def __init__(self, path: Path, client: ClientRuns) -> None:
        self._path = path
        self._client = client

    def sweeps(self, name: str | None = None) -> Sequence[FoundRun]:
        """Return the sweeps' own runs."""
        with self._opened() as runs:
            if runs:
                return runs.sweeps(name)
        return self._client.sweeps(name)

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

    def _records(
        self,
        by_sql: Callable[[SqlRuns], Sequence[FoundRun]],
        by_client: Callable[[], dict[str, TrialRecord]],
    ) -> dict[str, TrialRecord]:
        with self._opened() as runs:
            found = by_sql(runs) if runs else None
        # the transaction is over: who writes to the store does not wait for validation
        return by_client() if found is None else those_that_count(map(record_of_found, found))

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


def runs_of(address: str, *, by_client: bool) -> tuple[Runs, ClientRuns]:
    """Return how the runs of a store are read, and its client, which is not yet connected.

    Args:
        address: Of the store.
        by_client: Whether the client is asked also where SQL would be faster.
    """
    client = ClientRuns(address)
    path = None if by_client else sqlite_path(address)
    return (EmbeddedRuns(path, client) if path else client), client
