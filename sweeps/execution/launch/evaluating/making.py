"""Evaluations made by a process of their own, trial by trial, and handed to the recorder."""

import time
from collections.abc import Sequence
from itertools import groupby

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.launch.evaluating.orders import evaluation_order
from sweeps.execution.launch.evaluating.worker import EvaluationWorker
from sweeps.execution.launch.flush_records import record_evaluations
from sweeps.execution.launch.progress import Progress
from sweeps.execution.launch.result import EvaluationsMade, FailedEvaluation
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.survey.surveyed_evaluations import (
    EvaluationState,
    SurveyedEvaluation,
    count,
    survey_evaluations,
)
from sweeps.execution.view.live_view import print_line
from sweeps.records.manifest import ManifestCell


class Making:
    """The evaluations of one launch on their way: which are missing, made and recorded.

    Args:
        progress: Progress of the launch.
        options: The launch's options.
    """

    def __init__(self, progress: Progress, options: LaunchOptions) -> None:
        self._progress = progress
        self._options = options
        self._survey = progress.survey
        self._manifest = progress.definition.manifest
        self._store = self._survey.store
        keys = list(self._manifest.cell_keys().values())
        self._folders = folder_states(self._survey.storage, keys)
        self._records = self._store.records(keys)
        self._log = self._survey.storage.logs / f"evaluations-{self._survey.name}.log"
        self._cells = {cell.trial_key: cell for cell in reversed(self._manifest.cells)}

    def run(self) -> EvaluationsMade:
        """Make what is missing, have it recorded, and return what became of it."""
        survey = self._survey
        planned = survey_evaluations(
            self._manifest, survey.storage, self._folders, self._records, store=self._store
        )
        failures = self._make(
            [surveyed for surveyed in planned if surveyed.state is EvaluationState.TO_MAKE]
        )
        num_made = count(planned, EvaluationState.TO_MAKE) - len(failures)
        is_recorded = EvaluationState.RECORDED
        if to_carry := {
            surveyed.trial_key for surveyed in planned if surveyed.state is not is_recorded
        }:
            record_evaluations(self._progress, sorted(to_carry))
        num_gone = count(planned, EvaluationState.NOT_AVAILABLE)
        return EvaluationsMade(
            num_made=num_made,
            num_existing=len(planned) - num_gone - len(failures),
            num_wanted=len(planned),
            num_not_available=num_gone,
            failures=failures,
            log=str(self._log),
        )

    def _make(self, missing: Sequence[SurveyedEvaluation]) -> tuple[FailedEvaluation, ...]:
        """Have what is missing made, trial by trial. Returns those that raised."""
        failures: list[FailedEvaluation] = []
        num_done, told = 0, time.monotonic()
        if missing:
            print_line(
                f"{self._survey.name}: evaluations to make from kept weights: {len(missing)}"
            )
        with EvaluationWorker(self._log, self._options.cpus_per_trial) as worker:
            for key, group in groupby(missing, lambda surveyed: surveyed.trial_key):
                own = list(group)
                failures += self._make_of_trial(self._cells[key], own, worker)
                num_done += len(own)
                if time.monotonic() > told + 10:
                    print_line(
                        f"{self._survey.name}: evaluations done: {num_done} of {len(missing)}"
                    )
                    told = time.monotonic()
        return tuple(failures)

    def _make_of_trial(
        self, cell: ManifestCell, missing: list[SurveyedEvaluation], worker: EvaluationWorker
    ) -> list[FailedEvaluation]:
        """Have one trial's made. One that raises does not keep those after it back."""
        notes = CellEvaluations(self._survey.storage.cells / cell.trial_key)
        definition = self._progress.definition
        failures: list[FailedEvaluation] = []
        while missing:
            record, spec = self._records.get(cell.trial_key), definition.spec(cell)
            reason = worker.make(evaluation_order(self._survey, spec, record, missing))
            there = notes.keys()
            missing = [
                surveyed for surveyed in missing if surveyed.evaluation.evaluation_key not in there
            ]
            if missing:
                kind = missing.pop(0).evaluation.kind
                failures.append(FailedEvaluation(cell.arm, cell.seed, kind, reason))
        return failures
