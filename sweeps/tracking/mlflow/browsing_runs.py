"""What people browse of a sweep in MLflow's pages: runs of arms, and tags of trials' runs.

All of it is derived, and none is a record: the type of these runs is `arm`, and they have no trial
key. They may be deleted; the next launch writes what is missing or has changed, and nothing else. A
trial of several sweeps stays below the one that has it, and carries a tag of each.
"""

import json
import math
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Run
from mlflow.utils.mlflow_tags import (
    MLFLOW_DATASET_CONTEXT,
    MLFLOW_PARENT_RUN_ID,
    MLFLOW_RUN_NAME,
    MLFLOW_RUN_NOTE,
)

from sweeps.tracking.mlflow.experiment import create_once
from sweeps.tracking.mlflow.runs import PAGE, TAG_SHOWN, TYPE_ARM, runs_that, tags_of
from sweeps.tracking.mlflow.runs_page import keep_view
from sweeps.tracking.mlflow.tags import (
    changed_tags,
    commit_tags,
    is_written_by_capsweep,
    member_tag,
    sweep_note,
    who_tags,
)
from sweeps.tracking.record_facts import TAG_ARM, TAG_SWEEP, TAG_TYPE
from sweeps.tracking.sweep_summary import ArmSummary, SweepSummary, TrialEntry, is_summary_metric

_RUN_ID = re.compile(r"[0-9a-f]{32}")
_IDS_A_SEARCH = 500
_LONGEST_DIGEST = 36


class ShownTrials:
    """The trials' runs of a sweep.

    Args:
        client: Client of the store.
        experiment_id: Ours.
        shown: What there is to show.
    """

    def __init__(self, client: MlflowClient, experiment_id: str, shown: SweepSummary) -> None:
        self._client = client
        self._experiment_id = experiment_id
        self._shown = shown
        self._member = member_tag(shown.sweep)

    def place(self, arms: Mapping[str, str], sweep_id: str, sweep_run_ids: Collection[str]) -> None:
        """Put trials below their arms and tag them; undo both for trials that left the sweep.

        One that lies below a run of another sweep that is still there stays where it is.

        Args:
            arms: Name -> its run; those without one have their trials below the sweep.
            sweep_id: The sweep's own run.
            sweep_run_ids: The runs of this sweep, including those that will be deleted.
        """
        shown = {trial.record_id: trial for trial in self._shown.trials}
        runs = {run.info.run_id: run for run in self._runs(shown)}
        members = [*self._search(f"tags.`{self._member}` LIKE '%'")]
        hidden = [run for run in members if run.info.run_id not in shown]
        parents = {_parent(run) for run in runs.values()} - set(sweep_run_ids)
        others = {run.info.run_id for run in self._runs(parents)}
        for run_id, run in runs.items():
            trial = shown[run_id]
            tags = {self._member: trial.arm, **commit_tags(trial.git_revision)}
            if _parent(run) not in others:
                tags[MLFLOW_PARENT_RUN_ID] = arms.get(trial.arm, sweep_id)
            self._tag(run, tags)
            self._note_data(run, trial)
        for run in hidden:
            self._client.delete_tag(run.info.run_id, self._member)
            if _parent(run) in sweep_run_ids:
                self._tag(run, {MLFLOW_PARENT_RUN_ID: sweep_id})

    def _tag(self, run: Run, tags: Mapping[str, str]) -> None:
        if changed := changed_tags(run, tags):
            self._client.log_batch(run.info.run_id, tags=changed, synchronous=True)

    def _note_data(self, run: Run, trial: TrialEntry) -> None:
        """Record the data that a trial was trained on, unless the run has them."""
        digest = trial.data_fingerprint[:_LONGEST_DIGEST]
        inputs = run.inputs.dataset_inputs if run.inputs else []
        recorded = {
            (dataset_input.dataset.name, dataset_input.dataset.digest) for dataset_input in inputs
        }
        if not trial.data or not digest or (trial.data, digest) in recorded:
            return
        source = json.dumps({"fingerprint": trial.data_fingerprint})
        data = Dataset(trial.data, digest, source_type="capsweep", source=source)
        context = InputTag(MLFLOW_DATASET_CONTEXT, "training")
        self._client.log_inputs(run.info.run_id, [DatasetInput(data, [context])])

    def _runs(self, ids: Iterable[str]) -> Iterator[Run]:
        """Yield the live runs with the given ids; malformed ids are skipped."""
        proper = [run_id for run_id in ids if _RUN_ID.fullmatch(run_id)]
        for start in range(0, len(proper), _IDS_A_SEARCH):
            some = ", ".join(f"'{run_id}'" for run_id in proper[start : start + _IDS_A_SEARCH])
            yield from self._search(f"attributes.run_id IN ({some})")

    def _search(self, condition: str) -> Iterator[Run]:
        return runs_that(self._client, self._experiment_id, condition, page=_IDS_A_SEARCH)


def _parent(run: Run) -> str:
    return tags_of(run).get(MLFLOW_PARENT_RUN_ID, "")


_TAG_BEST = "capsweep.best_arm"


def write_summary(
    client: MlflowClient, experiment_id: str, sweep_id: str, summary: SweepSummary
) -> None:
    """Write the summary of a sweep to MLflow. A repeated call does what is left.

    Args:
        client: Client of the store.
        experiment_id: Ours.
        sweep_id: The sweep's own run.
        summary: The sweep's summary.
    """
    keep_view(client, experiment_id)
    _SummaryWriter(client, experiment_id, sweep_id, summary).run()


