"""Traces of the steps of an epoch on a device that nobody has, and what in them is slow on a GPU.

Tensors on the meta device have shapes and no values, so that a step can be run on them as on a GPU.
"""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from itertools import islice
from typing import Any, ClassVar, Self
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from capsmodel import TrainingConfig
from capsmodel.data import Images
from capsmodel.optimisers import Moment
from capsmodel.training import learner as learner_module
from capsmodel.training.learner import Learner

META = torch.device("meta")
_FROM_NUMBERS = ("tensor", "as_tensor", "asarray", "from_numpy", "frombuffer")
_SUBSCRIPTS = ("__getitem__", "__setitem__")
_INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_"}
_ALSO_WAIT = {"_linalg_check_errors", "is_nonzero", "nonzero"}
_NO_META = {"_fused_sgd_"}  # it moves in place, and PyTorch cannot run it without values
_WAITING = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


class GeneratorElsewhere(torch.Generator):
    """Stands for the generator of a GPU."""

    device: ClassVar[torch.device] = META  # pyright: ignore[reportIncompatibleVariableOverride]


@contextmanager
def numbers_recorded(operations: list[str]) -> Generator[None]:
    """Record meanwhile every tensor that is made of Python's numbers, which meta tensors hide."""

    def recording(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(*args: Any, **named: Any) -> Any:
            if name not in _SUBSCRIPTS or _has_list(args[1]):
                operations.append(f"{name} takes numbers of Python")
            return call(*args, **named)

        return recorded

    with ExitStack() as stack:
        for owner, names in ((torch, _FROM_NUMBERS), (Tensor, ("new_tensor", *_SUBSCRIPTS))):
            for name in names:
                recorded = recording(name, getattr(owner, name))
                stack.enter_context(patch.object(owner, name, recorded))
        yield


def _has_list(index: Any) -> bool:
    return any(isinstance(part, list) for part in (index if isinstance(index, tuple) else (index,)))


class SlowOperations(TorchDispatchMode):
    """Records every operation that copies a GPU's tensors or has to wait for a GPU.

    Every operation on a tensor of the CPU is recorded: it was copied, or will be, or its value is
    read when the operation is issued, which a CUDA graph would keep for ever.
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []
        self._numbers = numbers_recorded(self.operations)

    def __enter__(self) -> Self:
        self._numbers.__enter__()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._numbers.__exit__(*error)

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = function.overloadpacket.__name__
        tensors = _tensors((args, kwargs))
        if waits(function, name, tensors):
            self.operations.append(f"{function} waits")
        elif function.namespace == "aten" and _on_cpu(tensors):
            self.operations.append(f"{function} takes a tensor of the CPU")
        returned = None if name in _NO_META else function(*args, **(kwargs or {}))
        if _on_cpu(_tensors(returned)) and not _on_cpu(tensors):
            self.operations.append(f"{function} returns a tensor of the CPU")
        return returned


def waits(function: Any, name: str, tensors: list[Tensor]) -> bool:
    if name in _INDEXING:  # only masks become indices, whose number is not known before
        return any(tensor.dtype in {torch.bool, torch.uint8} for tensor in tensors[1:])
    return name in _ALSO_WAIT or not _WAITING.isdisjoint(function.tags)


def _tensors(nested: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(nested) if isinstance(leaf, Tensor)]


def _on_cpu(tensors: list[Tensor]) -> bool:
    return any(tensor.device.type == "cpu" and tensor.numel() > 0 for tensor in tensors)


def learner_elsewhere(config: TrainingConfig) -> Learner:
    """Return a learner on the meta device, that draws as one on a GPU does."""
    with patch.object(learner_module, "of_steps", lambda *_: GeneratorElsewhere()):
        return Learner(config, 0, META)


def slow_in_steps(
    learner: Learner, train: Images, step: Callable[[Images, Moment], object]
) -> list[str]:
    """Return the slow operations of an epoch's steps, except the first, which fills the caches."""
    with patch.object(learner_module, "_PICKED_BATCHES", 1):  # each step gathers its images
        batches = learner.batches(train, 1)
        step(*next(batches))
        with SlowOperations() as slow:
            for batch, moment in islice(batches, 2):
                step(batch, moment)
    return slow.operations
