"""What Tune alone knows of a trial's end reaches the cell's folder, and so the queue."""

import pickle
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray.exceptions import OutOfMemoryError, RayActorError, RayTaskError
from ray.train._internal import session
from ray.tune.callback import CallbackList
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler
from ray.tune.utils.object_cache import _ObjectCache

from sweeps.execution.cells.folder import CellBusyError, CellFolder
from sweeps.execution.engine.engine import EpochEnded, Event, Job, Stop
from sweeps.execution.engine.failure_policy import FailedAttempt, Failure, GiveUp, Retry
from sweeps.execution.engine.placement import OnCard, Share
from sweeps.execution.engine.tune.ray_private import tune_run
from sweeps.execution.engine.tune.tune_engine import (
    EPOCHS,
    ActorBusyError,
    ActorLostError,
    JobSearcher,
    StopScheduler,
    TrialCallback,
    resources_of,
)
from sweeps.execution.worker.trial import TrialJob
from tests.sweeps.execution.engine.test_cell_queue import Scene, killed
from tests.sweeps.execution.examples import epoch, failed, final, start
from tests.sweeps.execution.examples import spec as example_spec
from tests.sweeps.storage.test_file_lock import end, holding
from tests.waiting import wait_until


def give_up_what_raised(attempts: Sequence[FailedAttempt]) -> Retry | GiveUp:
    is_raised = attempts[-1].failure is Failure.RAISED
    return GiveUp(reason=attempts[-1].reason) if is_raised else Retry()


class TuneTrial:
    """As much of Tune's trial as a callback sees."""

    trial_id = "t1"

    def __init__(self, error: Exception | None, folder: Path) -> None:
        self.pickled_error_file = str(folder / "error.pkl") if error else None
        (folder / "error.pkl").write_bytes(pickle.dumps(error))


class StagedTrial(Trial):
    """One of Tune's own, in a folder that needs no Ray."""

    local_path = ""


class Tune:
    """The order in which Tune calls its hooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scene = Scene(folder / "cells", "ab", give_up_what_raised)
        self.searcher = JobSearcher(self.scene.queue, self.scene.queue)
        self.callback = TrialCallback(self.searcher)

    def hand_out(self) -> dict[str, Any]:
        return self.searcher.suggest("t1")

    def fail(self, error: Exception | None) -> None:
        self.searcher.on_trial_complete("t1", error=True)
        self.callback.on_trial_error(0, [], TuneTrial(error, self.folder))

    def last_event(self) -> tuple[object, ...]:
        self.searcher.suggest("t2")
        return next(
            event for event in reversed(self.scene.onlooker.events) if event[0] != "dispatched"
        )

    def reuse_in_vain(self) -> None:
        """Report to Tune that no actor was free for the trial."""
        trial = StagedTrial("train", trial_id="t1", stub=True)
        trial.local_path = str(self.folder)
        with tune_run(ActorLostError, ActorBusyError):
            self._controller(trial)._on_trial_reset(trial, success=False)

    def _controller(self, trial: Trial) -> Any:
        """Return as much of Tune's controller as hears of it."""
        controller: Any = TuneController.__new__(TuneController)
        for name in ("pending", "running", "paused", "stopped", "failed", "live"):
            setattr(controller, f"_{name}_trials", set())
        controller._staged_trials, controller._resetting_trials = {trial}, {trial}
        controller._pending_trials.add(trial)
        controller._resources_to_pending_trials = defaultdict(set)
        controller._trials, controller._iteration, controller._trial_to_actor = [trial], 0, {}
        controller._actor_cache = _ObjectCache()
        controller._scheduler_alg = StopScheduler(self.scene.queue)
        controller._search_alg = self.searcher
        controller._callbacks = CallbackList([self.callback])
        return controller


@pytest.fixture
def tune(tmp_path: Path) -> Tune:
    return Tune(tmp_path)


def raised(error: Exception) -> RayTaskError:
    return RayTaskError("train", "Traceback ...", error)


def test_an_exception_before_the_cell_was_held_is_a_failure_with_its_reason(tune: Tune) -> None:
    tune.hand_out()
    tune.fail(raised(ModuleNotFoundError("No module named 'torch'")))
    reason = "ModuleNotFoundError: No module named 'torch'"
    assert tune.last_event() == ("ended", "a", "failed", reason)
    lines, _ = tune.scene.folder("a").read_outbox()
    assert [(line.type, line.reason) for line in lines] == [("failed", reason)]
    assert lines[0].head is not None


def test_a_worker_that_could_not_be_made_is_a_failure_with_its_reason(tune: Tune) -> None:
    tune.hand_out()
    message = "The actor died because of an error in its creation task\n  File ...\nImportError: no"
    tune.fail(RayActorError(error_msg=message, actor_init_failed=True))
    assert tune.last_event() == ("ended", "a", "failed", "ImportError: no")


@pytest.mark.parametrize("error", [None, RayActorError(), raised(CellBusyError("held"))])
def test_a_killed_process_is_restarted_and_no_failure(tune: Tune, error: Exception | None) -> None:
    tune.hand_out()
    tune.fail(error)
    assert tune.last_event() == ("restarted", "a", killed(1))
    assert tune.scene.folder("a").read_outbox()[0] == []


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ActorLostError(OutOfMemoryError("Task was killed")), "out of memory"),
        (RayActorError(preempted=True), "its machine went away"),
        (
            RayActorError(error_msg="The actor died because its node has died. Node Id: 1"),
            "its machine went away",
        ),
    ],
    ids=["memory monitor", "preempted", "node lost"],
)
def test_a_process_that_went_with_its_machine_or_its_memory_is_told_apart(
    tune: Tune, error: Exception, why: str
) -> None:
    tune.hand_out()
    tune.fail(error)
    assert tune.last_event() == ("restarted", "a", why)


