"""Tune's actors, of which one that runs out of memory is one that died: Tune knows no such end.

Ray's memory monitor kills a worker when a machine has no memory left, and tells so by an error that
is no actor's. Tune raises what it does not know, which would end every other trial as well.
"""

from collections.abc import Generator
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
    with patch.object(tune_controller, "RayActorManager", TolerantActors):
        yield
