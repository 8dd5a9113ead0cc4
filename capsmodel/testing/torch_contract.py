"""The laws of a module that works like PyTorch's own."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, stack_module_state, vmap
from torch.testing import assert_close

from capsmodel.functional import Couplings, plain_autograd, squash
from capsmodel.torch_internals import replica_of

_REPLICAS = 4


class Way(NamedTuple):
    """A way of computing: the type of weights and inputs, and whether autocast is on."""

    dtype: torch.dtype
    is_autocast: bool = False

    def context(self) -> AbstractContextManager[object]:
        """Return the context to compute in."""
        return torch.autocast("cpu", torch.bfloat16) if self.is_autocast else nullcontext()


WAYS = {
    "autocast": Way(torch.float32, is_autocast=True),
    "bfloat16": Way(torch.bfloat16),
    "float16": Way(torch.float16),
}


class TorchValuesContract:
    """The laws of what a module computes, in each precision and under each transform.

    They are enough for a module that keeps all of `TorchContract` with another routing.
    """

    compiles: ClassVar[bool] = True
    maps: ClassVar[bool] = True
    halves: ClassVar[bool] = True

    @pytest.fixture
    def module(self) -> nn.Module:
        """Return the module under test, as it is built; a subclass must say which."""
        raise NotImplementedError("Override the fixture `module`.")

    @pytest.fixture
    def inputs(self) -> tuple[Tensor, ...]:
        """Return its inputs, in single precision; a subclass must say which."""
        raise NotImplementedError("Override the fixture `inputs`.")

    @pytest.mark.parametrize("way", WAYS)
    def test_half_precision_is_close_to_single(
        self, module: nn.Module, inputs: tuple[Tensor, ...], way: str
    ) -> None:
        """This holds under autocast too, and every gradient is finite."""
        if not self.halves:
            pytest.skip("it says that it works in single precision only")
        expected = [value.detach() for value in _output_tensors(module.eval(), *inputs)]
        dtype = WAYS[way].dtype
        module.to(dtype)
        with WAYS[way].context():
            values = _output_tensors(module, *(value.to(dtype) for value in inputs))
        for value, single in zip(values, expected, strict=True):
            assert WAYS[way].is_autocast or value.dtype == dtype
            assert_close(value.float(), single, rtol=0.05, atol=0.02)
        _total([value.float() for value in values]).backward()
        for name, parameter in module.named_parameters():
            assert parameter.grad is None or bool(parameter.grad.isfinite().all()), name

    def test_replicas_are_mapped_over_their_stacked_weights(
        self, module: nn.Module, inputs: tuple[Tensor, ...]
    ) -> None:
        """Results are the same as one by one."""
        self._skip_unless_it_maps()
        replicas = [deepcopy(module.eval()) for _ in range(_REPLICAS)]
        for replica in replicas[1:]:
            _disturb(replica)
        weights, buffers = stack_module_state(replicas)  # pyright: ignore[reportArgumentType]

        def call(weights: dict[str, Tensor], others: dict[str, Tensor]) -> tuple[Tensor, ...]:
            return _output_tensors(
                lambda *arguments: functional_call(module, (weights, others), arguments), *inputs
            )

        together = vmap(call, randomness="same")(weights, buffers)
        alone = zip(*(_output_tensors(replica, *inputs) for replica in replicas), strict=True)
        assert_close(together, tuple(map(torch.stack, alone)), rtol=1e-5, atol=1e-6)

    def test_gradients_are_computed_for_each_example(
        self, module: nn.Module, inputs: tuple[Tensor, ...]
    ) -> None:
        """Each is the gradient of a batch of that example alone."""
        self._skip_unless_it_maps()
        weights = {name: value.detach() for name, value in module.eval().named_parameters()}
        if not weights:
            pytest.skip("it has no weights")

        def loss(weights: dict[str, Tensor], *example: Tensor) -> Tensor:
            alone = [value.unsqueeze(0) for value in example]
            return _total(
                _output_tensors(
                    lambda *arguments: functional_call(module, weights, arguments), *alone
                )
            )

        mapped = vmap(grad(loss), in_dims=(None, *(0 for _ in inputs)), randomness="same")
        together = mapped(weights, *inputs)
        for number in range(len(inputs[0])):
            alone = grad(loss)(weights, *(value[number] for value in inputs))
            for name, gradient in alone.items():
                assert_close(together[name][number], gradient, rtol=1e-4, atol=1e-5)

    def test_second_derivatives_are_those_of_automatic_differentiation(
        self, module: nn.Module, inputs: tuple[Tensor, ...]
    ) -> None:
        """This tests gradients that are written by hand."""
        module, inputs = module.eval().double(), tuple(value.double() for value in inputs)
        by_hand = _curvature(module, inputs)
        with plain_autograd():
            plain = _curvature(module, inputs)
        assert_close(by_hand, plain, rtol=1e-6, atol=1e-9)

    def test_it_is_compiled_as_one_graph(
        self, module: nn.Module, inputs: tuple[Tensor, ...]
    ) -> None:
        """The graph includes its gradients, which equal those of a plain call."""
        self._skip_unless_it_compiles()
        torch.compiler.reset()  # one function is compiled for a limited number of modules
        compiled = torch.compile(module.eval(), fullgraph=True, backend="aot_eager")
        assert_close(
            _output_tensors(compiled, *inputs),
            _output_tensors(module, *inputs),
            rtol=1e-5,
            atol=1e-5,
        )
        weights = list(module.parameters())
        by_compiled, plain = (
            torch.autograd.grad(_total(_output_tensors(call, *inputs)), weights, allow_unused=True)
            for call in (compiled, module)
        )
        for gradient, expected in zip(by_compiled, plain, strict=True):
            assert_close(gradient, expected, rtol=1e-4, atol=1e-5)

    def test_it_is_exported_for_batches_of_any_size(
        self, module: nn.Module, inputs: tuple[Tensor, ...]
    ) -> None:
        """Two sizes are tried, both other than the example's."""
        self._skip_unless_it_compiles()
        sizes = tuple({0: torch.export.Dim.DYNAMIC} for _ in inputs)
        wrapped = _TensorOutputs(module.eval())
        exported = torch.export.export(wrapped, inputs, dynamic_shapes=(sizes,)).module()
        for times in (2, 3):
            batch = tuple(value.repeat(times, *(1 for _ in value.shape[1:])) for value in inputs)
            assert_close(_seeded(exported, *batch), _seeded(wrapped, *batch), rtol=1e-5, atol=1e-5)

    def _skip_unless_it_maps(self) -> None:
        if not self.maps:
            pytest.skip("it says that torch.func does not take it")

    def _skip_unless_it_compiles(self) -> None:
        if not self.compiles:
            pytest.skip("it says that it is not compiled")
        if hasattr(squash, "__wrapped__"):
            pytest.skip("shapes are checked, which compilers cannot read")


