"""Small trials for the tests of the worker, and what they leave behind."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from capsmodel.metrics import EpochMetrics
from search_spaces.trial_key import trial_key
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.worker import trial
from sweeps.execution.worker.trial import TrialJob, run_trial
from sweeps.records.cell_contents import FinalRecord, TrialSpec
from tests.capsmodel.small_config import small_config, small_model

NUM_EPOCHS = 3

Reported = Sequence[EpochMetrics]


class Killed(BaseException):
    """Stands in for SIGKILL: nothing that handles exceptions hears of it."""


def job_of(cells: Path, seed: int = 0, source: str | None = None, **changes: Any) -> TrialJob:
    config = small_config(model=small_model(routing={"kind": "random"}), **changes)
    known = TrialSpec(
        trial_key=trial_key(config, seed),
        sweep="example",
        arm="base",
        seed=seed,
        config=config.model_dump(mode="json"),
        source=source,
    )
    return TrialJob(cells=str(cells), spec=known)


def unjudged(cells: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> TrialJob:
    """Return the job of a trial that nobody judges, all of whose epochs are taken for short."""
    monkeypatch.setattr(trial, "_SAVE_SECONDS", math.inf)
    return job_of(cells, **changes).model_copy(update={"is_judged": False})


def folder_of(job: TrialJob) -> CellFolder:
    return CellFolder(Path(job.cells), job.spec.trial_key)


def silent(_: Reported) -> None:
    """Ignore the report."""


def timeless(record: FinalRecord) -> dict[str, Any]:
    """Return a final record without what differs from one attempt to the next."""
    plain = record.model_dump(
        exclude={"time", "fence", "duration_seconds", "peak_memory_bytes", "curve", "files"}
    )
    curve = [replace(line, duration_seconds=0.0) for line in record.curve]
    seals = {name.partition("-")[0]: seal for name, seal in record.files.items()}
    return plain | {"curve": curve, "files": seals}


def files(folder: CellFolder) -> dict[str, bytes]:
    """Return the contents of a trial's files, whose names differ by its fence."""
    return {
        "predictions": folder.predictions.read_bytes(),
        "weights": folder.weights.read_bytes(),
    }


def of_target(tmp_path: Path, at_or_below: float) -> TrialJob:
    stopping = {"kind": "target_metric", "at_or_below": at_or_below, "max_epochs": NUM_EPOCHS}
    return job_of(tmp_path, stopping=stopping)


def final_of(folder: CellFolder) -> FinalRecord:
    record = folder.read_final()
    assert record is not None
    return record


def told_epochs(folder: CellFolder) -> list[int]:
    return [line.epoch.epoch for line in folder.read_outbox()[0] if line.epoch]


def check_like_unbroken(folder: CellFolder, unbroken: CellFolder) -> None:
    assert timeless(final_of(folder)) == timeless(final_of(unbroken))
    assert files(folder) == files(unbroken)
    assert told_epochs(folder) == list(range(1, NUM_EPOCHS + 1))


def stopped_after(job: TrialJob, epoch: int) -> None:
    """Train a trial until it is killed after an epoch."""

    def report(reported: Reported) -> None:
        if reported[-1].epoch == epoch:
            raise Killed

    with pytest.raises(Killed):
        run_trial(job, report)
