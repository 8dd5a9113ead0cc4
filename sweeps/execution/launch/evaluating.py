"""The stage after the cells are filled: evaluations that are missing, from kept weights."""

import time
from collections.abc import Sequence
from itertools import groupby

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.driver.evaluation_survey import survey_evaluations, weights_in_folder
from sweeps.execution.driver.evaluations_made import EvaluationsMade, FailedEvaluation
from sweeps.execution.driver.interruption import end_after, end_never
from sweeps.execution.driver.live_view import tell_line
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import folder_states
from sweeps.execution.launch.evaluation_worker import EvaluationWorker
from sweeps.execution.launch.progress import Progress
from sweeps.execution.plan.evaluations import EvaluationState, PlannedEvaluation, count
from sweeps.execution.recorder.client import RecorderClient
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.worker.evaluation import EvaluationOrder
from sweeps.records.errors import StoreUnreachable
from sweeps.records.manifest import ManifestCell
from sweeps.records.trial_record import ARTIFACT_WEIGHTS, TrialRecord

FINISH_SECONDS = 30.0


def evaluate(progress: Progress, options: LaunchOptions) -> None:
    """Make the evaluations that finished trials lack, and have them recorded.

    Nothing is trained. Each is noted as soon as it is made, so that the same launch again goes on
    where this one ended. Where records wait for the store, it is left for that launch too.

    Args:
        progress: Of the launch: gets what became of the evaluations.
        options: Of the launch.

    Raises:
        KeyboardInterrupt: If it is interrupted, or its time is up.
    """
    if not progress.definition.manifest.evaluations or not progress.is_recorded:
        return
    try:
        making = _Making(progress, options)
        if options.time_limit_seconds:
            end_after(max(0.001, options.time_limit_seconds - progress.elapsed_seconds))
        progress.evaluations = making.run()
        end_never()
    except StoreUnreachable as error:
        progress.is_recorded, progress.complaint = False, str(error)


class _Making:
    def __init__(self, progress: Progress, options: LaunchOptions) -> None:
        self._progress = progress
        self._options = options
        self._plan = progress.plan
        self._manifest = progress.definition.manifest
        self._store = self._plan.store
        keys = list(self._manifest.cell_keys().values())
        self._folders = folder_states(self._plan.storage, keys)
        self._records: dict[str, TrialRecord] = self._store.records(keys)
        self._log = self._plan.storage.logs / f"evaluations-{self._plan.name}.log"
        self._cells = {cell.trial_key: cell for cell in reversed(self._manifest.cells)}

    def run(self) -> EvaluationsMade:
        plan = self._plan
        planned = survey_evaluations(
            self._manifest, plan.storage, self._folders, self._records, self._store
        )
        failures = self._make([one for one in planned if one.state is EvaluationState.TO_MAKE])
        num_made = count(planned, EvaluationState.TO_MAKE) - len(failures)
        is_recorded = EvaluationState.RECORDED
        if to_carry := {one.trial_key for one in planned if one.state is not is_recorded}:
            self._record(sorted(to_carry))
        num_gone = count(planned, EvaluationState.NOT_AVAILABLE)
        return EvaluationsMade(
            num_made=num_made,
            num_there=len(planned) - num_gone - len(failures),
            num_wanted=len(planned),
            num_not_available=num_gone,
            failures=failures,
            log=str(self._log),
        )

    def _make(self, missing: Sequence[PlannedEvaluation]) -> tuple[FailedEvaluation, ...]:
        """Have what is missing made, trial by trial. Returns those that raised."""
        failures: list[FailedEvaluation] = []
        num_done, told = 0, time.monotonic()
        if missing:
            tell_line(f"{self._plan.name}: evaluations to make from kept weights: {len(missing)}")
        with EvaluationWorker(self._log, self._options.cpus_per_trial) as worker:
            for key, group in groupby(missing, lambda one: one.trial_key):
                own = list(group)
                failures += self._make_of_trial(self._cells[key], own, worker)
                num_done += len(own)
                if time.monotonic() > told + 10:
                    tell_line(f"{self._plan.name}: evaluations done: {num_done} of {len(missing)}")
                    told = time.monotonic()
        return tuple(failures)

    def _make_of_trial(
        self, cell: ManifestCell, missing: list[PlannedEvaluation], worker: EvaluationWorker
    ) -> list[FailedEvaluation]:
        """Have one trial's made. One that raises does not keep those after it back."""
        notes = CellEvaluations(self._plan.storage.cells / cell.trial_key)
        failures: list[FailedEvaluation] = []
        while missing:
            reason = worker.make(self._order(cell, missing))
            there = notes.keys()
            missing = [one for one in missing if one.evaluation.evaluation_key not in there]
            if missing:
                kind = missing.pop(0).evaluation.kind
                failures.append(FailedEvaluation(cell.arm, cell.seed, kind, reason))
        return failures

    def _order(self, cell: ManifestCell, missing: list[PlannedEvaluation]) -> EvaluationOrder:
        definition, storage = self._progress.definition, self._plan.storage
        head = definition.head(cell)
        weights = weights_in_folder(storage, cell.trial_key) or self._store.artifact(
            self._records[cell.trial_key], ARTIFACT_WEIGHTS
        )
        record = self._records.get(cell.trial_key)
        return EvaluationOrder(
            cells=str(storage.cells),
            trial_key=cell.trial_key,
            seed=cell.seed,
            config=head.config,
            source=head.source,
            weights=str(weights),
            device="cuda" if record and record.device.startswith("cuda") else "cpu",
            evaluations=tuple(
                {"kind": one.evaluation.kind, **one.evaluation.settings} for one in missing
            ),
        )

    def _record(self, trial_keys: Sequence[str]) -> None:
        plan, progress = self._plan, self._progress
        queue = RecorderQueue(plan.storage.journals, plan.tracking_uri)
        queue.add_evaluated(trial_keys, plan.name)
        queue.close()
        recorder = RecorderClient(plan.storage, plan.tracking_uri, plan.name)
        progress.is_recorded = False  # should this be interrupted
        progress.is_recorded = recorder.finish(FINISH_SECONDS)
        progress.complaint = recorder.complaint
