"""Runs as MLflow's client finds them: of a server, or of a database whose schema is not known."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from sweeps.records import trial_record as names
from sweeps.records.trial_record import TrialRecord
from sweeps.tracking import record_facts as facts
from sweeps.tracking.addresses import is_server
from sweeps.tracking.mlflow.connection import (
    REQUESTS_AT_ONCE,
    connect,
    in_parallel,
    mlflow_errors_as_ours,
)
from sweeps.tracking.mlflow.runs import (
    EXPERIMENT,
    NAMED_BY,
    History,
    RunData,
    counts,
    history_of,
    named,
    read_record,
    runs_that,
    seconds,
    tags_of,
)
from sweeps.tracking.validation import counted_records, keep

if TYPE_CHECKING:
    from mlflow.entities import Experiment, Run
    from mlflow.tracking import MlflowClient

_PAGE = 1000
_FEW = 100
_TRIALS = f"tags.`{facts.TAG_TYPE}` = 'trial'"
_SWEEPS = f"tags.`{facts.TAG_TYPE}` = 'sweep'"


class ClientRuns:
    """Live runs of a store, asked for by MLflow's client.

    Attributes:
        address: Address of the store.
        artifact_uris: Run id -> where its files lie, as the store said of each run that it
            returned.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.artifact_uris: dict[str, str] = {}

    @cached_property
    def client(self) -> "MlflowClient":
        """The client, connected when it is first needed."""
        return connect(self.address)

    def sweeps(self, name: str | None = None) -> Sequence[RunData]:
        """Return the sweeps' own runs."""
        named = "" if name is None else f" AND tags.`{facts.TAG_SWEEP}` = '{name}'"
        return [*self._runs(_SWEEPS + named)]

    def records(self, keys: Collection[str]) -> dict[str, TrialRecord]:
        """Return the record of each trial key that counts.

        The runs are searched page by page, so a call costs about 2 ms for each run of the store;
        where only few keys are still open after the first page, and for one key alone, these are
        asked for one by one instead.
        """
        if len(keys) == 1:
            return self._one_by_one(keys)
        records: dict[str, TrialRecord] = {}
        for count, run in enumerate(self._runs(_TRIALS) if keys else (), start=1):
            if run.tags.get(facts.TAG_TRIAL_KEY) in keys:
                keep(records, read_record(run))
            if count == _PAGE:
                open_keys = {key for key in keys if not _is_final(records.get(key))}
                if len(open_keys) <= _FEW:
                    return records | self._one_by_one(open_keys)
        return records

    def records_beginning(self, start: str) -> dict[str, TrialRecord]:
        """Return the records that count whose trial keys begin with letters and digits."""
        return self._records_of(f"{_TRIALS} AND tags.`{facts.TAG_TRIAL_KEY}` LIKE '{start}%'")

    def records_of_run(self, run_id: str) -> dict[str, TrialRecord]:
        """Return a trial's record by the id of its run."""
        return self._records_of(f"{_TRIALS} AND attributes.run_id = '{run_id}'")

    def histories(
        self, run_ids: Sequence[str], metrics: Sequence[str]
    ) -> Iterable[tuple[str, str, History]]:
        """Return each metric's history of each run. One request each: the store offers no more."""
        client = self.client  # connected here, before threads need it

        def ask(wanted: tuple[str, str]) -> tuple[str, str, History]:
            run_id, metric = wanted
            with mlflow_errors_as_ours(self.address):
                points_of_run = client.get_metric_history(run_id, metric)
            points = ((point.timestamp, point.step, point.value) for point in points_of_run)
            return run_id, metric, history_of(points)

        num_at_once = REQUESTS_AT_ONCE if is_server(self.address) else 1
        return in_parallel(ask, product(run_ids, metrics), num_at_once)

    def first_tests(
        self, sweeps: Collection[str], fingerprints: Collection[str]
    ) -> dict[str, float]:
        """Return when sweeps started their first trial with a test error on some data.

        One request of one run for each sweep and fingerprint, however many trials there are.
        """
        experiment = self.experiment()
        if experiment is None:
            return {}
        # no other sign may end the quotes of the search
        known = [fingerprint for fingerprint in fingerprints if fingerprint.isalnum()]
        starts = dict[str, float]()
        for sweep, fingerprint in product(sweeps, known):
            search = (
                f"{_TRIALS} AND tags.`{facts.TAG_SWEEP}` = '{sweep}' "
                f"AND tags.`{facts.TAG_DATA_FINGERPRINT}` = '{fingerprint}' "
                f"AND metrics.`{names.METRIC_TEST_ERROR}` >= 0"
            )
            with mlflow_errors_as_ours(self.address):
                runs = runs_that(self.client, experiment.experiment_id, search, page=1)
                first = next((run for run in runs if counts(tags_of(run))), None)
            start = seconds(first.info.start_time) if first else None
            if start is not None:
                starts[sweep] = min(start, starts.get(sweep, start))
        return starts

    def deleted(self, kind: str) -> frozenset[str]:
        """Return the names of a kind's runs that others have deleted."""
        with mlflow_errors_as_ours(self.address):
            experiment = self.client.get_experiment_by_name(EXPERIMENT)
            if experiment is None:
                return frozenset()
            view = "DELETED_ONLY" if experiment.lifecycle_stage == "active" else "ALL"
            search = f"tags.`{facts.TAG_TYPE}` = '{kind}'"
            runs = runs_that(self.client, experiment.experiment_id, search, view=view)
            tags = [tags_of(run) for run in runs]
        others = (tags_of_run for tags_of_run in tags if facts.TAG_DELETED not in tags_of_run)
        return frozenset(tags_of_run.get(NAMED_BY[kind], "") for tags_of_run in others)

    def experiment(self) -> "Experiment | None":
        """Return our experiment, None where the store has none, or a deleted one."""
        with mlflow_errors_as_ours(self.address):
            experiment = self.client.get_experiment_by_name(EXPERIMENT)
        return experiment if experiment and experiment.lifecycle_stage == "active" else None

    def deleted_or_replaced(self) -> frozenset[str]:
        """Return the ids of the trials' runs that were replaced, or are deleted and not freed."""
        replaced = f"{_TRIALS} AND tags.`{facts.TAG_REPLACED}` LIKE '%'"
        runs = [*self._all_runs(replaced), *self._all_runs(_TRIALS, "DELETED_ONLY")]
        return frozenset(run.run_id for run in runs)

    def evaluated(self) -> dict[str, TrialRecord]:
        """Return the records that count of trials that have been evaluated."""
        return self._records_of(f"{_TRIALS} AND tags.`{facts.TAG_EVALUATED}` LIKE '%'")

    def _runs(self, search: str) -> Iterator[RunData]:
        return (run for run in self._all_runs(search) if counts(run.tags))

    def _all_runs(self, search: str, view: str = "ACTIVE_ONLY") -> Iterator[RunData]:
        experiment = self.experiment()
        if experiment is None:
            return
        with mlflow_errors_as_ours(self.address):
            runs = runs_that(self.client, experiment.experiment_id, search, page=_PAGE, view=view)
            for run in runs:
                self.artifact_uris[run.info.run_id] = run.info.artifact_uri or ""
                yield run_data_of(run)

    def _records_of(self, search: str) -> dict[str, TrialRecord]:
        return counted_records(map(read_record, self._runs(search)))

    def _one_by_one(self, keys: Iterable[str]) -> dict[str, TrialRecord]:
        records: dict[str, TrialRecord] = {}
        for key in keys:
            if names.TRIAL_KEY.fullmatch(key):  # so that it cannot end the quotes of the search
                records |= self._records_of(f"{_TRIALS} AND tags.`{facts.TAG_TRIAL_KEY}` = '{key}'")
        return records


def run_data_of(run: "Run") -> RunData:
    """Return a run of MLflow's client as what a reader finds."""
    data, info = run.data, run.info
    return RunData(info.run_id, tags_of(run), named(data.metrics), info.end_time)


def _is_final(record: TrialRecord | None) -> bool:
    return record is not None and record.outcome.is_final
