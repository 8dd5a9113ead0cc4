"""Squashes keep the direction and make a belief of the length."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import squash
from capsmodel.settings.parts import kind_of
from capsmodel.squash import SQUASHES, ExponentialSquash, SabourSquash, Squash
from tests.capsmodel.routing.routed import some_votes

ALL = [*(part() for part in SQUASHES), SabourSquash(epsilon=1e-7), SabourSquash(epsilon=1e-20)]
coordinates = st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=1, max_size=6)


def length_of(squashing: Squash, length: float) -> float:
    pose = torch.tensor([0.6 * length, -0.8 * length], dtype=torch.float64)
    return squashing.squash(pose).norm().item()


@pytest.mark.parametrize("squashing", ALL, ids=repr)
@settings(deadline=None)  # the first call checks the shapes' names
@given(coordinates)
def test_the_direction_is_kept_and_the_length_at_most_one(
    squashing: Squash, values: list[float]
) -> None:
    pose = torch.tensor(values, dtype=torch.float64)
    squashed = squashing.squash(pose)
    assert squashed.norm().item() <= 1 + 1e-12
    assert_close(squashed * pose.norm(), pose * squashed.norm())


@pytest.mark.parametrize("squashing", ALL, ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_value_and_gradient_are_finite_at_every_length(
    squashing: Squash, dtype: torch.dtype
) -> None:
    for length in (0.0, 1e-40, 1e-30, 1e-20, 1e-8, 1e-7, 1.0, 1e3, 1e15, 1e19):
        poses = (length * torch.tensor([[0.6, -0.8], [1.0, 0.0]], dtype=dtype)).requires_grad_()
        squashed = squashing.squash(poses)
        squashed.sum().backward()
        assert poses.grad is not None
        assert squashed.dtype == dtype
        assert bool(squashed.isfinite().all()), length
        assert bool(poses.grad.isfinite().all()), length


@pytest.mark.parametrize("squashing", ALL, ids=repr)
def test_its_gradient_is_that_of_finite_differences(squashing: Squash) -> None:
    assert torch.autograd.gradcheck(squashing.squash, some_votes(4, 3).requires_grad_())


def test_without_epsilon_it_is_the_plain_squash_to_the_last_bit() -> None:
    poses = [some_votes(4, 3).float().requires_grad_() for _ in range(2)]
    squashed: list[Tensor] = [SabourSquash().squash(poses[0]), squash(poses[1])]
    assert torch.equal(*squashed)
    for pose in squashed:
        pose.sum().backward()
    gradients = [pose.grad for pose in poses]
    assert gradients[0] is not None
    assert gradients[1] is not None
    assert torch.equal(gradients[0], gradients[1])


@pytest.mark.parametrize("length", [0.01, 0.5, 3.0])
def test_lengths_are_those_of_the_formulas(length: float) -> None:
    squared = length**2
    expected = squared / (1 + squared)
    assert length_of(SabourSquash(), length) == pytest.approx(expected, rel=1e-12)
    with_epsilon = expected * length / (squared + 0.1) ** 0.5
    assert length_of(SabourSquash(epsilon=0.1), length) == pytest.approx(with_epsilon, rel=1e-12)
    exponential = 1 - torch.tensor(-length, dtype=torch.float64).exp().item()
    assert length_of(ExponentialSquash(), length) == pytest.approx(exponential, rel=1e-12)


@pytest.mark.parametrize("length", [1e-12, 1e-9, 9.9e-9, 1.1e-8, 1e-6])
def test_short_poses_stay_as_long_as_they_are(length: float) -> None:
    assert length_of(ExponentialSquash(), length) == pytest.approx(
        length - length**2 / 2, rel=1e-15 + length**2
    )


@pytest.mark.parametrize("epsilon", [1e-50, 9e-21])
def test_an_epsilon_that_single_precision_loses_is_refused(epsilon: float) -> None:
    sentence = (
        f"epsilon must be 0 or at least 1e-20, got {epsilon:g}: with less, the gradient at a short "
        "pose is not a number in float32."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        SabourSquash(epsilon=epsilon)


def test_kinds_are_those_of_the_papers() -> None:
    assert [kind_of(part) for part in SQUASHES] == ["sabour", "exponential"]
