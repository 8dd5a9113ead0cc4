"""All private parts of PyTorch that capsmodel uses.

Each docstring states the version that was read, what the part buys, and the fallback. Tests run
both ways.
"""

import importlib
import inspect
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn

_T = TypeVar("_T")
_O = TypeVar("_O", bound=torch.optim.Optimizer)
_MARKED = ("add_param_group", "state_dict", "load_state_dict", "zero_grad")


def eager(optimiser: type[_O]) -> type[_O]:
    """Return a class that steps as an optimiser does, bit for bit, and does not load the compiler.

    PyTorch wraps these methods to keep its compiler out of them, and imports all of it to say so. A
    step is not wrapped for the profiler and for hooks either.

    Read in: torch 2.15.0, torch/optim/optimizer.py and torch/_compile.py.
    Buys: 1.3 of 4.0 seconds of processor time in a process that trains its first network (median of
        five pairs, two cores), and a fiftieth of the step of a small training.
    Without it: the optimiser itself, which is also what this returns where the methods are not
    wrapped as read.
    """
    methods = [getattr(optimiser, name) for name in (*_MARKED, "step")]
    if not all(hasattr(method, "__wrapped__") for method in methods):
        return optimiser
    plain: dict[str, Any] = {name: inspect.unwrap(getattr(optimiser, name)) for name in _MARKED}
    step: Any = torch.no_grad()(inspect.unwrap(optimiser.step))
    step.hooked = True  # so PyTorch takes it for wrapped already
    plain["step"] = step
    return cast(type[_O], type(optimiser.__name__, (optimiser,), plain))


def constant(cls: type[_T]) -> type[_T]:
    """Make transforms treat a class's objects as values without tensors.

    Read in: torch 2.15.0, `torch.utils._pytree.register_constant`.
    Buys: `torch.func.vmap` of a layer, whose couplings hold a `Neighbourhood`; else it raises, as
    `test_a_layer_is_mapped_with_its_couplings` shows.
    Without it: map a function that returns the layer's tensors alone.
    """
    register: Any = getattr(
        importlib.import_module("torch.utils._pytree"), "register_constant", None
    )
    if register is not None:
        register(cls)
    return cls


def is_replica(module: nn.Module) -> bool:
    """Return whether a module is a copy that `DataParallel` has made for a device.

    Read in: torch 2.15.0, torch/nn/parallel/replicate.py.
    Buys: outputs that `DataParallel` can gather: a replica's have no couplings, whose first axis is
        not the batch.
    Without it: `torch.nn.parallel.DistributedDataParallel`, which gathers nothing.
    """
    return bool(getattr(module, "_is_replica", False))


def replica_of(module: nn.Module, weights: Mapping[str, Tensor], prefix: str = "") -> nn.Module:
    """Return a copy as `DataParallel` makes it for a device, with these weights.

    It has tensors where parameters were, and shares all else with the module.

    Read in: torch 2.15.0, torch/nn/parallel/replicate.py.
    Buys: the law of `TorchContract` that a replica uses its own weights, on a machine without two
    GPUs: a deep copy hides a weight that is held elsewhere, as
    `test_a_fault_is_noticed[weights of another device]` shows.
    Without it: `torch.nn.parallel.replicate`, which needs GPUs. No training uses this.
    """
    replica: nn.Module = module._replicate_for_data_parallel()  # pyright: ignore
    for name in vars(module)["_parameters"]:
        value = weights.get(prefix + name)
        setattr(replica, name, None if value is None else value.detach().clone())
    for name, child in module.named_children():
        vars(replica)["_modules"][name] = replica_of(child, weights, f"{prefix}{name}.")
    return replica
