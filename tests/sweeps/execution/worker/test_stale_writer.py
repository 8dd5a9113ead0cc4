"""Two processes write to one cell, the first without its lock: the cell is one attempt's, whole.

A client of NFS or Lustre that was cut off loses its locks and does not know. Here both writers are
threads, and each stops before any of its steps in the cell's folder, as Python's audit events name
them. The recorder reads the folder whenever the turn changes. The attempts have unlike numbers, as
on a GPU, so that what is of both would be seen.
"""

import json
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save

from capsmodel import whole_file
from capsmodel.data.checks import DataFacts
from capsmodel.metrics import EpochMetrics
from search_spaces import data_fingerprint
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.cells.sealed_files import check_files
from sweeps.execution.worker import trial
from sweeps.execution.worker.trial import TrialJob, run_trial
from sweeps.records.trial_record import Outcome
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.recorder.scene import SPEC, Scene
from tests.sweeps.tracking.memory_store import StoredRun

NUM_EPOCHS = 2
STEPS = {"open", "os.rename", "os.link", "os.remove", "os.listdir", "os.scandir"}


class NumberedTraining:
    """A training all of whose numbers, images and weights name the attempt that made them."""

    target = None
    data = None

    def __init__(self, fence: int, history: list[EpochMetrics]) -> None:
        self.fence = fence
        self.history = history
        self.config = small_config()

    @property
    def epoch(self) -> int:
        return len(self.history)

    @property
    def is_done(self) -> bool:
        return self.epoch == NUM_EPOCHS

    def __iter__(self) -> Generator[EpochMetrics]:
        while not self.is_done:
            loss = 10.0 * self.fence + self.epoch
            self.history.append(EpochMetrics(self.epoch + 1, loss, loss, 0.5, 0.0))
            yield self.history[-1]

    def encoded(self) -> bytes:
        return json.dumps([metrics.train_loss for metrics in self.history]).encode()

    def test(self) -> Any:
        images = {"predictions": torch.tensor([self.fence])}
        return SimpleNamespace(error=self.fence / 100, extra_errors={}, tensors=lambda: images)

    def validate(self) -> Any:
        return SimpleNamespace(tensors=dict)

    def trained(self) -> Any:
        weights = {"weight": torch.tensor([self.fence])}
        return SimpleNamespace(encoded=lambda: save(weights))

    def warnings(self) -> tuple[str, ...]:
        return ()


def restored(attempt: Any) -> NumberedTraining:
    """Return an attempt's training: of the last checkpoint, if there is one."""
    numbers: list[float] = []
    if attempt.last_checkpoint.exists():
        numbers = json.loads(attempt.last_checkpoint.read_bytes())
    history = [EpochMetrics(n, loss, loss, 0.5, 0.0) for n, loss in enumerate(numbers, start=1)]
    return NumberedTraining(attempt.fence, history)


class Writer(threading.Thread):
    """A process that trains a trial, as a thread that stops before one of its steps.

    Attributes:
        is_cut_off: Whether it has lost its lock, from its first moment on.
        stops_before: The number of the step before which it stops, once; None for never.
    """

    def __init__(self, job: TrialJob, stops_before: int | None, *, is_cut_off: bool) -> None:
        super().__init__(daemon=True)
        self.job = job
        self.stops_before = stops_before
        self.is_cut_off = is_cut_off
        self.num_steps = 0
        self.has_lease = False
        self.outcome: Outcome | BaseException | None = None
        self._rests, self._goes_on = threading.Event(), threading.Event()

    def run(self) -> None:
        try:
            self.outcome = run_trial(self.job, lambda _: None, has_own_process=False)
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.outcome = error
        self._rests.set()

    def until_it_rests(self) -> Self:
        """Start it, and return when it has stopped or ended."""
        self.start()
        self._rests.wait()
        return self

    def to_its_end(self) -> Self:
        """Have it go on to its end."""
        self._goes_on.set()
        self.join()
        return self

    def step(self) -> None:
        """Count a step; before the chosen one, wait until it may go on."""
        if not self.has_lease:
            return
        if self.num_steps == self.stops_before:
            self._rests.set()
            self._goes_on.wait()
        self.num_steps += 1


folders: list[str] = []  # the one in which steps are counted now


def is_in_cell(argument: object) -> bool:
    """Return whether what is opened lies in the cell: by its path, or by its name in a folder."""
    if not isinstance(argument, str) or "/" not in argument:
        return isinstance(argument, str) and argument not in Path(folders[-1]).parts
    return folders[-1] in argument


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event in STEPS and folders and any(map(is_in_cell, arguments)):
        writer = threading.current_thread()
        if isinstance(writer, Writer):
            writer.step()


