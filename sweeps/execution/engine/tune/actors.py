"""Tune's actors, with ends that Tune itself does not know, told as deaths of theirs.

Ray's memory monitor kills a worker when a machine has no memory left, and tells so by an error that
is no actor's. Tune raises what it does not know, which would end every other trial as well.

An actor that is still busy with the trial before is given no other one. Tune ends the other then,
but tells nobody, so that it would be waited for without end.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from ray.air.execution._internal import RayActorManager
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.tune.execution import tune_controller


class ActorLostError(RayActorError):
    """An actor that died of what Ray tells by another error.

    Attributes:
        cause: That error.
    """

    def __init__(self, cause: Exception) -> None:
        super().__init__(error_msg=str(cause))
        self.cause = cause

    def __reduce__(self) -> Any:
        return type(self), (self.cause,)


class ActorBusyError(RayActorError):
    """An actor that the trial before had not left in time."""


class TolerantActors(RayActorManager):
    """Tells of every error of Ray's as of the death of the actor that it came from."""

    def _actor_task_failed(self, tracked_actor_task: Any, exception: Exception) -> None:
        is_unknown = not isinstance(exception, RayActorError | RayTaskError)
        if is_unknown and isinstance(exception, RayError):
            exception = ActorLostError(exception)
        super()._actor_task_failed(tracked_actor_task, exception)


@contextmanager
def tolerant_actors() -> Generator[None]:
    """Have Tune use these in the block."""
    controller: Any = tune_controller.TuneController
    with (
        patch.object(tune_controller, "RayActorManager", TolerantActors),
        patch.object(controller, "_on_trial_reset", _telling(controller._on_trial_reset)),
    ):
        yield


def _telling(on_trial_reset: Callable[[Any, Any, bool], None]) -> Callable[[Any, Any, bool], None]:
    """Return what follows when an actor was to be used again: a failure is told as any other."""

    def told(controller: Any, trial: Any, success: bool) -> None:
        if success:
            on_trial_reset(controller, trial, success)
            return
        controller._resetting_trials.remove(trial)
        controller._set_trial_status(trial, trial.RUNNING)  # as Tune does for an actor that died
        controller._unstage_trial_with_resources(trial)
        controller._process_trial_failure(trial, exception=ActorBusyError())

    return told
