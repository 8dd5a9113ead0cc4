import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from capsmodel.functional import keep_class, lengths, squash

coordinates = st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=1, max_size=6)


@given(coordinates)
def test_squash_makes_length_n_into_n_squared_over_one_plus_n_squared(values: list[float]) -> None:
    pose = torch.tensor(values, dtype=torch.float64)
    squared = pose.square().sum()
    assert_close(squash(pose).norm(), squared / (1 + squared))


@given(coordinates)
def test_squash_keeps_the_direction(values: list[float]) -> None:
    pose = torch.tensor(values, dtype=torch.float64)
    assert_close(squash(pose) * pose.norm(), pose * squash(pose).norm())


def test_squash_of_one_is_a_half() -> None:
    assert squash(torch.ones(1)).item() == 0.5


def test_squash_of_a_zero_pose_is_zero_with_a_finite_gradient() -> None:
    pose = torch.zeros(2, 3, requires_grad=True)
    squashed = squash(pose)
    squashed.sum().backward()
    assert pose.grad is not None
    assert torch.equal(squashed, torch.zeros(2, 3))
    assert torch.equal(pose.grad, torch.zeros(2, 3))


def test_squash_has_the_gradient_of_its_formula() -> None:
    pose = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.autograd.gradcheck(squash, pose.requires_grad_())


def test_lengths_at_a_zero_pose_have_a_finite_gradient() -> None:
    pose = torch.zeros(2, 3, requires_grad=True)
    lengths(pose).sum().backward()
    assert pose.grad is not None
    assert torch.equal(pose.grad, torch.zeros(2, 3))


def test_keep_class_leaves_the_whole_row_with_one_pose_in_its_place() -> None:
    poses = torch.arange(1.0, 13.0).view(2, 3, 2)
    masked = keep_class(poses, torch.tensor([2, 0]))
    assert masked.tolist() == [[0, 0, 0, 0, 5, 6], [7, 8, 0, 0, 0, 0]]