real_lease = CellFolder.lease


@contextmanager
def lease(cell: CellFolder, wait_seconds: float = 20.0) -> Generator[int]:
    """Lock a cell, and lose the lock at once if the writer is cut off."""
    writer = threading.current_thread()
    with real_lease(cell, wait_seconds) as fence:
        if isinstance(writer, Writer):
            writer.has_lease = True
        if not isinstance(writer, Writer) or not writer.is_cut_off:
            yield fence
            return
    yield fence


@pytest.fixture(scope="module", autouse=True)
def numbered_trainings() -> Generator[None]:
    sys.addaudithook(hook)  # for the life of the process: it does nothing without a folder
    with pytest.MonkeyPatch.context() as patch:
        facts = DataFacts({"test": 1}, (), "")
        patch.setattr(data_fingerprint, "check_unchanged", lambda *_: facts)
        patch.setattr(trial._Attempt, "_training", restored)
        patch.setattr(trial, "warm_up", lambda _: None)
        patch.setattr(trial, "package_versions", dict)
        patch.setattr(trial, "hardware", lambda _: "cpu")
        patch.setattr(CellFolder, "lease", lease)
        # which processes have names of their own for what they write
        patch.setattr(whole_file, "this_machine", lambda: f"{threading.get_native_id():08x}")
        yield


def writers_meet(folder: Path, first_stop: int, second_stop: int | None) -> int:
    """Have two writers fill a cell, the first without its lock; return the first one's steps."""
    folder.mkdir(exist_ok=True)
    scene = Scene(folder)
    folders.append(str(scene.cell.path))
    job = TrialJob(cells=str(scene.cells), spec=SPEC)
    try:
        first = Writer(job, first_stop, is_cut_off=True).until_it_rests()
        scene.recorder().drain()
        second = Writer(job, second_stop, is_cut_off=False).until_it_rests()
        scene.recorder().drain()
        first.to_its_end()
        scene.recorder().drain()
        second.to_its_end()
        scene.recorder().drain()
    finally:
        folders.clear()
    assert (first.outcome, second.outcome) == (Outcome.FINISHED, Outcome.FINISHED)
    check_cell(scene.cell)
    check_record(scene, scene.stored_run())
    assert run_trial(job, lambda _: None, has_own_process=False) is Outcome.FINISHED
    assert {path.name for path in scene.cell.path.iterdir()} == {
        *("final.json", "lock", "log.txt", "outbox.jsonl"),
        *(scene.cell.predictions.name, scene.cell.weights.name),
    }
    scene.queue.close()
    return first.num_steps


def check_cell(cell: CellFolder) -> None:
    """Check that all that a filled cell holds is of the attempt that its final record names."""
    final = cell.read_final()
    assert final is not None
    check_files(cell, final)
    assert load_file(cell.predictions)["predictions"].tolist() == [final.fence]
    assert load_file(cell.weights)["weight"].tolist() == [final.fence]
    assert final.test_error == final.fence / 100
    assert [line.epoch for line in final.curve] == [1, 2]


def check_record(scene: Scene, run: StoredRun) -> None:
    """Check that what the final record says is recorded once, and nothing else."""
    final = scene.cell.read_final()
    assert final is not None
    scene.check_finished(NUM_EPOCHS)
    recorded = [float(value) for _, _, value in sorted(run.points["train_loss"])]
    assert recorded == [line.train_loss for line in final.curve]
    assert [float(value) for _, _, value in run.points["test_error"]] == [final.test_error]
    assert run.files["weights.safetensors"] == scene.cell.weights.read_bytes()
    assert run.files["predictions.safetensors"] == scene.cell.predictions.read_bytes()


def test_the_first_stops_before_each_of_its_steps_while_the_second_does_all(
    tmp_path: Path,
) -> None:
    num_steps, stop = 1, 0
    while stop < num_steps:
        num_steps = writers_meet(tmp_path / str(stop), stop, None)
        stop += 1
    assert num_steps > 20, "a step is a file that is opened, moved or removed"


@settings(max_examples=40)
@given(first_stop=st.integers(0, 60), second_stop=st.integers(0, 60))
def test_both_stop_anywhere(
    tmp_path_factory: pytest.TempPathFactory, first_stop: int, second_stop: int
) -> None:
    writers_meet(tmp_path_factory.mktemp("met"), first_stop, second_stop)
