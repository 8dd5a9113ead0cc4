"""Writing to MLflow: the runs of trials and of sweeps."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from mlflow import MlflowClient
from mlflow.entities import LifecycleStage, Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID, MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE

from capsmodel.metrics import HEALTH, EpochMetrics
from sweeps.records.cell_contents import FinalRecord, TrialSpec
from sweeps.records.errors import BadInput, StoreRefused, StoreUnreachable
from sweeps.records.evaluation_names import evaluation_tag, recorded_kinds
from sweeps.records.plain_text import one_line
from sweeps.records.trial_record import (
    ARTIFACT_CONFIG,
    ARTIFACT_SOURCE,
    ARTIFACT_SWEEP_LOG,
    ARTIFACT_WEIGHTS,
    EPOCH_METRICS,
    ConfigDocument,
    Outcome,
    sweep_log_artifact,
)
from sweeps.tracking import record_facts as facts
from sweeps.tracking.addresses import public
from sweeps.tracking.mlflow.artifacts import Artifacts, artifacts_of, publish_files, read_artifact
from sweeps.tracking.mlflow.browsing_runs import delete_arms, write_summary
from sweeps.tracking.mlflow.connection import mlflow_errors_as_ours
from sweeps.tracking.mlflow.database import create_database
from sweeps.tracking.mlflow.experiment import (
    client_for_writing,
    create_once,
    find_or_create_experiment,
)
from sweeps.tracking.mlflow.runs import EXPERIMENT, RUN_STATUS, runs_that, sweep_status, tags_of
from sweeps.tracking.mlflow.runs_page import keep_view
from sweeps.tracking.mlflow.tags import (
    changed_labels,
    commit_tags,
    member_tag,
    run_tags,
    sweep_note,
    who_tags,
)
from sweeps.tracking.proxies import address_and_proxy
from sweeps.tracking.store import NO_LABELS, FreedWeights, SweepRef, TrialRef
from sweeps.tracking.sweep_logs import log_digest
from sweeps.tracking.sweep_summary import SweepSummary

_SWEEPS = f"tags.`{facts.TAG_TYPE}` = 'sweep'"
_BATCH = 900  # metrics a call; the store takes at most 1,000
P = ParamSpec("P")
R = TypeVar("R")


def open_writer(tracking_uri: str, artifacts: Path) -> "MlflowWriter":
    """Open MLflow for writing; the database and the experiment are made if need be.

    Raises:
        StoreUnreachable: If it does not answer.
    """
    try:
        create_database(tracking_uri)
        return MlflowWriter(tracking_uri, artifacts)
    except (MlflowException, OSError) as error:
        raise StoreUnreachable(
            f"The tracking store {address_and_proxy(tracking_uri)} does not answer: "
            f"{one_line(public(str(error)))[:200]}"
        ) from error


def with_our_errors(
    method: Callable[Concatenate["MlflowWriter", P], R],
) -> Callable[Concatenate["MlflowWriter", P], R]:
    """Make a method raise `StoreRefused`, with MLflow's reason, where MLflow raises."""

    @wraps(method)
    def method_with_our_errors(writer: "MlflowWriter", *arguments: P.args, **named: P.kwargs) -> R:
        try:
            with mlflow_errors_as_ours(writer.address):
                return method(writer, *arguments, **named)
        except BadInput as error:  # where files lie is not followed
            raise StoreRefused(str(error), str(error)) from error

    return method_with_our_errors


