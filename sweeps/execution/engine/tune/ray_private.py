"""The private parts of Ray and Tune that the engine uses, what each one buys, and what replaces it.

All were read in Ray 2.60.0 and run in 2.59.0. With another release none is used.
`CAPSWEEP_PLAIN_RAY=1` switches off those that only save time: seconds until the first epoch and of
processor time, for a sweep of three trials, as medians of two to three pairs on two cores shared
with other work.

| part | first epoch | processor | without it |
|---|---:|---:|---|
| ready processes: the hook, three settings, `_ActorClassCache` | 3.6 | 0.4 | one for each trial |
| idle agents: `start_ray_process`, `persist_port` | 2.0 | 2.0 | Ray's agents, two open ports |
| no servers: three methods of `Node` | 1.6 | 1.8 | API server, log monitor, autoscaler |
| callbacks not counted: `tag_callbacks` | 0.9 | 0.9 | Tune loads MLflow |
| all four | 9.7 | 6.9 | |

The others prevent failures, which tests in `test_ray_private.py` and `test_tune_hooks.py` show:

| part | what fails | without it |
|---|---|---|
| long start: `services.get_node` | a start that takes longer than 30 s | Ray's 30 s |
| lost actors: `_actor_task_failed` | all trials, if one lacks memory | the engine restarts |
| busy actors: `_on_trial_reset` | the launch, which waits forever | `reuse_actors=False` |
| room for others: four methods of `TuneController` | a second launch, until the first has ended | \
`reuse_actors=False` |
| left cells: `session.finish` | a stopped trial keeps its cell | `reuse_actors=False` |
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

PLAIN_VARIABLE = "CAPSWEEP_PLAIN_RAY"
_RELEASES = ("2.59.", "2.60.")


def is_known_release() -> bool:
    """Return whether the private parts were read in the release of Ray that is installed."""
    import ray

    return ray.__version__.startswith(_RELEASES)


def is_fast() -> bool:
    """Return whether the parts that only save time are in use."""
    return is_known_release() and os.environ.get(PLAIN_VARIABLE) != "1"


@contextmanager
def own_ray_start(num_ready: int | None) -> Generator[None]:
    """Start Ray in the block with what a sweep needs of it.

    Args:
        num_ready: How many worker processes Ray starts at once, with all that a trial loads; None
            for none.
    """
    with ExitStack() as parts:
        if is_known_release():
            parts.enter_context(_long_start())
        if is_fast():
            os.environ.update(_worker_settings(num_ready))
            parts.enter_context(_idle_agents())
            parts.enter_context(_no_servers())
        yield


@contextmanager
def tune_run(
    lost_actor: Callable[[Exception], Exception], busy_actor: Callable[..., Exception]
) -> Generator[None]:
    """Run Tune in the block so that the failure of an actor ends its own trial only.

    Args:
        lost_actor: Makes the error of an actor that Ray ended, of the error that Ray gave it.
        busy_actor: Makes the error of an actor that was not free for the next trial in time.
    """
    with ExitStack() as parts:
        if is_known_release():
            parts.enter_context(_tolerant_actors(lost_actor, busy_actor))
        if is_fast():
            parts.enter_context(_uncounted_callbacks())
        yield


# Parts that only save time.

_WORKER_HOOK = "__RAY_WORKER_PROCESS_SETUP_HOOK_ENV_VAR"
_AN_HOUR_IN_MILLISECONDS = "3600000"


def _worker_settings(num_ready: int | None) -> dict[str, str]:
    """Return the environment in which Ray starts `num_ready` processes that are ready to train.

    An idle process is kept: Ray would end it once trials that are about to begin take the cores.
    """
    if num_ready is None:
        return {"RAY_prestart_worker_first_driver": "0"}
    return {
        _WORKER_HOOK: "sweeps.execution.engine.tune.ready_worker.load_libraries",
        "RAY_worker_maximum_startup_concurrency": str(num_ready),
        "RAY_idle_worker_killing_time_threshold_ms": _AN_HOUR_IN_MILLISECONDS,
    }


@contextmanager
def inheriting_actors() -> Generator[None]:
    """Have Tune's actors use the processes that `own_ray_start` has made ready.

    Tune gives its actors an environment of their own, so that a cluster's processes know a driver's
    settings. Ray then starts another process for each. Here all have the same environment already.
    """
    if not is_fast():
        yield
        return
    import ray
    from ray.tune.execution import tune_controller

    class ActorClasses:
        def __init__(self) -> None:
            self._classes: dict[type, Any] = {}

        def get(self, trainable: type) -> Any:
            if trainable not in self._classes:
                self._classes[trainable] = ray.remote(trainable)
            return self._classes[trainable]

    with _replaced(tune_controller, "_ActorClassCache", ActorClasses):
        yield


_AGENT_OPTIONS = ("--dashboard_agent_command=", "--runtime_env_agent_command=")
_AGENT_PORTS = (
    "METRICS_AGENT_PORT_NAME",
    "METRICS_EXPORT_PORT_NAME",
    "DASHBOARD_AGENT_LISTEN_PORT_NAME",
    "RUNTIME_ENV_AGENT_PORT_NAME",
)
_ENVIRONMENT_REQUESTS = ("RAY_JOB_CONFIG_JSON_ENV_VAR", "RAY_RUNTIME_ENV_HOOK")


@contextmanager
def _idle_agents() -> Generator[None]:
    """Have Ray start idle processes in place of its two agents.

    One agent serves a dashboard and metrics. The other makes environments for tasks that ask for
    one. Ray insists on a process for each and on a file that names the port of each; -1 is none.
    """
    from ray._private import services

    start: Callable[..., Any] = services.start_ray_process

    def start_ray_process(command: Sequence[str], *arguments: Any, **named: Any) -> Any:
        if any(word.startswith(_AGENT_OPTIONS) for word in command):
            _write_agent_ports(command)
            command = [_without_agent(word) for word in command]
        return start(command, *arguments, **named)

    # whoever started this process may ask for an environment, which nobody would make
    requests = {name: os.environ.pop(name) for name in _ENVIRONMENT_REQUESTS if name in os.environ}
    try:
        with _replaced(services, "start_ray_process", start_ray_process):
            yield
    finally:
        os.environ.update(requests)


def _without_agent(word: str) -> str:
    option, equals, _ = word.partition("=")
    if f"{option}{equals}" not in _AGENT_OPTIONS:
        return word
    script = str(Path(__file__).with_name("idle_agent.py"))
    idle = [sys.executable, "-I", "-S", script, str(os.getpid())]
    return f"{option}={subprocess.list2cmdline(idle)}"


def _write_agent_ports(command: Sequence[str]) -> None:
    from ray import _raylet

    raylet: Any = _raylet  # it has no types
    options = dict(word.removeprefix("--").split("=", 1) for word in command if "=" in word)
    for name in _AGENT_PORTS:
        raylet.persist_port(options["session_dir"], options["node_id"], getattr(raylet, name), -1)


@contextmanager
def _no_servers() -> Generator[None]:
    """Have Ray start neither its API server, nor its log monitor, nor its autoscaler."""
    from ray._private.node import Node

    with ExitStack() as servers:
        for name in ("start_api_server", "start_log_monitor", "start_monitor"):
            servers.enter_context(_replaced(Node, name, _do_nothing))
        yield


@contextmanager
def _uncounted_callbacks() -> Generator[None]:
    """Keep Tune from loading MLflow, which it does to count callbacks for usage statistics."""
    from ray.air._internal import usage

    with _replaced(usage, "tag_callbacks", _do_nothing):
        yield


# Parts without which a test fails.


@contextmanager
def _long_start() -> Generator[None]:
    """Have Ray wait for its own start until the driver ends it: 30 s are too few if it is busy."""
    from ray._private import services

    get_node: Callable[..., Any] = services.get_node

    def get_node_in_time(*arguments: Any, **named: Any) -> Any:
        while True:
            try:
                return get_node(*arguments, **named)
            except RuntimeError:
                time.sleep(0.1)

    with _replaced(services, "get_node", get_node_in_time):
        yield


@contextmanager
def _tolerant_actors(
    lost_actor: Callable[[Exception], Exception], busy_actor: Callable[..., Exception]
) -> Generator[None]:
    """Have Tune fail the trial alone whose actor was killed for memory, or was busy.

    Ray's memory monitor kills a worker by an error that Tune does not know: it raises it, which
    ends every other trial. An actor that is still busy with the trial before is not used again:
    Tune then ends the new trial and reports that to nobody, so that the engine would wait forever.
    """
    from ray.air.execution._internal import RayActorManager
    from ray.exceptions import RayActorError, RayError, RayTaskError
    from ray.tune.execution import tune_controller

    manager: Any = RayActorManager
    controller: Any = tune_controller.TuneController
    actor_task_failed = manager._actor_task_failed
    on_trial_reset = controller._on_trial_reset

    def fail_actor_task(self: Any, tracked_actor_task: Any, exception: Exception) -> None:
        # Ray passes both by name
        is_known = isinstance(exception, RayActorError | RayTaskError)
        if isinstance(exception, RayError) and not is_known:
            exception = lost_actor(exception)
        actor_task_failed(self, tracked_actor_task, exception)

    def reset_trial(self: Any, trial: Any, success: bool) -> None:
        if success:
            on_trial_reset(self, trial, success)
            return
        self._resetting_trials.remove(trial)
        self._set_trial_status(trial, trial.RUNNING)  # as Tune does for an actor that died
        self._unstage_trial_with_resources(trial)
        self._process_trial_failure(trial, exception=busy_actor())

    with (
        _replaced(manager, "_actor_task_failed", fail_actor_task),
        _replaced(controller, "_on_trial_reset", reset_trial),
    ):
        yield


def leave_cell(trial: Any) -> None:
    """Have the process of a stopped trial free its cell now: Tune may keep it for the next trial.

    Args:
        trial: Tune's own.
    """
    if is_known_release():
        trial.temporary_state.ray_actor.execute.remote(_finish_session)


def _finish_session(_: Any) -> None:
    from ray.train._internal.session import get_session

    if session := get_session():
        session.finish(timeout=0)


@contextmanager
def room_for_others(
    keeps: Callable[[], bool], num_to_take_back: Callable[[], int]
) -> Generator[None]:
    """Have Tune leave to other launches what it would keep for its next trial.

    Tune keeps the actor of a trial that has ended, with its room, until another trial needs it. A
    trial that waits takes the room of the next one that ends, also where another launch has asked
    for it before. While Tune waits for a trial from the searcher, it ends no actor.

    Args:
        keeps: Returns whether an actor without a trial is kept.
        num_to_take_back: Returns how many of the waiting trials are to wait no longer.
    """
    from ray.tune.execution import tune_controller

    controller: Any = tune_controller.TuneController
    cache_actor = controller._maybe_cache_trial_actor
    clean_up = controller._cleanup_cached_actors
    update_queue = controller._update_trial_queue
    begin_step = controller.on_step_begin

    def cache_trial_actor(self: Any, trial: Any) -> bool:
        return keeps() and cache_actor(self, trial)

    def clean_up_actors(self: Any, force_all: bool = False) -> None:
        clean_up(self, force_all=force_all or not keeps())

    def update_trial_queue(self: Any, blocking: bool = False, timeout: int = 0) -> bool:
        is_new = update_queue(self, blocking=False)
        if blocking and not is_new:
            time.sleep(_PAUSE_SECONDS)
        return is_new

    def begin_step_without(self: Any) -> None:
        _take_back(self, num_to_take_back())
        begin_step(self)

    with (
        _replaced(controller, "_maybe_cache_trial_actor", cache_trial_actor),
        _replaced(controller, "_cleanup_cached_actors", clean_up_actors),
        _replaced(controller, "_update_trial_queue", update_trial_queue),
        _replaced(controller, "on_step_begin", begin_step_without),
    ):
        yield


_PAUSE_SECONDS = 0.1


def _take_back(controller: Any, num: int) -> None:
    """Stop the newest of Tune's trials that have no room yet."""
    for trial in _waiting_trials(controller)[-num:] if num > 0 else ():
        if trial in controller._staged_trials:
            controller._unstage_trial_with_resources(trial)
        controller.stop_trial(trial)


def _waiting_trials(controller: Any) -> list[Any]:
    """Return Tune's trials that have no room yet, the newest last."""
    without_room = set(controller._actor_manager.pending_actors)
    return [
        trial
        for trial in controller._pending_trials_list
        if trial in controller._pending_trials
        and trial not in controller._resetting_trials
        and controller._trial_to_actor.get(trial) in {None, *without_room}
    ]


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Generator[None]:
    """Replace an attribute while the block runs."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def _do_nothing(*arguments: Any, **named: Any) -> None:
    del arguments, named
