"""The process that makes evaluations: one that raises or is killed costs itself alone."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from capsmodel.evaluation import Confidence
from capsmodel.training.training import Training
from sweeps.execution.cells.evaluations import CellEvaluations
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.launch.evaluating.worker import EvaluationWorker
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.first_process import as_first_process
from tests.sweeps.execution.worker.test_evaluation import KEY, job_of
from tests.waiting import wait_until

RAISING = '''from typing import Literal
from capsmodel.evaluation import Evaluation

class Raising(Evaluation):
    """One that raises."""
    kind: Literal["raising"] = "raising"

    def evaluate(self, trained, data):
        """Raise."""
        print("what it prints is no answer")
        raise ValueError("it cannot be looked at")
'''
WAITING = RAISING.replace(
    'raise ValueError("it cannot be looked at")', "import time; time.sleep(600)"
)


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    folder = CellFolder(tmp_path, KEY)
    folder.path.mkdir()
    Training(small_config(), seed=0).trained().save(folder.weights)
    return tmp_path


def test_one_that_raises_is_told_and_the_next_is_made(cells: Path) -> None:
    with EvaluationWorker(cells / "logs" / "evaluations.log", threads=1) as worker:
        raising = job_of(cells, source=RAISING, evaluations=[{"kind": "raising"}])
        assert worker.make(raising) == "ValueError: it cannot be looked at"
        assert "Traceback" in worker.log.read_text()
        assert worker.make(job_of(cells, Confidence())) == ""
    assert len(CellEvaluations(cells / KEY).keys()) == 1


class Interrupted(EvaluationWorker):
    """One whose driver is interrupted while it waits for an answer."""

    def _start(self, log: int) -> "subprocess.Popen[bytes]":
        self.process = super()._start(log)
        threading.Thread(target=self._interrupt_once_busy, daemon=True).start()
        return self.process

    def _interrupt_once_busy(self) -> None:
        wait_until(self.cell.is_busy)
        os.kill(os.getpid(), signal.SIGINT)

    cell: CellFolder


@pytest.fixture
def hears_an_interruption() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGINT, also where it was ignored when the tests were begun.

    As it is in a background job, and under `nohup`.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def make_until_interrupted(cells: Path, worker: Interrupted) -> None:
    with worker:
        worker.make(job_of(cells, source=WAITING, evaluations=[{"kind": "raising"}]))


@pytest.mark.usefixtures("hears_an_interruption")
def test_an_interrupted_launch_leaves_no_process_behind(cells: Path) -> None:
    worker = Interrupted(cells / "log", threads=1)
    worker.cell = CellFolder(cells, KEY)
    with pytest.raises(KeyboardInterrupt):
        make_until_interrupted(cells, worker)
    assert worker.process.poll() is not None
    assert not worker.cell.is_busy()


def test_it_is_not_given_the_token_of_a_cluster(
    cells: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    telling = RAISING.replace('"it cannot be looked at"', "os.environ.get('RAY_AUTH_TOKEN')")
    order = job_of(cells, source=f"import os\n{telling}", evaluations=[{"kind": "raising"}])
    with EvaluationWorker(cells / "logs" / "evaluations.log", threads=1) as worker:
        assert worker.make(order) == "ValueError: None"


def test_it_works_for_the_first_process_of_a_container(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path;"
        "from sweeps.execution.launch.evaluating.worker import EvaluationWorker;"
        "process = EvaluationWorker(Path(sys.argv[1]), threads=1)._start(2);"
        "process.communicate();"
        "print(os.getpid(), process.returncode)"
    )
    assert as_first_process(code, str(tmp_path / "log")) == "1 0\n"
