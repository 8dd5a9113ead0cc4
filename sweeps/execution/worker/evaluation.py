"""Evaluations of one trial: from its weights to files in its folder. Nothing is trained."""

import sys
import time
from bdb import BdbQuit
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder, now_milliseconds, reason_of
from sweeps.execution.worker.provenance import hardware, package_versions
from sweeps.execution.worker.trial import (
    Report,
    TrialJob,
    log_of,
    print_traceback,
    run_trial,
)
from sweeps.execution.worker.worker_process import (
    recorded_peak_memory,
    refuse_other_code,
    training_config,
)
from sweeps.records.evaluation_record import EvaluationRecord
from sweeps.records.trial_record import Json, Outcome

if TYPE_CHECKING:
    from capsmodel.evaluation import Evaluation, Findings
    from capsmodel.training.trained import Trained


class EvaluationJob(BaseModel):
    """What a worker needs to evaluate a trial, as values that travel as JSON.

    Attributes:
        cells: The folder of all cells' folders.
        config: The trial's full training config.
        source: Text of the user's own file, None for parts of the package.
        code: As in `TrialSpec`.
        weights: The file of the trained weights.
        device: Name of a torch device; the CPU replaces a GPU that is missing.
        evaluations: Kind and settings of each; those that exist are not made again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cells: str
    trial_key: str
    seed: int
    config: Json
    source: str | None = None
    code: dict[str, str] = {}
    data_fingerprint: str = ""
    weights: str
    device: str = "cpu"
    evaluations: tuple[Json, ...]


def train_and_evaluate(job: TrialJob, report: Report, *, has_own_process: bool = True) -> Outcome:
    """Train a trial and make its evaluations, while this process has its libraries and data.

    An evaluation that fails does not change how the training ended: its traceback is in the trial's
    log, and the launch retries it after all trainings.

    Args:
        job: The cell, what to train in it, and what to evaluate then.
        report: As of `run_trial`.
        has_own_process: As of `run_trial`.

    Returns:
        Finished or diverged.

    Raises:
        Exception: As of `run_trial`.
    """
    outcome = run_trial(job, report, has_own_process=has_own_process)
    if job.evaluations and outcome is Outcome.FINISHED:
        spec = job.spec
        evaluations = EvaluationJob(
            cells=job.cells,
            trial_key=spec.trial_key,
            seed=spec.seed,
            config=spec.config,
            source=spec.source,
            code=spec.code,
            data_fingerprint=spec.data_fingerprint,
            weights=str(CellFolder(Path(job.cells), spec.trial_key).weights),
            device=spec.device,
            evaluations=job.evaluations,
        )
        try:
            run_evaluations(evaluations, has_own_process=has_own_process)
        except BdbQuit:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a user's evaluation raises
            sys.stdout.write(f"will be retried after all trainings: {reason_of(error)}\n")
    return outcome


def run_evaluations(
    job: EvaluationJob, *, has_own_process: bool = True
) -> tuple[EvaluationRecord, ...]:
    """Make the missing evaluations of a trial and return the records of all.

    Each is stored as soon as it is done, under the lease of the cell, so that a kill costs one.

    Args:
        job: What to make.
        has_own_process: As of `run_trial`.

    Raises:
        Exception: Whatever an evaluation raised, after it was written to the trial's log.
        CellBusyError: If another process has locked the cell.
    """
    cell, is_on_gpu = CellFolder(Path(job.cells), job.trial_key), job.device.startswith("cuda")
    with (
        cell.lease() as fence,
        log_of(cell, takes_prints=has_own_process) as log,
        recorded_peak_memory(cell.stats, job.device) if is_on_gpu else nullcontext(),
    ):
        try:
            return _Look(job, CellEvaluations(cell.path), fence).run()
        except (Exception, SystemExit) as error:
            print_traceback(log)
            if isinstance(error, Exception):
                raise
            raise RuntimeError(reason_of(error)) from error  # else it would end the process


class _Look:
    """One look at a trial's network, under one lease."""

    def __init__(self, job: EvaluationJob, notes: CellEvaluations, fence: int) -> None:
        self._job = job
        self._notes = notes
        self._fence = fence

    def run(self) -> tuple[EvaluationRecord, ...]:
        from capsmodel.data import load_checked
        from capsmodel.evaluation import findings_of
        from search_spaces.data_fingerprint import check_unchanged
        from search_spaces.evaluation_key import evaluation_key

        refuse_other_code(self._job.source, self._job.code)
        wanted = {evaluation_key(evaluation): evaluation for evaluation in self._evaluations()}
        standing = {key: self._notes.read(key) for key in wanted}
        missing = {key: evaluation for key, evaluation in wanted.items() if standing[key] is None}
        if missing:
            trained = self._trained()
            data = load_checked(trained.config.data, trained.device)
            check_unchanged(trained.config.data, data, self._job.data_fingerprint)
            for key, evaluation in missing.items():
                started = time.perf_counter()
                others = {
                    other: self._other(evaluation.kind, other) for other in evaluation.other_trials
                }
                findings = findings_of(evaluation, trained, data, others)
                seconds = time.perf_counter() - started
                standing[key] = self._note(key, evaluation, findings, seconds)
        return tuple(record for record in standing.values() if record)

    def _evaluations(self) -> "tuple[Evaluation, ...]":
        from typing import Annotated

        from capsmodel.evaluation import EVALUATIONS, Evaluation
        from capsmodel.settings.parts import OneOf
        from search_spaces.sweep_file import custom_parts, module_from_text

        source = self._job.source
        parts = custom_parts(module_from_text(source)) if source else ()
        family = TypeAdapter[Any](tuple[Annotated[Evaluation, OneOf(EVALUATIONS)], ...])
        return family.validate_python(self._job.evaluations, context={"parts": parts})

    def _trained(self) -> "Trained":
        from capsmodel.training.trained import Trained

        job = self._job
        config = training_config(job.config, job.source)
        return Trained.load(Path(job.weights), config, job.seed, self._device())

    def _other(self, kind: str, trial_key: str) -> "Trained":
        """Return the network of another trial of the storage folder.

        Raises:
            ValueError: If the trial is not finished there, or its weights are gone.
        """
        from capsmodel.training.trained import Trained

        cell = CellFolder(Path(self._job.cells), trial_key)
        final = cell.read_final() if cell.path.exists() else None
        if final is None or not cell.weights.exists():
            raise ValueError(
                f"The evaluation '{kind}' needs the network of the trial {trial_key}, which the "
                f"storage folder does not have: train it there, then run the command again."
            )
        refuse_other_code(final.head.source, final.head.code)
        config = training_config(final.head.config, final.head.source)
        cell.files.check_files(cell.weights.name)
        return Trained.load(cell.weights, config, final.head.seed, self._device())

    def _device(self) -> str:
        import torch

        return self._job.device if torch.cuda.is_available() else "cpu"

    def _note(
        self, key: str, evaluation: "Evaluation", findings: "Findings", seconds: float
    ) -> EvaluationRecord:
        from safetensors.torch import save

        numbers = {**findings.images, **findings.arrays}
        numbers = {name: values.contiguous() for name, values in numbers.items()}
        record = EvaluationRecord(
            evaluation_key=key,
            trial_key=self._job.trial_key,
            evaluation=evaluation.model_dump(mode="json"),
            looks_at=evaluation.looks_at,
            metrics=dict(findings.metrics),
            schemas=evaluation.metrics,
            images=tuple(findings.images),
            arrays=tuple(findings.arrays),
            pictures=tuple(findings.pictures),
            left_out=findings.left_out,
            hardware=hardware(self._device()),
            versions=package_versions(),
            duration_seconds=seconds,
            time=now_milliseconds(),
            fence=self._fence,
        )
        content = save(numbers, {"schema_version": "1"}) if numbers else b""
        return self._notes.write(record, content, findings.pictures)
