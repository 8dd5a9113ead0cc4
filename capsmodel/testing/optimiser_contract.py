"""The laws of every optimiser."""

import copy
import math

import pytest
import torch
from torch import Tensor, nn

from capsmodel.optimisers import Moment, Optimiser
from capsmodel.testing.part_contract import PartContract

_SHAPES = ((2, 3), (4,), ())
_STEPS = 6


class OptimiserContract(PartContract):
    """The laws of every optimiser.

    class TestMyOptimiser(OptimiserContract):
        @pytest.fixture
        def optimiser(self) -> Optimiser:
            return MyOptimiser()
    """

    @pytest.fixture
    def optimiser(self) -> Optimiser:
        """Return the optimiser under test; a subclass must say which."""
        raise NotImplementedError("Override the fixture `optimiser`.")

    @pytest.fixture
    def part(self, optimiser: Optimiser) -> Optimiser:
        """Return the optimiser, for the laws of every part."""
        return optimiser

    def test_it_keeps_the_tensors_that_it_tells(self, optimiser: Optimiser) -> None:
        """A checkpoint is checked against their names and shapes before it is loaded."""
        parameters = _parameters()
        built = optimiser.build(parameters)
        _move(built, parameters, range(1))
        for parameter in parameters:
            state: dict[str, Tensor] = built.state[parameter]
            shapes = {name: tuple(value.shape) for name, value in state.items()}
            assert shapes == optimiser.state_shapes(tuple(parameter.shape))
            assert all(value.dtype == torch.float32 for value in state.values())

    @pytest.mark.parametrize("done", [0, 1, _STEPS - 1])
    def test_with_these_tensors_it_goes_on_to_the_last_bit(
        self, optimiser: Optimiser, done: int
    ) -> None:
        """It has no other state."""
        unbroken, broken = _parameters(), _parameters()
        _move(optimiser.build(unbroken), unbroken, range(_STEPS))
        first = optimiser.build(broken)
        _move(first, broken, range(done))
        second = optimiser.build(broken)
        state = copy.deepcopy(first.state_dict()["state"])
        second.load_state_dict({**second.state_dict(), "state": state})
        _move(second, broken, range(done, _STEPS))
        assert all(
            torch.equal(parameter, other) for parameter, other in zip(unbroken, broken, strict=True)
        )

    def test_it_uses_no_chance(self, optimiser: Optimiser) -> None:
        """The same gradients give the same weights; the global generator is not used."""
        before = torch.get_rng_state()
        first, second = _parameters(), _parameters()
        for parameters in (first, second):
            _move(optimiser.build(parameters), parameters, range(_STEPS))
        assert all(
            torch.equal(parameter, other) for parameter, other in zip(first, second, strict=True)
        )
        assert torch.equal(torch.get_rng_state(), before)

    def test_it_goes_downhill(self, optimiser: Optimiser) -> None:
        """The sum of the squares of all weights gets smaller along its gradient."""
        parameters = _parameters()
        built = optimiser.build(parameters)
        before = _sum_of_squares(parameters)
        for _ in range(_STEPS):
            for parameter in parameters:
                parameter.grad = 2 * parameter.detach()
            built.step()
        assert _sum_of_squares(parameters) < before

    def test_it_takes_the_rate_that_it_is_set_to(self, optimiser: Optimiser) -> None:
        """Nothing moves at a rate of zero: a training sets the rate before each step."""
        parameters = _parameters()
        built = optimiser.build(parameters)
        for group in built.param_groups:
            group["lr"] = 0.0
        _move(built, parameters, range(_STEPS))
        assert all(torch.equal(*pair) for pair in zip(parameters, _parameters(), strict=True))

    @pytest.mark.parametrize("num_epochs", [1, 30])
    def test_rates_are_finite_and_never_negative(
        self, optimiser: Optimiser, num_epochs: int
    ) -> None:
        """This holds from the first step to the last, and just after it."""
        for step in range(7 * num_epochs + 1):
            rate = optimiser.learning_rate_at(Moment(step, 7, num_epochs))
            assert math.isfinite(rate)
            assert rate >= 0


def _parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in _SHAPES]


def _move(built: torch.optim.Optimizer, parameters: list[nn.Parameter], steps: range) -> None:
    for step in steps:
        generator = torch.Generator().manual_seed(step)
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        built.step()


def _sum_of_squares(parameters: list[nn.Parameter]) -> float:
    return sum(float(parameter.detach().square().sum()) for parameter in parameters)
