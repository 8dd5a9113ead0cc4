"""How routings are differentiated: by hand, which saves time and memory, or automatically."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor

_IS_PLAIN = ContextVar("capsmodel_plain_autograd", default=False)
_TAKES_ALL_ROUNDS = ContextVar("capsmodel_gradient_through_all_rounds", default=False)


@contextmanager
def plain_autograd() -> Generator[None]:
    """Let PyTorch differentiate every routing that is computed in the block.

    By default routings have hand-written gradients, which take less memory and time. They support
    first derivatives, and second ones by `create_graph` or `torch.func`. They do not support
    forward mode: `torch.func.jvp`, `jacfwd` and `hessian` need this block. Those of EM support
    neither all rows of a Jacobian at once (`is_grads_batched`) nor second derivatives inside
    saved-tensor hooks; both need it too. Values are the same up to rounding. What is compiled or
    exported is always differentiated automatically.
    """
    token = _IS_PLAIN.set(True)
    try:
        yield
    finally:
        _IS_PLAIN.reset(token)


@contextmanager
def gradient_through_all_rounds() -> Generator[None]:
    """Let gradients flow through all rounds of every routing that is computed in the block.

    The routings that are set to differentiate the last round alone (`gradient="last"`) do so in
    training. An attack that followed their gradient would miss what the shares do. Values are the
    same up to rounding.
    """
    token = _TAKES_ALL_ROUNDS.set(True)
    try:
        yield
    finally:
        _TAKES_ALL_ROUNDS.reset(token)


def stops_at_last_round(gradient: str) -> bool:
    """Return whether a routing of this setting is differentiated through its last round alone."""
    return gradient == "last" and not _TAKES_ALL_ROUNDS.get()


def is_plain() -> bool:
    """Return whether PyTorch is to differentiate, compile or trace what is computed now."""
    is_traced = torch.compiler.is_compiling() or torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]
    return is_traced or _IS_PLAIN.get()


def has_storage(tensor: Tensor) -> bool:
    """Return whether a tensor is an ordinary one: not wrapped by `torch.func`, and not a fake."""
    if type(tensor) is not Tensor:
        return False
    try:
        tensor.data_ptr()
    except RuntimeError:  # the tensors of torch.func have no storage of their own
        return False
    return True


def raise_forward_mode_error(ctx: Any, *tangents: Any) -> Any:
    """Raise an error in forward mode: the `jvp` of functions with hand-written gradients.

    Raises:
        NotImplementedError: Saying what to do.
    """
    del ctx, tangents
    raise NotImplementedError(
        "Gradients written by hand know no forward mode: compute the routing within "
        "`with capsmodel.functional.plain_autograd():`."
    )
