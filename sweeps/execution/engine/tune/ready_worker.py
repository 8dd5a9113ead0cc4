"""Loads in a new worker process of Ray what every trial needs."""

from contextlib import suppress
from functools import cache
from importlib import import_module

from sweeps.execution.garbage import not_collecting

_LOADED = (
    "ray.tune",
    "safetensors.torch",
    "capsmodel.training.training",
    "sweeps.execution.worker.trial",
)


@cache
def load_libraries() -> None:
    """Load what every trial needs, once a process.

    The garbage collector skips them from then on. What cannot be imported is reported by the trial
    that needs it.
    """
    with not_collecting():
        for name in _LOADED:
            with suppress(ImportError):
                import_module(name)
