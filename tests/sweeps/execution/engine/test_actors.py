"""Tune hears of an actor without memory as of one that died, and goes on with the others."""

import pickle

import pytest
from ray.air.execution._internal import RayActorManager
from ray.exceptions import OutOfMemoryError, RayActorError, RayTaskError
from ray.tune.execution import tune_controller

from sweeps.execution.engine.tune.actors import ActorLostError, TolerantActors, tolerant_actors


class Tracked:
    """As much of a task as the manager of actors looks at."""

    def __init__(self) -> None:
        self.told: list[Exception] = []
        self._tracked_actor = self
        self.actor_id = 1

    def _on_error(self, actor: object, error: Exception) -> None:
        assert actor is self
        self.told.append(error)


def told_of(error: Exception, monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    monkeypatch.setattr(RayActorManager, "_cleanup_actor", lambda *_, **__: None)
    actors, task = TolerantActors.__new__(TolerantActors), Tracked()
    actors._failed_actor_ids = set()
    actors._actor_task_failed(task, error)
    return task.told


def test_an_actor_without_memory_is_one_that_died(monkeypatch: pytest.MonkeyPatch) -> None:
    error = OutOfMemoryError("Task was killed due to the node running low on memory.")
    all_told = told_of(error, monkeypatch)
    assert len(all_told) == 2, "of the actor's death and of its task's"
    for told in all_told:
        assert isinstance(told, RayActorError)
        again = pickle.loads(pickle.dumps(told))
        assert isinstance(again, ActorLostError)
        assert isinstance(again.cause, OutOfMemoryError)


def test_other_errors_are_told_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    died, raised = RayActorError(), RayTaskError("train", "Traceback", ValueError("no"))
    assert told_of(died, monkeypatch) == [died, died]
    assert told_of(raised, monkeypatch) == [raised]
    with pytest.raises(RuntimeError, match="unexpected"):
        told_of(ValueError("not Ray's"), monkeypatch)


def test_tune_uses_them_in_the_block_alone() -> None:
    with tolerant_actors():
        assert tune_controller.RayActorManager is TolerantActors
    assert tune_controller.RayActorManager is RayActorManager
