"""Each law of modules finds the fault that it is there for."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from capsmodel.functional.differentiation import is_plain
from capsmodel.testing import TorchContract

LAWS = TorchContract()
INPUTS = (torch.rand(3, 4, generator=torch.Generator().manual_seed(1)),)


class Sound(nn.Module):
    """A module that keeps every law; those below each break one."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 3)

    def forward(self, values: Tensor) -> Tensor:
        """Return the output of the inner layer."""
        return self.inner(values).sin()


class Unset(Sound):
    """Computes on storage that nothing was written to."""

    def __init__(self) -> None:
        super().__init__()
        nn.init.constant_(self.inner.weight, torch.nan)


class BesideItsChildren(Sound):
    """Keeps a child where a new one is not looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.children_by_name = {"inner": self.inner}

    def forward(self, values: Tensor) -> Tensor:
        """Return the output of the inner layer."""
        return self.children_by_name["inner"](values).sin()


class InSingle(Sound):
    """Knows single precision alone."""

    def forward(self, values: Tensor) -> Tensor:
        """Return the output of the inner layer in single precision."""
        return self.inner(values.float()).sin()


class ByNumber(Sound):
    """Takes a number out of a tensor, which no transform can."""

    def forward(self, values: Tensor) -> Tensor:
        """Return the values times a plain number."""
        return self.inner(values) * float(values.sum())


class OnceOnly(torch.autograd.Function):
    """A sine whose gradient is taken for a constant."""

    generate_vmap_rule = True

    @staticmethod
    def forward(values: Tensor) -> Tensor:
        """Return the sine."""
        return values.sin()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep the input out of the graph."""
        ctx.slope = inputs[0].detach().cos()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the slope."""
        return gradients[0] * ctx.slope


class Constant(Sound):
    """Differentiated once by hand, and wrong the second time."""

    def forward(self, values: Tensor) -> Tensor:
        """Return a sine."""
        inner = self.inner(values)
        return inner.sin() if is_plain() else OnceOnly.apply(inner)  # pyright: ignore


FAULTS: dict[str, tuple[type[nn.Module], Callable[..., None], dict[str, str]]] = {
    "no weights": (Unset, LAWS.test_built_alone_it_gives_numbers, {}),
    "a child that is not looked for": (
        BesideItsChildren,
        LAWS.test_a_replaced_child_is_used,
        {},
    ),
    "weights of another device": (
        BesideItsChildren,
        LAWS.test_a_replica_of_data_parallel_uses_its_own_weights,
        {},
    ),
    "one precision": (InSingle, LAWS.test_half_precision_is_close_to_single, {"way": "bfloat16"}),
    "a number": (ByNumber, LAWS.test_gradients_are_computed_for_each_example, {}),
    "a second derivative": (
        Constant,
        LAWS.test_second_derivatives_are_those_of_automatic_differentiation,
        {},
    ),
}


@pytest.mark.parametrize(("module", "law", "more"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_noticed(
    module: type[nn.Module], law: Callable[..., None], more: dict[str, str]
) -> None:
    law(Sound(), INPUTS, **more)
    with pytest.raises((AssertionError, RuntimeError)):
        law(module(), INPUTS, **more)
