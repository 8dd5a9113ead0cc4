"""Writing to MLflow: trials' runs found by trial key, beside the parent runs of sweeps."""

import json
import time as clock
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from mlflow.entities import LifecycleStage, Metric, Param, Run
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from capsmodel.metrics import HEALTH
from sweeps.records.cell_contents import TrialHead
from sweeps.records.evaluation_names import evaluation_tag, recorded_kinds
from sweeps.records.trial_record import (
    ARTIFACT_CONFIG,
    ARTIFACT_SOURCE,
    EPOCH_METRICS,
    ConfigDocument,
    Outcome,
)
from sweeps.tracking import record_facts as facts
from sweeps.tracking.mlflow.browsing.standard_tags import commit_tags, member_tag, who_tags
from sweeps.tracking.mlflow.experiment import create_once
from sweeps.tracking.mlflow.run_tags import run_tags
from sweeps.tracking.mlflow.runs import RUN_STATUS, runs_that, tags_of
from sweeps.tracking.mlflow.sweep_writer import SweepWriter, in_our_words
from sweeps.tracking.mlflow.weights import delete_weights
from sweeps.tracking.record_facts import EpochTold, OutcomeFacts
from sweeps.tracking.store import FoundTrial, FreedWeights

_BATCH = 900  # metrics a call; the store takes at most 1,000