class MlflowWriter:
    """Writes records to one MLflow store; a `RecordWriter`.

    Records are runs, facts are tags, settings are parameters. A trial's run is found by its trial
    key; the run of a sweep is the parent of its trials' runs.

    Raises:
        MlflowException: If the store does not answer; from then on exceptions are ours.
    """

    def __init__(self, tracking_uri: str, artifacts: Path) -> None:
        self.address = tracking_uri
        self.client: MlflowClient = client_for_writing(tracking_uri)
        self.experiment_id = find_or_create_experiment(self.client, tracking_uri)
        self._artifacts = artifacts_of(lambda: self.client, tracking_uri, artifacts)

    def check_reachable(self) -> None:
        """Return if the store answers.

        Raises:
            StoreUnreachable: If it does not.
        """
        try:
            with mlflow_errors_as_ours(self.address):
                self.client.get_experiment_by_name(EXPERIMENT)
        except StoreRefused as error:
            raise StoreUnreachable(str(error)) from error

    @with_our_errors
    def find_sweep(self, sweep: str) -> SweepRef | None:
        """Return a sweep's live parent run."""
        run = self._sweep_run(sweep)
        return SweepRef(run.info.run_id, run.info.status == "RUNNING") if run else None

    @with_our_errors
    def open_sweep(
        self, sweep: str, description: str, labels: Mapping[str, str] = NO_LABELS
    ) -> str:
        """Find or create a sweep's parent run and return its id."""
        if run := self._sweep_run(sweep):
            if changed := changed_labels(run, labels):
                self.client.log_batch(run.info.run_id, tags=changed, synchronous=True)
            return run.info.run_id
        keep_view(self.client, self.experiment_id)  # the row of a sweep that runs has numbers too
        tags = facts.facts_of_sweep(sweep) | who_tags()
        tags |= {name: text for name, text in labels.items() if text}
        tags |= {MLFLOW_RUN_NAME: sweep, MLFLOW_RUN_NOTE: sweep_note(sweep, description)}
        run = create_once(
            lambda: self.client.create_run(self.experiment_id, tags=tags),
            lambda: self._sweep_run(sweep),
        )
        return run.info.run_id

    @with_our_errors
    def set_sweep_log(self, sweep_id: str, text: str) -> None:
        """Upload a log under its hash first and name it as current by a tag second."""
        digest = log_digest(text)
        run = self.client.get_run(sweep_id)
        is_named = tags_of(run).get(facts.TAG_LOG_HASH) == digest
        name = sweep_log_artifact(digest)
        if not is_named or not self._holds(sweep_id, name, digest):
            self._artifacts.write(sweep_id, name, text)
            self._artifacts.write(sweep_id, ARTIFACT_SWEEP_LOG, text)  # for people
            self.client.set_tag(sweep_id, facts.TAG_LOG_HASH, digest)

    @with_our_errors
    def settle_sweep(self, sweep_id: str, exit_code: int | None) -> None:
        """Write how the launch ended as MLflow's status of the parent run."""
        if exit_code is None:
            self.client.update_run(sweep_id, status=sweep_status(exit_code))
        else:
            self.client.set_terminated(sweep_id, sweep_status(exit_code))

    @with_our_errors
    def write_summary(self, sweep_id: str, summary: SweepSummary) -> None:
        """Write the summary that MLflow's pages show of a sweep."""
        write_summary(self.client, self.experiment_id, sweep_id, summary)

    @with_our_errors
    def publish_files(self, sweep_id: str, paths: Iterable[Path]) -> None:
        """Upload a report's files to the sweep's parent run, under `report/`."""
        publish_files(self._artifacts, sweep_id, paths)

    @with_our_errors
    def delete_record(self, record_id: str) -> None:
        """Mark a run as deleted, as MLflow's own UI does, and of a sweep those of its arms."""
        delete_arms(self.client, self.experiment_id, record_id)
        self.client.set_tag(record_id, facts.TAG_DELETED, "true")
        self.client.delete_run(record_id)

    @with_our_errors
    def find_trial(self, trial_key: str) -> TrialRef | None:
        """Return the live run of a trial key, the earliest if there are several."""
        run = self._trial_run(trial_key)
        if run is None:
            return None
        outcome = tags_of(run).get(facts.TAG_OUTCOME)
        return TrialRef(run.info.run_id, Outcome(outcome) if outcome in set(Outcome) else None)

    @with_our_errors
    def records_of(self, trial_key: str) -> tuple[str, ...]:
        """Return the ids of all live runs of a trial key, those set aside as well."""
        return tuple(run.info.run_id for run in self._runs_of(trial_key))

    @with_our_errors
    def create_trial(self, spec: TrialSpec, sweep_id: str, time: int) -> str:
        """Create the run of a trial and return its id."""
        tags = facts.facts_at_creation(spec) | who_tags() | commit_tags(spec.git_revision)
        tags |= {MLFLOW_PARENT_RUN_ID: sweep_id, member_tag(spec.sweep): spec.arm}
        taken = {tag.key: tag.value for tag in run_tags(tags)}

        def create() -> Run:
            return self.client.create_run(
                self.experiment_id,
                start_time=time,
                tags=taken,
                run_name=f"{spec.arm}, seed {spec.seed}",
            )

        return create_once(create, lambda: self._trial_run(spec.trial_key)).info.run_id

    @with_our_errors
    def describe_trial(self, record_id: str, spec: TrialSpec) -> None:
        """Write a trial's settings, config and source. Repeating it does nothing."""
        settings = facts.flat_settings(spec.config)
        parameters = [Param(path, text) for path, text in settings.items()]
        self.client.log_batch(record_id, params=parameters, synchronous=True)
        document = ConfigDocument(config=spec.config).model_dump(mode="json")
        self._artifacts.write(record_id, ARTIFACT_CONFIG, json.dumps(document, indent=2))
        if spec.source:
            self._artifacts.write(record_id, ARTIFACT_SOURCE, facts.source_text(spec.source))

    @with_our_errors
    def describe_attempt(self, record_id: str, spec: TrialSpec) -> None:
        """Write what another attempt at the same trial may change."""
        self._set_tags(record_id, facts.facts_of_attempt(spec))

    @with_our_errors
    def epochs(self, record_id: str) -> frozenset[int]:
        """Return the epochs of which a run has all losses and errors."""
        histories = (self.client.get_metric_history(record_id, name) for name in EPOCH_METRICS)
        return frozenset.intersection(
            *(frozenset(point.step for point in history) for history in histories)
        )

    @with_our_errors
    def log_epochs(self, record_id: str, epochs: Sequence[tuple[EpochMetrics, int]]) -> None:
        """Write epochs with the times they were told at: a copy sent again is dropped.

        MLflow's page of a run has its numbers in the order in which they first came.
        """
        last, _ = epochs[-1]
        tags = run_tags({facts.TAG_EPOCHS: str(last.epoch)})
        metrics = [
            Metric(name, value, time, epoch.epoch)
            for epoch, time in epochs
            for name, value in sorted(epoch.numbers().items(), key=_place)
        ]
        for start in range(0, len(metrics), _BATCH):
            batch = metrics[start : start + _BATCH]
            self.client.log_batch(record_id, metrics=batch, tags=tags, synchronous=True)

    @with_our_errors
    def log_metrics(
        self, record_id: str, numbers: Mapping[str, float], time: int, step: int
    ) -> None:
        """Write some numbers of one step, if there are any."""
        if numbers:
            metrics = _metrics(numbers, time, step)
            self.client.log_batch(record_id, metrics=metrics, synchronous=True)

    @with_our_errors
    def set_outcome(
        self,
        record_id: str,
        outcome: Outcome,
        *,
        reason: str | None = None,
        epochs: int | None = None,
        time: int | None = None,
    ) -> None:
        """Write a run's outcome as MLflow's status and as tags."""
        self._end(record_id, outcome, facts.facts_of_outcome(outcome, reason, epochs), time=time)

    @with_our_errors
    def set_final(self, record_id: str, final: FinalRecord) -> None:
        """Write a final record as MLflow's status, tags and metrics."""
        metrics = _metrics(facts.numbers_of_final(final), final.time, len(final.curve))
        tags = facts.facts_of_final(final)
        self._end(record_id, final.outcome, tags, time=final.time, metrics=metrics)

    def _end(
        self,
        record_id: str,
        outcome: Outcome,
        tags: Mapping[str, str],
        *,
        time: int | None,
        metrics: Sequence[Metric] = (),
    ) -> None:
        """Write an outcome as MLflow's status and as tags.

        The tags, which are what counts, are written last: nobody comes back to a record that is
        final, so one that was broken off between the two would keep the wrong status.
        """
        if outcome is Outcome.RUNNING:
            self.client.update_run(record_id, status=RUN_STATUS[outcome])
        else:
            self.client.set_terminated(record_id, RUN_STATUS[outcome], end_time=time)
        self.client.log_batch(record_id, metrics, tags=run_tags(tags), synchronous=True)

    @with_our_errors
    def upload(self, record_id: str, path: Path, name: str = "") -> None:
        """Add a file to a run's artifacts, by default under its own name, if it is there."""
        if path.exists():
            self._artifacts.upload(record_id, path, name or path.name)

    @with_our_errors
    def recorded_evaluation_keys(self, record_id: str) -> frozenset[str]:
        """Return the keys of the evaluations that a run is tagged with."""
        return frozenset(recorded_kinds(tags_of(self.client.get_run(record_id))))

    @with_our_errors
    def record_evaluation(self, record_id: str, key: str, kind: str) -> None:
        """Tag a run with an evaluation that it holds."""
        self._set_tags(record_id, {evaluation_tag(key): kind, facts.TAG_EVALUATED: key})

    @with_our_errors
    def is_deleted(self, record_id: str) -> bool:
        """Return whether somebody has deleted a run."""
        try:
            return self.client.get_run(record_id).info.lifecycle_stage != LifecycleStage.ACTIVE
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return True

    @with_our_errors
    def mark_replaced(self, trial_keys: Iterable[str]) -> None:
        """Tag the runs of trial keys as replaced."""
        for key in trial_keys:
            while run := self._trial_run(key):
                self.client.set_tag(run.info.run_id, facts.TAG_REPLACED, "true")

    @with_our_errors
    def delete_weights(self, record_id: str) -> FreedWeights:
        """Delete the weights of a run, and look whether they are gone."""
        return _delete_weights(self._artifacts, record_id)

    def _holds(self, run_id: str, name: str, digest: str) -> bool:
        """Return whether a run holds a text as it was written, neither lost nor damaged."""
        try:
            content = read_artifact(self._artifacts, run_id, name)
        except (BadInput, OSError):
            return False
        return hashlib.sha256(content).hexdigest() == digest

    def _sweep_run(self, sweep: str) -> Run | None:
        runs = self.client.search_runs(
            [self.experiment_id],
            filter_string=f"{_SWEEPS} and tags.`{facts.TAG_SWEEP}` = '{sweep}'",
            order_by=["attributes.start_time ASC"],
            max_results=1,
        )
        return runs[0] if runs else None

    def _set_tags(self, run_id: str, tags: Mapping[str, str]) -> None:
        self.client.log_batch(run_id, tags=run_tags(tags), synchronous=True)

    def _trial_run(self, trial_key: str) -> Run | None:
        runs = self._runs_of(trial_key)
        return next((run for run in runs if facts.TAG_REPLACED not in tags_of(run)), None)

    def _runs_of(self, trial_key: str) -> Iterator[Run]:
        condition = f"tags.`{facts.TAG_TRIAL_KEY}` = '{trial_key}'"
        return runs_that(self.client, self.experiment_id, condition)


