"""Trials' runs where people look for them: below their arm, found under each of their sweeps."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from mlflow import MlflowClient
from mlflow.entities import Dataset, DatasetInput, InputTag, Run
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_PARENT_RUN_ID

from sweeps.tracking.mlflow.browsing.standard_tags import commit_tags, member_tag
from sweeps.tracking.mlflow.run_tags import changed_tags
from sweeps.tracking.mlflow.runs import runs_that, tags_of
from sweeps.tracking.shown_sweep import ShownSweep, ShownTrial

_RUN_ID = re.compile(r"[0-9a-f]{32}")
_IDS_A_SEARCH = 500
_LONGEST_DIGEST = 36


class ShownTrials:
    """The trials' runs of a sweep.

    Args:
        client: Of the store.
        experiment_id: Ours.
        shown: What there is to show.
    """

    def __init__(self, client: MlflowClient, experiment_id: str, shown: ShownSweep) -> None:
        self._client = client
        self._experiment_id = experiment_id
        self._shown = shown
        self._member = member_tag(shown.sweep)

    def place(self, arms: Mapping[str, str], sweep_id: str, own: Collection[str]) -> None:
        """Put trials below their arms, tag them, and take both back of those that left the sweep.

        One that lies below a run of another sweep that is still there stays where it is.

        Args:
            arms: Name -> its run; those without one have their trials below the sweep.
            sweep_id: The sweep's own run.
            own: The runs of this sweep that trials may lie below, also those that will go.
        """
        shown = {trial.record_id: trial for trial in self._shown.trials}
        runs = {run.info.run_id: run for run in self._runs(shown)}
        members = [*self._search(f"tags.`{self._member}` LIKE '%'")]
        left = [run for run in members if run.info.run_id not in shown]
        parents = {_parent(run) for run in runs.values()} - set(own)
        others = {run.info.run_id for run in self._runs(parents)}
        for run_id, run in runs.items():
            trial = shown[run_id]
            tags = {self._member: trial.arm, **commit_tags(trial.git_revision)}
            if _parent(run) not in others:
                tags[MLFLOW_PARENT_RUN_ID] = arms.get(trial.arm, sweep_id)
            self._tag(run, tags)
            self._note_data(run, trial)
        for run in left:
            self._client.delete_tag(run.info.run_id, self._member)
            if _parent(run) in own:
                self._tag(run, {MLFLOW_PARENT_RUN_ID: sweep_id})

    def _tag(self, run: Run, tags: Mapping[str, str]) -> None:
        if changed := changed_tags(run, tags):
            self._client.log_batch(run.info.run_id, tags=changed, synchronous=True)

    def _note_data(self, run: Run, trial: ShownTrial) -> None:
        """Note what a trial was trained on, unless that is there."""
        digest = trial.data_fingerprint[:_LONGEST_DIGEST]
        inputs = run.inputs.dataset_inputs if run.inputs else []
        there = {(held.dataset.name, held.dataset.digest) for held in inputs}
        if not trial.data or not digest or (trial.data, digest) in there:
            return
        source = json.dumps({"fingerprint": trial.data_fingerprint})
        data = Dataset(trial.data, digest, source_type="capsweep", source=source)
        context = InputTag(MLFLOW_DATASET_CONTEXT, "training")
        self._client.log_inputs(run.info.run_id, [DatasetInput(data, [context])])

    def _runs(self, ids: Iterable[str]) -> Iterator[Run]:
        """Yield the live runs of some ids; what is no id is of none."""
        proper = [one for one in ids if _RUN_ID.fullmatch(one)]
        for start in range(0, len(proper), _IDS_A_SEARCH):
            some = ", ".join(f"'{one}'" for one in proper[start : start + _IDS_A_SEARCH])
            yield from self._search(f"attributes.run_id IN ({some})")

    def _search(self, condition: str) -> Iterator[Run]:
        return runs_that(self._client, self._experiment_id, condition, _IDS_A_SEARCH)


def _parent(run: Run) -> str:
    return tags_of(run).get(MLFLOW_PARENT_RUN_ID, "")