class MlflowWriter(SweepWriter):
    """One MLflow store; a `RecordWriter`. Records are runs, facts tags, settings parameters."""

    @in_our_words
    def find_trial(self, trial_key: str) -> FoundTrial | None:
        """Return the live run of a trial key, the earliest if there are several."""
        run = self._trial_run(trial_key)
        if run is None:
            return None
        told = tags_of(run).get(facts.TAG_OUTCOME)
        return FoundTrial(run.info.run_id, Outcome(told) if told in set(Outcome) else None)

    @in_our_words
    def records_of(self, trial_key: str) -> tuple[str, ...]:
        """Return the ids of all live runs of a trial key, those set aside as well."""
        return tuple(run.info.run_id for run in self._runs_of(trial_key))

    @in_our_words
    def create_trial(self, head: TrialHead, sweep_id: str, time: int) -> str:
        """Create the run of a trial and return its id."""
        tags = facts.facts_at_creation(head) | who_tags() | commit_tags(head.git_revision)
        tags |= {MLFLOW_PARENT_RUN_ID: sweep_id, member_tag(head.sweep): head.arm}
        taken = {tag.key: tag.value for tag in run_tags(tags)}

        def create() -> Run:
            return self.client.create_run(
                self.experiment_id,
                start_time=time,
                tags=taken,
                run_name=f"{head.arm}, seed {head.seed}",
            )

        return create_once(create, lambda: self._trial_run(head.trial_key)).info.run_id

    @in_our_words
    def describe_trial(self, record_id: str, head: TrialHead) -> None:
        """Write a trial's settings, config and source. Repeating it does nothing."""
        settings = facts.flat_settings(head.config)
        parameters = [Param(path, text) for path, text in settings.items()]
        self.client.log_batch(record_id, params=parameters, synchronous=True)
        document = ConfigDocument(config=head.config).model_dump(mode="json")
        self._artifacts.write(record_id, ARTIFACT_CONFIG, json.dumps(document, indent=2))
        if head.source:
            self._artifacts.write(record_id, ARTIFACT_SOURCE, facts.source_text(head.source))

    @in_our_words
    def describe_attempt(self, record_id: str, head: TrialHead) -> None:
        """Write what another attempt at the same trial may change."""
        self._set_tags(record_id, facts.facts_of_attempt(head))

    @in_our_words
    def epochs(self, record_id: str) -> frozenset[int]:
        """Return the epochs of which a run has all losses and errors."""
        histories = (self.client.get_metric_history(record_id, name) for name in EPOCH_METRICS)
        return frozenset.intersection(
            *(frozenset(point.step for point in history) for history in histories)
        )

    @in_our_words
    def log_epochs(self, record_id: str, epochs: Sequence[EpochTold]) -> None:
        """Write epochs with the times they were told at: a copy sent again is dropped.

        MLflow's page of a run has its numbers in the order in which they first came.
        """
        tags = run_tags({facts.TAG_EPOCHS: str(epochs[-1].line.epoch)})
        metrics = [
            Metric(name, value, told.time, told.line.epoch)
            for told in epochs
            for name, value in sorted(told.line.numbers().items(), key=_place)
        ]
        for start in range(0, len(metrics), _BATCH):
            batch = metrics[start : start + _BATCH]
            self.client.log_batch(record_id, metrics=batch, tags=tags, synchronous=True)

    @in_our_words
    def log_metrics(
        self, record_id: str, numbers: Mapping[str, float], time: int, step: int
    ) -> None:
        """Write some numbers of one step, if there are any."""
        if numbers:
            metrics = _metrics(numbers, time, step)
            self.client.log_batch(record_id, metrics=metrics, synchronous=True)

    @in_our_words
    def set_outcome(
        self, record_id: str, outcome: Outcome, told: OutcomeFacts, time: int | None = None
    ) -> None:
        """Write a run's outcome as MLflow's status and as tags.

        The tags, which are what counts, are written last: nobody comes back to a record that is
        final, so one that was broken off between the two would keep the wrong status.
        """
        if outcome is Outcome.RUNNING:
            self.client.update_run(record_id, status=RUN_STATUS[outcome])
        else:
            self.client.set_terminated(record_id, RUN_STATUS[outcome], end_time=time)
        moment = round(1000 * clock.time()) if time is None else time
        metrics = _metrics(told.test_errors, moment, told.epochs or 0)
        tags = run_tags(facts.facts_of_outcome(outcome, told))
        self.client.log_batch(record_id, metrics=metrics, tags=tags, synchronous=True)

    @in_our_words
    def upload(self, record_id: str, path: Path) -> None:
        """Add a file to a run's artifacts, if it is there."""
        if path.exists():
            self._artifacts.upload(record_id, path)

    @in_our_words
    def noted_evaluations(self, record_id: str) -> frozenset[str]:
        """Return the keys of the evaluations that a run is tagged with."""
        return frozenset(recorded_kinds(tags_of(self.client.get_run(record_id))))

    @in_our_words
    def note_evaluation(self, record_id: str, key: str, kind: str) -> None:
        """Tag a run with an evaluation that it holds."""
        self._set_tags(record_id, {evaluation_tag(key): kind, facts.TAG_EVALUATED: key})

    @in_our_words
    def is_gone(self, record_id: str) -> bool:
        """Return whether somebody has deleted a run."""
        try:
            return self.client.get_run(record_id).info.lifecycle_stage != LifecycleStage.ACTIVE
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return True

    @in_our_words
    def set_aside(self, trial_keys: Iterable[str]) -> None:
        """Tag the runs of trial keys as replaced."""
        for key in trial_keys:
            while run := self._trial_run(key):
                self.client.set_tag(run.info.run_id, facts.TAG_REPLACED, "true")

    @in_our_words
    def delete_weights(self, record_id: str) -> FreedWeights:
        """Delete the weights of a run, and look whether they are gone."""
        return delete_weights(self._artifacts, record_id)

    def _set_tags(self, run_id: str, tags: Mapping[str, str]) -> None:
        self.client.log_batch(run_id, tags=run_tags(tags), synchronous=True)

    def _trial_run(self, trial_key: str) -> Run | None:
        runs = self._runs_of(trial_key)
        return next((run for run in runs if facts.TAG_REPLACED not in tags_of(run)), None)

    def _runs_of(self, trial_key: str) -> Iterator[Run]:
        which = f"tags.`{facts.TAG_TRIAL_KEY}` = '{trial_key}'"
        return runs_that(self.client, self.experiment_id, which)


def _metrics(numbers: Mapping[str, float], time: int, step: int) -> list[Metric]:
    return [Metric(name, value, time, step) for name, value in numbers.items()]


def _place(number: tuple[str, float]) -> int:
    """Return where a number of an epoch stands: errors before losses, health behind all others."""
    name = number[0]
    if name in EPOCH_METRICS:
        return -EPOCH_METRICS.index(name)
    return 2 if name.startswith(HEALTH) else 1
