"""What each private part of Ray and Tune does, and when it is left out."""

import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from itertools import chain, repeat
from types import SimpleNamespace

import psutil
import pytest
import ray
from ray._private import services
from ray._private.node import Node
from ray._private.ray_constants import WORKER_PROCESS_SETUP_HOOK_ENV_VAR
from ray.air._internal import usage
from ray.air.execution._internal import RayActorManager
from ray.exceptions import OutOfMemoryError, RayActorError, RayTaskError
from ray.tune.execution import tune_controller
from ray.tune.execution.tune_controller import TuneController

from sweeps.execution.child_process import is_alive
from sweeps.execution.engine.tune import idle_agent
from sweeps.execution.engine.tune.ray_private import (
    PLAIN_VARIABLE,
    inheriting_actors,
    is_known_release,
    leave_cell,
    own_ray_start,
    tune_run,
)
from sweeps.execution.engine.tune.tune_engine import ActorBusyError, ActorLostError
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLAIN_VARIABLE, raising=False)
    monkeypatch.setattr(os, "environ", os.environ.copy())  # a start leaves its settings there


def parts_that_save_time() -> list[object]:
    return [
        services.start_ray_process,
        *(
            getattr(Node, name)
            for name in ("start_api_server", "start_log_monitor", "start_monitor")
        ),
        usage.tag_callbacks,
        tune_controller._ActorClassCache,
    ]


def parts_that_prevent_failures() -> list[object]:
    return [
        services.get_node,
        RayActorManager._actor_task_failed,
        TuneController._on_trial_reset,
    ]


def names_of_arguments(part: Callable[..., object]) -> list[str]:
    """Return the names of all arguments of a part."""
    return [*inspect.signature(part).parameters]


def all_parts() -> tuple[list[object], list[object]]:
    with own_ray_start(2), tune_run(ActorLostError, ActorBusyError), inheriting_actors():
        return parts_that_save_time(), parts_that_prevent_failures()


def test_they_are_replaced_in_the_blocks_alone() -> None:
    fast, needed = parts_that_save_time(), parts_that_prevent_failures()
    in_blocks = all_parts()
    pairs = zip([*fast, *needed], chain(*in_blocks), strict=True)
    assert not [before for before, inside in pairs if before is inside]
    assert (parts_that_save_time(), parts_that_prevent_failures()) == (fast, needed)


def test_what_replaces_a_part_takes_all_arguments_by_the_names_that_ray_gives() -> None:
    before = parts_that_save_time(), parts_that_prevent_failures()
    for part, replacement in zip(chain(*before), chain(*all_parts()), strict=True):
        assert callable(part)
        assert callable(replacement)
        assert inspect.signature(replacement).bind(**dict.fromkeys(names_of_arguments(part))), part


def test_another_release_of_ray_runs_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before = parts_that_save_time(), parts_that_prevent_failures()
    for release in ("2.61.0", "3.0.0"):
        monkeypatch.setattr(ray, "__version__", release)
        assert all_parts() == before
        assert not is_known_release(), "so that no process is used for a second trial"
        leave_cell(None)
    assert WORKER_PROCESS_SETUP_HOOK_ENV_VAR not in os.environ


def test_plain_ray_leaves_out_what_only_saves_time(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, needed = parts_that_save_time(), parts_that_prevent_failures()
    monkeypatch.setitem(os.environ, PLAIN_VARIABLE, "1")
    in_blocks = all_parts()
    assert in_blocks[0] == fast
    assert not set(in_blocks[1]) & set(needed)
    assert WORKER_PROCESS_SETUP_HOOK_ENV_VAR not in os.environ


@pytest.mark.parametrize("num_ready", [2, None])
def test_ray_starts_as_many_ready_processes_as_are_asked_for(num_ready: int | None) -> None:
    with own_ray_start(num_ready):
        number = os.environ.get("RAY_" + "worker_maximum_startup_concurrency")
        is_hooked = WORKER_PROCESS_SETUP_HOOK_ENV_VAR in os.environ
    assert (number, is_hooked) == (num_ready and str(num_ready), bool(num_ready))


def test_only_the_command_that_starts_the_agents_is_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(services, "start_ray_process", started.append)
    with own_ray_start(2):
        services.start_ray_process(["gcs_server", "--session-name=one"])
    assert started == [["gcs_server", "--session-name=one"]]


def test_a_node_that_is_slow_to_register_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = chain([RuntimeError("not found")] * 3, repeat({"node_id": "1"}))

    def get_node(*_: object) -> object:
        if isinstance(answer := next(answers), RuntimeError):
            raise answer
        return answer

    monkeypatch.setattr(services, "get_node", get_node)
    with own_ray_start(None):
        assert services.get_node("address", "1") == {"node_id": "1"}


_PARENT = """
import os, subprocess, sys
words = [sys.executable, "-I", "-S", sys.argv[1], str(os.getpid())]
child = subprocess.Popen(words, stdin=subprocess.DEVNULL)
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_an_idle_agent_ends_with_its_parent_even_if_it_had_no_time_to_begin() -> None:
    command = [sys.executable, "-c", _PARENT, idle_agent.__file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    wait_until(lambda: not is_alive(child))


def errors_of(error: Exception, *, is_tolerant: bool = True) -> list[Exception]:
    """Return what Tune learns of an actor's task that failed, about the actor and the task."""
    learned: list[Exception] = []
    actor = SimpleNamespace(actor_id=1, _on_error=lambda _, error: learned.append(error))
    task = SimpleNamespace(_tracked_actor=actor, _on_error=lambda _, error: learned.append(error))
    manager = RayActorManager.__new__(RayActorManager)
    manager._failed_actor_ids = set()
    with tune_run(ActorLostError, ActorBusyError) if is_tolerant else nullcontext():
        manager._actor_task_failed(tracked_actor_task=task, exception=error)  # as Ray calls it
    return learned


@pytest.fixture
def _no_cleanup(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RayActorManager, "_cleanup_actor", lambda *_, **__: None)


@pytest.mark.usefixtures("_no_cleanup")
def test_an_actor_without_memory_is_one_that_died() -> None:
    error = OutOfMemoryError("Task was killed due to the node running low on memory.")
    errors = errors_of(error)
    assert len(errors) == 2, "of the actor's death and of its task's"
    for learned in errors:
        assert isinstance(learned, RayActorError)
        copy = pickle.loads(pickle.dumps(learned))
        assert isinstance(copy, ActorLostError)
        assert isinstance(copy.cause, OutOfMemoryError)
    with pytest.raises(RuntimeError, match="low on memory"):  # which ends all other trials too
        errors_of(error, is_tolerant=False)


@pytest.mark.usefixtures("_no_cleanup")
def test_other_errors_stay_as_they_are() -> None:
    died, raised = RayActorError(), RayTaskError("train", "Traceback", ValueError("no"))
    assert errors_of(died) == [died, died]
    assert errors_of(raised) == [raised]
    with pytest.raises(RuntimeError, match="unexpected"):
        errors_of(ValueError("not Ray's"))
