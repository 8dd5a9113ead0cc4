"""Whole launches in this process: trained by arithmetic, recorded into a store in memory.

All but the engine, the recorder's process and the store is as it is for users.
"""

import math
import os
import shutil
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from search_spaces import ListedArms, Sweep
from sweeps.execution.channel import Channel
from sweeps.execution.engine.capacity import Resources, Room
from sweeps.execution.engine.engine import ConcurrencyLimit
from sweeps.execution.engine.placement import Machine
from sweeps.execution.housekeeping import clean as clean_module
from sweeps.execution.housekeeping.clean import Cleaned
from sweeps.execution.launch import flush_records, train_missing
from sweeps.execution.launch.across import launch_across as across_module
from sweeps.execution.launch.across.launch_across import launch_across
from sweeps.execution.launch.launch import launch
from sweeps.execution.launch.result import SweepResult
from sweeps.execution.launch.train_missing import StartedEngine
from sweeps.execution.launch_options import LaunchOptions
from sweeps.execution.plan.definition import declared_sweep
from sweeps.execution.recorder import recorder_process
from sweeps.execution.recorder.client import ignore_progress
from sweeps.execution.recorder.recorder_process import Finish, RecorderProcess, RecorderReport
from sweeps.execution.repair import repair as repair_module
from sweeps.execution.repair import sweep_repair
from sweeps.execution.repair.repair import Repaired
from sweeps.execution.survey import survey as survey_module
from sweeps.records.cell_contents import TrialSpec
from sweeps.storage.locations import Storage
from sweeps.tracking.store import RecordStore
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.engine.simulated_engine import SimulatedEngine
from tests.sweeps.execution.search.examples import RATE, confirm, search
from tests.sweeps.execution.search.simulated import Score, Trainer, World, unkilled
from tests.sweeps.tracking.memory_store import MemoryStore

ADDRESS = "http://memory.invalid"
SILENCE_SECONDS = 0.3


def design(num_arms: int = 3, seeds: tuple[int, ...] = (0, 1)) -> Sweep:
    """Return a design of some learning rates."""
    arms: dict[str, dict[str, Any]] = {
        f"rate {number}": {RATE: number / 1000} for number in range(1, num_arms + 1)
    }
    plan = ListedArms(baseline="rate 1", arms=arms)
    return Sweep(name="example", base=small_config(), plan=plan, seeds=seeds)


def searching(sampler: str = "random") -> Sweep:
    """Return a search that stops some of what it proposes, and confirms the best."""
    plan = search(sampler=sampler, trials=6, confirm=confirm(best=2, seeds=(101, 102)))
    return Sweep(name="example", base=small_config(), plan=plan, seeds=())


def falling_with_the_rate(spec: TrialSpec, epoch: int) -> float:
    """Return the error of a trial after an epoch, another for each arm and seed."""
    return 0.5 / (epoch + 1) + spec.config["optimiser"]["learning_rate"] + spec.seed / 1000


class RecorderHere:
    """The recorder of a launch in this process: it serves when it is told to, and at the end."""

    def __init__(self, store: RecordStore, storage: Storage, sweep: str) -> None:
        self.error = ""
        self._sweep = sweep
        self._store = store
        self._storage = storage
        self._process = self._started()

    def keep_alive(self) -> None:
        """It cannot die."""

    def stop(self) -> None:
        """It does nothing by itself."""

    def serve(self) -> None:
        """Take a turn, as the process does again and again."""
        self._process._try(self._process._serve)  # pyright: ignore[reportPrivateUsage]

    def finish(
        self,
        timeout_seconds: float,
        tell: Callable[[int, int], None] = ignore_progress,
        most_seconds: float = math.inf,
    ) -> bool:
        """Carry the rest."""
        del timeout_seconds, most_seconds
        self._driver.send(Finish(timeout_seconds=SILENCE_SECONDS))
        code = self._process.run()
        while self._driver.is_readable(0):
            report = RecorderReport.model_validate_json(self._driver.receive() or b"")
            tell(report.num_done, report.num_left)
        self.error = self._process.error
        self._process._lock.release()  # pyright: ignore[reportPrivateUsage]
        for end in self._ends:
            os.close(end)
        self._process = self._started()
        return code == 0

    def _started(self) -> RecorderProcess:
        self._ends = [end.detach() for end in socket.socketpair()]
        own, self._driver = (Channel(end, end) for end in self._ends)
        return RecorderProcess(self._storage, self._store, self._sweep, own)


