"""One cell, the recorder's queue and a store, for the tests of the recorder."""

from pathlib import Path
from typing import Any

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.records.trial_record import EPOCH_METRICS
from sweeps.storage.locations import Storage
from sweeps.storage.store_format import write_format
from sweeps.tracking.record_facts import TAG_OUTCOME
from tests.sweeps.execution.examples import KEY, final, spec, start
from tests.sweeps.tracking.memory_store import MemoryStore, StoredRun

CONFIG = {"batch_size": 3, "model": {"kind": "capsnet", "routing": {"kind": "dynamic"}}}


class Scene:
    """One cell, the queue and a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_format(Storage(folder))
        self.store = MemoryStore()
        self.records = self.store.writer()
        self.cells = folder / "cells"
        self.cell = CellFolder(self.cells, KEY)
        self.cell.path.mkdir(parents=True)
        self.queue = self.open_queue()
        self.queue.add([KEY], "example", "own")

    def open_queue(self) -> RecorderQueue:
        (self.folder / "journals").mkdir(exist_ok=True)
        return RecorderQueue(self.folder / "journals", self.store.address)

    def recorder(self) -> Recorder:
        return Recorder(self.records, self.queue, self.cells)

    def report(self, *lines: Any) -> None:
        for line in lines:
            self.cell.append(line)

    def finish(self, num_epochs: int = 2, **changes: Any) -> None:
        for path in (self.cell.predictions, self.cell.weights):
            path.write_bytes(b"x")
        self.cell.log.write_text("log")
        self.cell.write_final(final(num_epochs, head=SPEC, **changes))

    def stored_runs(self) -> list[StoredRun]:
        return self.store.backend.live("trial")

    def stored_run(self) -> StoredRun:
        (run,) = self.stored_runs()
        return run

    def outcome(self) -> str:
        run = self.stored_run()
        outcome = run.facts[TAG_OUTCOME]
        assert run.is_running is (outcome == "running")
        assert (run.ended is None) is run.is_running
        return outcome

    def outcome_of(self, key: str) -> str | None:
        trial = self.records.find_trial(key)
        return trial.outcome if trial else None

    def points(self) -> dict[str, list[int]]:
        names, run = (*EPOCH_METRICS, "test_error"), self.stored_run()
        return {name: [step for step, _, _ in run.points.get(name, ())] for name in names}

    def check_finished(self, num_epochs: int = 2) -> None:
        assert self.outcome() == "finished"
        epochs = list(range(1, num_epochs + 1))
        points = {name: sorted(steps) for name, steps in self.points().items()}
        assert points == dict.fromkeys(EPOCH_METRICS, epochs) | {"test_error": [num_epochs]}
        names = {"config.json", "log.txt", "predictions.safetensors", "weights.safetensors"}
        assert set(self.stored_run().files) == names
        assert self.queue.open_cells() == []


SPEC = spec(config=CONFIG, versions={"torch": "1"}, num_parameters=7)


START = start().model_copy(update={"head": SPEC})
