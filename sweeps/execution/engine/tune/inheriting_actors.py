"""Tune's actors with the environment that Ray's processes have here from their start.

Tune gives its actors an environment of their own, so that a cluster's processes know a driver's
settings. Ray then starts another process for each, and those that are ready are of no use.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


@contextmanager
def inheriting_actors() -> Generator[None]:
    """Have Tune's actors take processes as they are."""
    import ray
    from ray.tune.execution import tune_controller
    from ray.tune.execution.class_cache import _ActorClassCache

    class Cache(_ActorClassCache):
        def get(self, trainable_cls: type) -> Any:
            if trainable_cls not in self._cache:
                self._cache[trainable_cls] = ray.remote(trainable_cls)
            return self._cache[trainable_cls]

    with patch.object(tune_controller, "_ActorClassCache", Cache):
        yield
