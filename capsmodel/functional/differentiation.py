"""How routings are differentiated: by hand, which saves time and memory, or automatically."""

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

_IS_PLAIN = ContextVar("capsmodel_plain_autograd", default=False)
_TAKES_ALL_ROUNDS = ContextVar("capsmodel_gradient_through_all_rounds", default=False)


@contextmanager
def plain_autograd() -> Generator[None]:
    """Let PyTorch differentiate every routing that is computed in the block.

    By default routings have hand-written gradients, which take less memory and time. They support
    first derivatives, and second ones by `create_graph` or `torch.func`. They do not support
    forward mode: `torch.func.jvp`, `jacfwd` and `hessian` need this block. Values are the same up
    to rounding. What is compiled or exported is always differentiated automatically.

    Example:
        >>> import torch
        >>> with plain_autograd():
        ...     slopes = torch.func.jacfwd(lambda votes: dynamic_routing(votes).activations)(
        ...         torch.rand(1, 6, 3, 8)
        ...     )
        >>> slopes.shape
        torch.Size([1, 3, 1, 6, 3, 8])
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

    Example:
        >>> import torch
        >>> votes = torch.rand(1, 6, 3, 8, requires_grad=True)
        >>> with gradient_through_all_rounds():
        ...     dynamic_routing(votes, gradient="last").activations.sum().backward()
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
    """Return whether PyTorch itself differentiates, compiles or traces the current operations."""
    return is_traced() or _IS_PLAIN.get()


def is_traced() -> bool:
    """Return whether PyTorch compiles, exports or traces the current operations."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]


def has_storage(tensor: Tensor) -> bool:
    """Return whether a tensor is an ordinary one: not wrapped by `torch.func`, and not a fake."""
    if type(tensor) not in (Tensor, nn.Parameter):
        return False
    try:
        tensor.data_ptr()
    except RuntimeError:  # the tensors of torch.func have no storage of their own
        return False
    return True


def differentiable_gradients(
    function: Callable[..., Any],
    inputs: tuple[Tensor, ...],
    slopes: Tensor | tuple[Tensor, ...],
) -> tuple[Tensor, ...]:
    """Return the gradients of a function's inputs, which can be differentiated in their turn.

    Args:
        function: Returns a tensor, or a tuple of them.
        inputs: Where it is differentiated.
        slopes: The gradients of its results.
    """
    several = slopes if isinstance(slopes, tuple) else (slopes,)
    if all(has_storage(tensor) for tensor in (*inputs, *several)):
        # torch.func knows no hooks on saved tensors; this does not know the tensors of torch.func
        # views, since one input may be made of another, whose gradient is then not through it
        seen = tuple(
            tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()
            for tensor in inputs
        )
        results = function(*seen) if isinstance(slopes, tuple) else (function(*seen),)
        pairs = zip(results, several, strict=True)
        moved, their_slopes = zip(*(pair for pair in pairs if pair[0].requires_grad), strict=True)
        return torch.autograd.grad(
            moved, seen, their_slopes, create_graph=True, materialize_grads=True
        )
    pull: Any = torch.func.vjp(function, *inputs)[1]
    return pull(slopes)


class WrittenByHand(torch.autograd.Function):
    """A function with a gradient written by hand, which knows no forward mode.

    Under `torch.func.vmap` it is mapped as its forward and backward are, unless a subclass sets
    `generate_vmap_rule = False` and has a rule of its own.
    """

    generate_vmap_rule = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # PyTorch asks for it in every call, and working it out takes as long as five operations
        setattr(cls.forward, "__signature__", inspect.signature(cls.forward))  # noqa: B010

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Raise an error in forward mode.

        Raises:
            NotImplementedError: Saying what to do.
        """
        del ctx, tangents
        raise NotImplementedError(
            "Gradients written by hand know no forward mode: compute the routing within "
            "`with capsmodel.functional.plain_autograd():`."
        )