def test_a_process_that_was_not_free_in_time_is_told_of_and_costs_the_trial_nothing(
    tune: Tune,
) -> None:
    tune.hand_out()
    tune.reuse_in_vain()
    assert tune.last_event() == ("restarted", "a", "its process was not free in time")
    assert tune.scene.folder("a").read_outbox()[0] == []


def test_an_order_that_ended_last_is_told_of_when_all_is_over(tune: Tune) -> None:
    tune.hand_out()
    tune.fail(raised(ValueError("no")))
    tune.searcher.report_ended()
    assert tune.scene.onlooker.events[-1] == ("ended", "a", "failed", "ValueError: no")


def test_what_the_trial_told_itself_is_not_told_again(tune: Tune) -> None:
    folder = tune.scene.folder("a")
    tune.hand_out()
    for line in (start(), failed("ValueError: its own word")):
        folder.append(line)
    tune.fail(raised(ValueError("its own word")))
    assert tune.last_event() == ("ended", "a", "failed", "ValueError: its own word")
    assert len(folder.read_outbox()[0]) == 2


def test_a_failure_of_an_earlier_launch_hides_no_new_one(tune: Tune) -> None:
    tune.scene.folder("a").append(failed("ValueError: before"))
    tune.hand_out()
    tune.fail(raised(ValueError("now")))
    assert tune.last_event() == ("ended", "a", "failed", "ValueError: now")


def test_a_filled_cell_is_filled_whatever_its_process_raised_then(tune: Tune) -> None:
    tune.hand_out()
    tune.scene.folder("a").write_final(final())
    tune.fail(raised(ValueError("too late")))
    assert tune.last_event() == ("ended", "a", "finished", "")


def test_an_error_of_a_cell_that_another_process_holds_ends_no_sweep(tune: Tune) -> None:
    tune.hand_out()
    process = holding(tune.scene.folder("a").path / "lock")
    try:
        tune.fail(raised(ValueError("x")))
        tune.searcher.suggest("t2")
    finally:
        end(process)
    assert [event[0] for event in tune.scene.onlooker.events] == ["dispatched", "dispatched"]


class StopsAfter:
    """A driver that lets no trial go on after an epoch; it notes of which it was told."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.epochs: list[int] = []

    def tell(self, event: Event) -> Stop | None:
        assert isinstance(event, EpochEnded)
        self.epochs.append(event.result.epoch)
        return Stop(trial_key=event.trial_key) if event.result.epoch >= self.epoch else None


class OwnProcess:
    """An actor of Tune's that is this process."""

    temporary_state = property(lambda self: self)
    ray_actor = property(lambda self: self)
    execute = property(lambda self: self)

    def remote(self, function: Callable[[Any], None]) -> None:
        function(self)


def message_of(*epochs: int) -> dict[str, Any]:
    events = [EpochEnded(trial_key="a" * 20, result=epoch(number)) for number in epochs]
    return {"events": EPOCHS.dump_json(events).decode()}


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Any]:
    """Return a trial's session, as a process of Tune's has it; the trial holds cell a."""

    def train() -> None:
        with CellFolder(tmp_path, "a" * 20).lease():
            session.get_session().report(message_of(1))

    monkeypatch.setenv("RAY_CHDIR_TO_TRIAL_DIR", "0")
    storage = SimpleNamespace(
        trial_working_directory=str(tmp_path), persist_artifacts=lambda force: None
    )
    ranks = dict.fromkeys(("world_rank", "local_rank", "node_rank", "local_world_size"))
    session.init_session(
        train, world_size=None, storage=storage, synchronous_result_reporting=True, **ranks
    )
    yield session.get_session()
    session.shutdown_session()


def test_a_stopped_trial_frees_its_cell_though_its_process_is_kept(
    tmp_path: Path, begun: Any
) -> None:
    begun.start()
    metrics = begun.get_next().metrics
    cell = CellFolder(tmp_path, "a" * 20)
    assert cell.is_busy()
    decision = StopScheduler(StopsAfter(1)).on_trial_result(None, OwnProcess(), metrics)
    assert decision == TrialScheduler.STOP
    wait_until(lambda: not cell.is_busy())
    begun.training_thread.join()


def test_epochs_that_come_together_are_told_one_by_one() -> None:
    driver = StopsAfter(9)
    decision = StopScheduler(driver).on_trial_result(None, None, message_of(2, 3, 4))
    assert (decision, driver.epochs) == (TrialScheduler.CONTINUE, [2, 3, 4])


def test_a_process_is_reused_for_jobs_of_the_same_card_alone() -> None:
    def resources(number: int, fraction: float) -> Any:
        card = OnCard(
            number=number, visible_as=f"GPU-{number}", label=str(number), memory_fraction=fraction
        )
        spec = TrialJob(cells="cells", spec=example_spec())
        job = Job(trials=(spec,), share=Share(gpus=1.0, card=card))
        return resources_of({"job": job.model_dump_json()})

    assert resources(0, 0.1) == resources(0, 0.5)
    assert resources(0, 0.1) != resources(1, 0.1)
    assert "GPU" not in resources(0, 0.1).required_resources
