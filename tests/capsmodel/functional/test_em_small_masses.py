"""A parent that hardly any child is of has the centre of those few, down to the smallest masses."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import em_routing, lengths
from capsmodel.functional.em_statistics import least_mass
from capsmodel.layers import Capsules
from capsmodel.routing import EMRouting

VOTES = torch.arange(24, dtype=torch.float32).sin().view(1, 3, 2, 4)
CENTRE = [0.2338, 0.0974, -0.1286, -0.2363]  # the plain mean of the votes for the first parent


def one_round(activation: float) -> Tensor:
    return em_routing(VOTES, torch.full((1, 3), activation), iterations=1).poses


@pytest.mark.parametrize("activation", [1.0, 1e-7, 1e-9, 1e-23, 1e-30])
def test_the_centre_does_not_hang_on_how_small_all_activations_are(activation: float) -> None:
    assert_close(one_round(activation)[0, 0], torch.tensor(CENTRE), rtol=0, atol=1e-4)
    assert_close(one_round(activation), one_round(1.0))


def test_without_any_mass_it_is_zero() -> None:
    assert torch.equal(one_round(0.0), torch.zeros(1, 2, 4))


@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e-12, 1e-15, 0.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_gradient_is_finite(scale: float, dtype: torch.dtype) -> None:
    capsules = Capsules(6, 4, 3, 4, routing=EMRouting()).to(dtype)
    poses = (scale * torch.rand(2, 6, 4, dtype=dtype)).requires_grad_()
    routed = capsules(poses)
    (
        routed.poses.square().sum() + lengths(routed.poses).sum() + routed.activations.sum()
    ).backward()
    for tensor in (poses, *capsules.parameters()):
        assert tensor.grad is not None
        assert bool(tensor.grad.isfinite().all())


@pytest.mark.parametrize("activation", [1.0, 1e-12, 1e-25, 1e-30, 0.0])
def test_so_is_that_of_votes_held_in_full(activation: float) -> None:
    votes = VOTES.clone().requires_grad_()
    activations = torch.full((1, 3), activation, requires_grad=True)
    routed = em_routing(votes, activations)
    (routed.poses.square().sum() + routed.activations.sum()).backward()
    for tensor in (votes, activations):
        assert tensor.grad is not None
        assert bool(tensor.grad.isfinite().all())


def test_the_least_mass_is_next_to_the_smallest_number() -> None:
    assert least_mass(torch.float32) < 1e-30
    assert least_mass(torch.float64) < 1e-290