class TorchContract(TorchValuesContract):
    """A network, layer or routing supports what PyTorch's own modules support.

        class TestMyLayer(TorchContract):
            @pytest.fixture
            def module(self) -> nn.Module:
                return MyLayer()

            @pytest.fixture
            def inputs(self) -> tuple[Tensor, ...]:
                return (torch.rand(3, 6, 4),)

    The module is tested as it is built, in evaluation. Its inputs are tensors whose first axis is
    the batch; of its outputs, all tensors but couplings are compared. Its docstring says what it
    does not support, and its test says so by the attributes here. Laws of compilation are skipped
    where shapes are checked when functions are called, as compilers cannot read that.

    Attributes:
        compiles: Whether `torch.compile` and `torch.export` support it.
        maps: Whether `torch.func` supports it.
        halves: Whether it works in half precision and under autocast.
    """

    def test_built_alone_it_gives_numbers(
        self, module: nn.Module, inputs: tuple[Tensor, ...]
    ) -> None:
        """No other call is needed."""
        assert all(
            bool(value.isfinite().all()) for value in _output_tensors(module.eval(), *inputs)
        )

    def test_a_copy_says_the_same(self, module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        """It does not share its weights."""
        copy = deepcopy(module.eval())
        assert_close(
            _output_tensors(copy, *inputs), _output_tensors(module, *inputs), rtol=0, atol=0
        )
        pointers = {value.data_ptr() for value in module.parameters()}
        assert pointers.isdisjoint(value.data_ptr() for value in copy.parameters())

    def test_a_replaced_child_is_used(self, module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        """A user's layer must not be ignored."""
        for name, child in list(module.eval().named_children()):
            if not any(True for _ in child.parameters()):
                continue
            other = deepcopy(module)
            _disturb(other.get_submodule(name))
            replaced = deepcopy(module)
            replaced.register_module(name, deepcopy(other.get_submodule(name)))
            assert_close(
                _output_tensors(replaced, *inputs), _output_tensors(other, *inputs), rtol=0, atol=0
            )
            assert any(
                map(_differ, _output_tensors(other, *inputs), _output_tensors(module, *inputs))
            ), name

    def test_a_replica_of_data_parallel_uses_its_own_weights(
        self, module: nn.Module, inputs: tuple[Tensor, ...]
    ) -> None:
        """Such replicas have tensors in place of parameters, and share all else."""
        other = deepcopy(module.eval())
        _disturb(other)
        replica = replica_of(module, dict(other.named_parameters()))
        assert_close(
            _output_tensors(replica, *inputs), _output_tensors(other, *inputs), rtol=0, atol=0
        )


class _TensorOutputs(nn.Module):
    """A module that returns the tensors of another."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Return the tensors."""
        return _tensors(self.module(*inputs))


def _seeded(call: Callable[..., Any], *inputs: Tensor) -> Any:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return call(*inputs)


def _output_tensors(call: Callable[..., Any], *inputs: Tensor) -> tuple[Tensor, ...]:
    """Return the tensors of a module's outputs, always with the same random numbers."""
    return _tensors(_seeded(call, *inputs))


def _tensors(output: Any) -> tuple[Tensor, ...]:
    if isinstance(output, Tensor):
        return (output,)
    parts = output if isinstance(output, tuple) and not isinstance(output, Couplings) else ()
    return tuple(tensor for part in parts for tensor in _tensors(part))


def _total(values: list[Tensor] | tuple[Tensor, ...]) -> Tensor:
    return torch.stack([value.sin().square().sum() for value in values]).sum()


def _differ(value: Tensor, other: Tensor) -> bool:
    return not torch.equal(value, other)


def _disturb(module: nn.Module) -> None:
    with torch.no_grad():
        for value in module.parameters():
            value.add_(0.1 * torch.rand_like(value))


def _curvature(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return the gradient by the first input of the squared length of the gradient by it."""
    first = inputs[0].clone().requires_grad_()
    loss = _total(_output_tensors(module, first, *inputs[1:]))
    (gradient,) = torch.autograd.grad(loss, first, create_graph=True)
    return torch.autograd.grad(gradient.square().sum(), first)