def delete_arms(client: MlflowClient, experiment_id: str, sweep_id: str) -> None:
    """Delete the runs of a sweep's arms, with which nothing is lost."""
    kind = f"tags.`{TAG_TYPE}` = '{TYPE_ARM}' AND tags.`{MLFLOW_PARENT_RUN_ID}` = '{sweep_id}'"
    while page := client.search_runs([experiment_id], kind, max_results=PAGE):
        for run in page:
            client.delete_run(run.info.run_id)


class _SummaryWriter:
    def __init__(
        self, client: MlflowClient, experiment_id: str, sweep_id: str, shown: SweepSummary
    ) -> None:
        self._client = client
        self._experiment_id = experiment_id
        self._sweep_id = sweep_id
        self._shown = shown

    def run(self) -> None:
        """Write arms, then trials below them; runs of arms that are gone are deleted last."""
        sweep = self._client.get_run(self._sweep_id)
        arm_runs = [*self._arm_runs()]
        names = [tags_of(run).get(TAG_ARM, "") for run in arm_runs]
        numbers = self._shown.numbers.items()  # the recorder writes others while a sweep runs
        is_shown = tags_of(sweep).get(TAG_SHOWN) == self._shown.digest and all(
            _is_same(sweep.data.metrics.get(name), value) for name, value in numbers
        )
        if is_shown and sorted(names) == sorted(arm.name for arm in self._shown.arms):
            return
        runs = dict(zip(reversed(names), reversed(arm_runs), strict=True))  # of two the earlier one
        start_time: Any = sweep.info.start_time
        started = start_time if isinstance(start_time, int) else 0  # a row may hold anything
        arms: dict[str, str] = {}
        for place, arm in enumerate(reversed(self._shown.arms)):  # shown with the latest first
            run = runs.get(arm.name) or self._create(arm, started + 1 + place)
            self._write_arm(run, arm)
            arms[arm.name] = run.info.run_id
        run_ids = {self._sweep_id, *arms.values(), *(run.info.run_id for run in arm_runs)}
        trials = ShownTrials(self._client, self._experiment_id, self._shown)
        trials.place(arms, self._sweep_id, frozenset(run_ids))
        for run in arm_runs:
            if run.info.run_id not in arms.values():
                self._client.delete_run(run.info.run_id)
        self._write_sweep(sweep)

    def _arm_runs(self, name: str | None = None) -> Iterator[Run]:
        """Yield this sweep's arms' runs, or those of one name, the earliest first."""
        kind = f"tags.`{TAG_TYPE}` = '{TYPE_ARM}' AND tags.`{TAG_SWEEP}` = '{self._shown.sweep}'"
        runs = runs_that(self._client, self._experiment_id, kind)
        yield from (run for run in runs if name in (None, tags_of(run).get(TAG_ARM)))

    def _create(self, arm: ArmSummary, started: int) -> Run:
        tags = {
            TAG_TYPE: TYPE_ARM,
            TAG_SWEEP: self._shown.sweep,
            TAG_ARM: arm.name,
            MLFLOW_RUN_NAME: arm.name,
            MLFLOW_RUN_NOTE: arm.note,
            MLFLOW_PARENT_RUN_ID: self._sweep_id,
            **who_tags(),
        }
        create = partial(
            self._client.create_run, self._experiment_id, start_time=started, tags=tags
        )
        return create_once(create, lambda: next(self._arm_runs(arm.name), None))

    def _write_arm(self, run: Run, arm: ArmSummary) -> None:
        tags = {MLFLOW_RUN_NOTE: arm.note, MLFLOW_PARENT_RUN_ID: self._sweep_id}
        self._write(run, dict.fromkeys(run.data.metrics, math.nan) | dict(arm.numbers), tags)
        status = "FINISHED" if arm.is_whole else "SCHEDULED"
        if run.info.status != status:
            self._client.set_terminated(run.info.run_id, status, end_time=run.info.start_time)

    def _write_sweep(self, run: Run) -> None:
        """Write the sweep's own run, and last of all that everything is shown."""
        shown, current_tags = self._shown, tags_of(run)
        tags = {_TAG_BEST: shown.best} if shown.best or _TAG_BEST in current_tags else {}
        if is_written_by_capsweep(current_tags.get(MLFLOW_RUN_NOTE, ""), shown.sweep):
            tags[MLFLOW_RUN_NOTE] = sweep_note(shown.sweep, shown.description, shown.answers)
        old_metrics = [name for name in run.data.metrics if is_summary_metric(name)]
        self._write(run, dict.fromkeys(old_metrics, math.nan) | dict(shown.numbers), tags)
        self._client.set_tag(run.info.run_id, TAG_SHOWN, shown.digest)

    def _write(self, run: Run, numbers: Mapping[str, float], tags: Mapping[str, str]) -> None:
        """Write what has changed of a run; NaN replaces a number that is no longer known."""
        current = run.data.metrics
        now = round(1000 * time.time())
        metrics = [
            Metric(name, value, now, 0)
            for name, value in numbers.items()
            if not _is_same(current.get(name), value)
        ]
        changed = changed_tags(run, tags)
        if metrics or changed:
            self._client.log_batch(run.info.run_id, metrics, tags=changed, synchronous=True)


def _is_same(current: Any, value: float) -> bool:
    """Return whether a store, which may hold anything, has a number already."""
    return current == value or (
        math.isnan(value) and isinstance(current, float) and math.isnan(current)
    )
