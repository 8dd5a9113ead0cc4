"""A process of Ray's made ready for trials, as soon as it is there."""

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

    Trials look for garbage as they always do, but not in these. What cannot be loaded is missed,
    and told, by the trial.
    """
    with not_collecting():
        for name in _LOADED:
            with suppress(ImportError):
                import_module(name)
