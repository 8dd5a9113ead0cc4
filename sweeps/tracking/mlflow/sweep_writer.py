"""Writing to MLflow what belongs to a sweep: its own run, and what people see of it."""

import hashlib
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from mlflow import MlflowClient
from mlflow.entities import Run
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_RUN_NOTE

from sweeps.records.errors import BadInput, StoreRefused, StoreUnreachable
from sweeps.records.trial_record import ARTIFACT_MANIFEST, manifest_artifact
from sweeps.tracking import record_facts as facts
from sweeps.tracking.manifests import manifest_digest
from sweeps.tracking.mlflow.artifacts import artifacts_of, publish_files, read_artifact
from sweeps.tracking.mlflow.browsing.shown_runs import delete_arms, show
from sweeps.tracking.mlflow.browsing.standard_tags import sweep_note, who_tags
from sweeps.tracking.mlflow.connection import answering
from sweeps.tracking.mlflow.experiment import (
    create_once,
    find_or_create_experiment,
    writing_client,
)
from sweeps.tracking.mlflow.runs import EXPERIMENT, sweep_status, tags_of
from sweeps.tracking.shown_sweep import ShownSweep
from sweeps.tracking.store import FoundSweep

_SWEEPS = f"tags.`{facts.TAG_TYPE}` = 'sweep'"
P = ParamSpec("P")
R = TypeVar("R")
W = TypeVar("W", bound="SweepWriter")


def in_our_words(
    method: Callable[Concatenate[W, P], R],
) -> Callable[Concatenate[W, P], R]:
    """Make a method whose failures are ours: `StoreRefused`, with MLflow's reason."""

    @wraps(method)
    def method_in_our_words(writer: W, *arguments: P.args, **named: P.kwargs) -> R:
        try:
            with answering(writer.address):
                return method(writer, *arguments, **named)
        except BadInput as error:  # where files lie is not followed
            raise StoreRefused(str(error), str(error)) from error

    return method_in_our_words


class SweepWriter:
    """One MLflow store, and the parent runs of sweeps in it.

    Raises:
        MlflowException: If the store does not answer; from then on exceptions are ours.
    """

    def __init__(self, tracking_uri: str, artifacts: Path) -> None:
        self.address = tracking_uri
        self.client: MlflowClient = writing_client(tracking_uri)
        self.experiment_id = find_or_create_experiment(self.client, tracking_uri)
        self._artifacts = artifacts_of(lambda: self.client, tracking_uri, artifacts)

    def refuse_absence(self) -> None:
        """Return if the store answers.

        Raises:
            StoreUnreachable: If it does not.
        """
        try:
            with answering(self.address):
                self.client.get_experiment_by_name(EXPERIMENT)
        except StoreRefused as error:
            raise StoreUnreachable(str(error)) from error

    @in_our_words
    def find_sweep(self, sweep: str) -> FoundSweep | None:
        """Return a sweep's live parent run."""
        run = self._sweep_run(sweep)
        return FoundSweep(run.info.run_id, run.info.status == "RUNNING") if run else None

    @in_our_words
    def open_sweep(self, sweep: str, description: str) -> str:
        """Find or create a sweep's parent run and return its id."""
        if run := self._sweep_run(sweep):
            return run.info.run_id
        tags = facts.facts_of_sweep(sweep) | who_tags()
        tags |= {MLFLOW_RUN_NAME: sweep, MLFLOW_RUN_NOTE: sweep_note(sweep, description)}
        run = create_once(
            lambda: self.client.create_run(self.experiment_id, tags=tags),
            lambda: self._sweep_run(sweep),
        )
        return run.info.run_id

    @in_our_words
    def set_manifest(self, sweep_id: str, text: str) -> None:
        """Upload a manifest under its hash first and name it as current by a tag second."""
        digest = manifest_digest(text)
        run = self.client.get_run(sweep_id)
        is_named = tags_of(run).get(facts.TAG_MANIFEST_HASH) == digest
        name = manifest_artifact(digest)
        if not is_named or not self._holds(sweep_id, name, digest):
            self._artifacts.write(sweep_id, name, text)
            self.client.set_tag(sweep_id, facts.TAG_MANIFEST_HASH, digest)
            self._artifacts.write(sweep_id, ARTIFACT_MANIFEST, text)  # for people

    @in_our_words
    def settle_sweep(self, sweep_id: str, exit_code: int | None) -> None:
        """Write how the launch ended as MLflow's status of the parent run."""
        if exit_code is None:
            self.client.update_run(sweep_id, status=sweep_status(exit_code))
        else:
            self.client.set_terminated(sweep_id, sweep_status(exit_code))

    @in_our_words
    def show_sweep(self, sweep_id: str, shown: ShownSweep) -> None:
        """Write what MLflow's own pages show of a sweep beside its records."""
        show(self.client, self.experiment_id, sweep_id, shown)

    @in_our_words
    def publish_files(self, sweep_id: str, paths: Iterable[Path]) -> None:
        """Upload a report's files to the sweep's parent run, under `report/`."""
        publish_files(self._artifacts, sweep_id, paths)

    @in_our_words
    def delete_record(self, record_id: str) -> None:
        """Mark a run as deleted, as MLflow's own UI does, and of a sweep those of its arms."""
        delete_arms(self.client, self.experiment_id, record_id)
        self.client.delete_run(record_id)

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
