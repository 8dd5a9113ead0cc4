"""However a trial ends, log, Optuna's study and the store tell the same of it."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from optuna.trial import FrozenTrial, TrialState

from search_spaces import Search
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.recorder.recorder import Recorder
from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.execution.search.proposals import study_of
from sweeps.execution.sweep_log import last_launch, stored_entries
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.sweep_log import TrialNoted
from sweeps.records.trial_record import TrialRecord
from tests.sweeps.execution.search.examples import searched
from tests.sweeps.execution.search.simulated import (
    Killed,
    Launch,
    Score,
    WorkerKilled,
    World,
    verdicts_of,
)
from tests.sweeps.tracking.memory_store import MemoryStore

NUM_TRIALS = 4
LAST = f"proposal {NUM_TRIALS - 1}"  # the one whose ending is looked at
GOOD = 0.25

Trouble = Callable[[int], float]

BEGUN = ("dispatched", "started")


def comes_to(value: float, at: int = 1) -> Callable[[], Trouble]:
    return lambda: lambda epoch: value if epoch >= at else GOOD


def raises(error: BaseException, at: int, times: int = 1) -> Callable[[], Trouble]:
    def new() -> Trouble:
        errors = [error] * times

        def trouble(epoch: int) -> float:
            if epoch == at and errors:
                raise errors.pop()
            return GOOD

        return trouble

    return new


@dataclass(frozen=True)
class Ending:
    """How the last proposal ends, and what is to be told of that.

    Attributes:
        verdicts: Epoch and whether it ended there.
        optuna: State, value and intermediate values.
        record: Outcome, reason and epochs.
        exit_code: Of the launch in the log, None if it was killed.
    """

    trouble: Callable[[], Trouble]
    events: list[str]
    verdicts: list[tuple[int, bool]]
    optuna: tuple[TrialState, float | None, dict[int, float]]
    record: tuple[str, str, int]
    exit_code: int | None = 0


NO_VALUE: tuple[None, dict[int, float]] = (None, {})
PASSED = [(2, False)]
COMPLETE = (TrialState.COMPLETE, GOOD, {3: GOOD})
KILLED_TOO_OFTEN = "its process was killed 4 times"
WHY_STOPPED = "stopped by asha after epoch 2, validation_error 0.75"

ENDINGS = {
    "finished": Ending(
        comes_to(GOOD),
        [*BEGUN, "finished"],
        PASSED,
        COMPLETE,
        ("finished", "", 3),
    ),
    "pruned": Ending(
        comes_to(0.75),
        [*BEGUN, "pruned"],
        [(2, True)],
        (TrialState.PRUNED, 0.75, {2: 0.75}),
        ("pruned", WHY_STOPPED, 2),
    ),
    "diverged": Ending(
        comes_to(math.nan),
        [*BEGUN, "diverged"],
        [],
        (TrialState.COMPLETE, GOOD, {0: GOOD}),
        ("diverged", "", 1),
    ),
    "diverged at a rung": Ending(
        comes_to(math.nan, at=2),
        [*BEGUN, "diverged"],
        [],
        (TrialState.COMPLETE, GOOD, {0: GOOD}),
        ("diverged", "", 2),
    ),
    "failed": Ending(
        raises(ValueError("no"), 2, times=2),
        [*BEGUN, "restarted", *BEGUN, "failed"],
        [],
        (TrialState.FAIL, *NO_VALUE),
        ("failed", "ValueError: no", 1),
    ),
    "process killed": Ending(
        raises(WorkerKilled(), 2),
        [*BEGUN, "restarted", *BEGUN, "finished"],
        PASSED,
        COMPLETE,
        ("finished", "", 3),
    ),
    "process killed too often": Ending(
        raises(WorkerKilled(), 3, times=4),
        [*BEGUN, *["restarted", *BEGUN] * 3, "failed"],
        PASSED,
        (TrialState.FAIL, *NO_VALUE),
        ("failed", KILLED_TOO_OFTEN, 2),
    ),
    "driver killed": Ending(
        raises(Killed(), 3),
        [*BEGUN],
        PASSED,
        (TrialState.RUNNING, *NO_VALUE),
        ("interrupted", "", 2),
        exit_code=None,
    ),
    "interrupted": Ending(
        raises(KeyboardInterrupt(), 3),
        [*BEGUN],
        PASSED,
        (TrialState.RUNNING, *NO_VALUE),
        ("interrupted", "", 2),
        exit_code=130,
    ),
}


class Scene:
    """A search whose last proposal ends in some way."""

    def __init__(self, folder: Path, definition: SweepDefinition) -> None:
        self.world = World(folder / "world")
        self.definition = definition
        self.store = MemoryStore()

    def launched(self, ending: Ending) -> Launch:
        """Run it until it ends or is killed, and return it as its driver last knew it."""
        launch = Launch(self.world, self.definition, _score(ending.trouble()))
        with suppress(Killed):
            launch.run()
        return launch

    @property
    def key(self) -> str:
        """The trial key of the last proposal."""
        return self._keys()[-1]

    def log(self) -> tuple[list[str], list[tuple[int, bool]], int | None]:
        """Return the trial's events and verdicts, and how the launch ended."""
        entries, key = stored_entries(self.world.journals, "example"), self.key
        verdicts = verdicts_of(self.world.decisions(self.definition))
        launch = last_launch(self.world.journals, "example")
        assert launch
        return (
            [
                entry.event
                for entry in entries
                if isinstance(entry, TrialNoted) and entry.trial_key == key
            ],
            [(verdict.epoch, verdict.is_stop) for verdict in verdicts if verdict.trial_key == key],
            launch.exit_code,
        )

    def optuna(self, launch: Launch) -> FrozenTrial:
        search = self.definition.sweep.plan
        assert isinstance(search, Search)
        history = list(zip(launch.proposals(), launch.observations(), strict=True))
        return study_of(search, history).get_trials()[-1]

    def record(self) -> TrialRecord:
        """Carry all that was told to the store, and return the trial's record."""
        queue = RecorderQueue(self.world.journals, self.store.address)
        queue.add(self._keys(), "example", "own")
        recorder = Recorder(self.store.writer(), queue, self.world.cells)
        recorder.drain()
        recorder.settle_interrupted(lambda sweep: True)
        queue.close()
        record = self.store.record(self.key)
        assert record
        return record

    def _keys(self) -> list[str]:
        manifest = self.world.current()
        assert manifest
        return [cell.trial_key for cell in manifest.cells]


def _score(trouble: Trouble) -> Score:
    def score(spec: TrialSpec, epoch: int) -> float:
        return trouble(epoch) if spec.arm == LAST else GOOD

    return score


@pytest.fixture(scope="module")
def definition() -> SweepDefinition:
    return searched(trials=NUM_TRIALS, sampler="random")


@pytest.fixture
def scene(tmp_path: Path, definition: SweepDefinition) -> Scene:
    return Scene(tmp_path, definition)


@pytest.mark.parametrize("name", ENDINGS)
def test_log_study_and_store_tell_the_same_of_each_ending(scene: Scene, name: str) -> None:
    ending = ENDINGS[name]
    trial = scene.optuna(scene.launched(ending))
    assert (trial.state, trial.value, trial.intermediate_values) == ending.optuna
    assert scene.log() == (ending.events, ending.verdicts, ending.exit_code)
    record = scene.record()
    assert (record.outcome.value, record.reason, record.epochs) == ending.record
