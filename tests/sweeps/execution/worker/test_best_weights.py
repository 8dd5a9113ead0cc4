"""A trial that keeps its best weights records the epoch that it tested, wherever it is killed."""

from pathlib import Path
from typing import Any

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.plan.plan_runner import TrialFacts
from sweeps.execution.survey.folder_states import folder_states
from sweeps.execution.worker.trial import TrialJob, run_trial
from sweeps.storage.locations import Storage
from tests.sweeps.execution.worker.trials import (
    files,
    final_of,
    folder_of,
    job_of,
    silent,
    stopped_after,
    timeless,
)

CHANGES: dict[str, Any] = {
    "weights": "best",
    "optimiser": {"kind": "adam", "learning_rate": 0.15},
    "stopping": {"kind": "patience", "epochs": 2, "max_epochs": 12},
}


def job_in(storage: Path) -> TrialJob:
    return job_of(storage / "cells", seed=1, **CHANGES)


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("storage")


@pytest.fixture(scope="module")
def cell(storage: Path) -> CellFolder:
    job = job_in(storage)
    run_trial(job, silent)
    return folder_of(job)


def test_its_figures_are_those_of_the_epoch_that_was_tested(
    storage: Path, cell: CellFolder
) -> None:
    final = final_of(cell)
    errors = [metrics.validation_error for metrics in final.curve]
    assert final.tested is not None
    assert final.tested.epoch == 1 + errors.index(min(errors)) == len(errors) - 2
    states = folder_states(Storage(storage), [cell.trial_key])
    assert states[cell.trial_key].validation_error == min(errors) < errors[-1]
    ended = TrialFacts(cell.path.parent, lambda _: None).ended(cell.trial_key)
    assert ended is not None
    assert ended.metrics["validation_error"] == min(errors)


@pytest.mark.parametrize("epoch", [1, 3])
def test_killed_it_tests_the_same_epoch(tmp_path: Path, cell: CellFolder, epoch: int) -> None:
    job = job_in(tmp_path)
    stopped_after(job, epoch)
    run_trial(job, silent)
    resumed = folder_of(job)
    assert timeless(final_of(resumed)) == timeless(final_of(cell))
    assert files(resumed) == files(cell)