class Launches:
    """Launches of one sweep over one storage folder.

    Attributes:
        store: Where all is recorded; another one in its place has lost everything.
        score: What a training comes to.
        num_concurrent: Trials at once.
        recorder: Of the launch that runs.
    """

    def __init__(self, folder: Path, sweep: Sweep, patch: pytest.MonkeyPatch) -> None:
        self.store = MemoryStore(ADDRESS)
        self.num_concurrent = 1
        self.storage = Storage(folder / "storage")
        self.score: Score = falling_with_the_rate
        self.recorder: RecorderHere | None = None
        self.reports = folder / "reports"
        self._sweep = sweep
        self._world = World(self.storage.root)
        for module in (survey_module, repair_module, clean_module, across_module):
            patch.setattr(module, "open_store", lambda *_: self.store)
        patch.setattr(sweep_repair, "RecorderClient", lambda *arguments: self._recorder(arguments))
        patch.setattr(train_missing, "start_engine", lambda *_, **__: self._started())
        patch.setattr(flush_records, "RecorderClient", lambda *arguments: self._recorder(arguments))
        patch.setattr(recorder_process, "POLL_SECONDS", 0.01)
        patch.setattr(recorder_process, "RETRY_SECONDS", 0.01)

    def run(self, **options: Any) -> SweepResult:
        """Launch the sweep."""
        places = {"storage": self.storage.root, "tracking_uri": ADDRESS, "reports": self.reports}
        launched = LaunchOptions(**(places | options))
        declared = declared_sweep(self._sweep)
        if self._sweep.across:
            return launch_across(declared, launched)
        return launch(declared, launched)

    def repair(self, sweep: str | None = None) -> Repaired:
        """Repair what there is."""
        return repair_module.repair(sweep, self.storage.root, ADDRESS)

    def clean(self, sweep: str | None = None, **options: Any) -> Cleaned:
        """Say what nothing needs, or free it."""
        places = {"storage_folder": self.storage.root, "tracking_uri": ADDRESS}
        return clean_module.clean(sweep, **places, **options)

    def tables(self) -> dict[str, str]:
        """Return the files of the report that are text, by name."""
        names = ("table", "trials", "sensitivity", "confirmation", "ablation")
        files = [path for path in (self.reports / "example").iterdir() if path.suffix == ".csv"]
        assert any(path.stem.startswith(names) for path in files)
        return {path.name: path.read_text() for path in files}

    def num_epochs_trained(self) -> int:
        """Return how many epochs were trained in all."""
        return sum(self._world.epochs_trained().values())

    def lose_store(self) -> None:
        """Have the store lose all that was recorded."""
        self.store.backend.clear()

    def lose_journals(self) -> None:
        """Have the folder of journals, queues and kept manifests deleted."""
        shutil.rmtree(self.storage.journals)

    def _recorder(self, arguments: Sequence[Any]) -> RecorderHere:
        self.recorder = RecorderHere(self.store, self.storage, arguments[-1])
        return self.recorder

    def _started(self) -> StartedEngine:
        room, limit = Room(Resources()), ConcurrencyLimit()
        return StartedEngine(self._engine(), room, self.num_concurrent, limit)

    def _engine(self) -> SimulatedEngine:
        trainer = Trainer(self._world, self.score, unkilled)
        machines = (Machine(cpus=self.num_concurrent),)
        return SimulatedEngine(trainer, machines)
