"""Torch's optimisers, without the two seconds in which they load torch's compiler."""

import inspect
from typing import Any, TypeVar, cast

import torch

_O = TypeVar("_O", bound=torch.optim.Optimizer)
_MARKED = ("add_param_group", "state_dict", "load_state_dict", "zero_grad")


def eager(optimiser: type[_O]) -> type[_O]:
    """Return a class that steps as an optimiser does, bit for bit.

    Torch wraps these methods to tell its compiler not to look into them, and imports all of it to
    say so: 1.9 of 9 seconds of processor time in a process that trains its first network. Only who
    compiles a whole step, optimiser and all, needs what is left out here. Nor is a step wrapped for
    torch's profiler and for hooks, which takes a fiftieth of the step of a small training.
    """
    plain: dict[str, Any] = {name: inspect.unwrap(getattr(optimiser, name)) for name in _MARKED}
    step: Any = torch.no_grad()(inspect.unwrap(optimiser.step))
    step.hooked = True  # so torch takes it as wrapped already
    plain["step"] = step
    return cast(type[_O], type(optimiser.__name__, (optimiser,), plain))