def _delete_weights(artifacts: Artifacts, run_id: str) -> FreedWeights:
    """Delete the weights of a run, and look whether they are gone.

    Raises:
        MlflowException: If the store does not answer.
    """
    try:
        size = artifacts.size(run_id, ARTIFACT_WEIGHTS)
    except BadInput as error:  # where they lie is not followed
        return FreedWeights(0, str(error))
    if size is None:
        return FreedWeights(0, "")
    reason = "they still exist after it was asked to"
    try:
        artifacts.delete(run_id, ARTIFACT_WEIGHTS)
    except (MlflowException, NotImplementedError, OSError) as error:
        reason = one_line(public(str(error)))[:200] or type(error).__name__
    if artifacts.size(run_id, ARTIFACT_WEIGHTS) is None:
        return FreedWeights(size, "")
    return FreedWeights(
        0, f"The tracking store does not delete weights, so its copies stay: {reason}."
    )


def _metrics(numbers: Mapping[str, float], time: int, step: int) -> list[Metric]:
    return [Metric(name, value, time, step) for name, value in numbers.items()]


def _place(number: tuple[str, float]) -> int:
    """Return where a number of an epoch stands: errors before losses, health behind all others."""
    name = number[0]
    if name in EPOCH_METRICS:
        return -EPOCH_METRICS.index(name)
    return 2 if name.startswith(HEALTH) else 1
