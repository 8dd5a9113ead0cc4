"""What the tests of the worker share: a trial that nobody disturbed."""

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.worker.trial import run_trial
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.worker.trials import folder_of, job_of, silent


@pytest.fixture(scope="session")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> CellFolder:
    """A trial that nobody disturbed."""
    job = job_of(tmp_path_factory.mktemp("unbroken"))
    assert run_trial(job, silent) is Outcome.FINISHED
    return folder_of(job)
