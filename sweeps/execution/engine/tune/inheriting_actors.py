"""Tune's actors with the environment that Ray's processes have here from their start.

Tune gives its actors an environment of their own, so that a cluster's processes know a driver's
settings. Ray then starts another process for each, and those that are ready are of no use.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


class ActorClasses:
    """Tune's trainables as classes of actors, each told to Ray once."""

    def __init__(self) -> None:
        self._classes: dict[type, Any] = {}

    def get(self, trainable: type) -> Any:
        """Return what Tune starts an actor of."""
        import ray

        if trainable not in self._classes:
            self._classes[trainable] = ray.remote(trainable)
        return self._classes[trainable]


@contextmanager
def inheriting_actors() -> Generator[None]:
    """Have Tune's actors take processes as they are."""
    from ray.tune.execution import tune_controller

    with patch.object(tune_controller, "_ActorClassCache", ActorClasses):
        yield
