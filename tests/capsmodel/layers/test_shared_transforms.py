"""Capsules that share their matrices route as those whose matrices are equal."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel import TrainingConfig, num_parameters
from capsmodel.functional import Routed
from capsmodel.layers import Capsules
from capsmodel.models import CapsNet
from capsmodel.routing import ROUTINGS, Routing
from capsmodel.settings.parts import kind_of

LAYER = (6, 3, 4, 5)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def loss_of(routed: Routed) -> Tensor:
    weights = torch.randn(routed.poses.shape, dtype=torch.float64, generator=seeded(2))
    return (weights * routed.poses).sum() + routed.activations.square().sum()


@pytest.mark.parametrize("routing", ROUTINGS, ids=kind_of)
def test_they_route_and_learn_as_equal_matrices_do(routing: Callable[[], Routing]) -> None:
    shared = Capsules(*LAYER, routing=routing(), shared=True).double()
    own = Capsules(*LAYER, routing=routing()).double()
    own.load_state_dict(shared.state_dict() | {"weight": shared.weight.expand(6, -1, -1)})
    poses = torch.randn(7, 6, 3, dtype=torch.float64, generator=seeded(1), requires_grad=True)
    routed, expected = (layer(poses, seeded(3)) for layer in (shared, own))
    assert_close(routed.poses, expected.poses)
    assert_close(routed.activations, expected.activations)
    of_shared = torch.autograd.grad(loss_of(routed), (poses, shared.weight))
    of_own = torch.autograd.grad(loss_of(expected), (poses, own.weight))
    assert_close(of_shared[0], of_own[0])
    assert_close(of_shared[1], of_own[1].sum(dim=0, keepdim=True))


def test_a_network_that_shares_them_has_one_matrix_for_each_class() -> None:
    separate, shared = (
        num_parameters(TrainingConfig(data="mnist", model=CapsNet(shared_transforms=is_shared)))
        for is_shared in (False, True)
    )
    assert separate == 8_215_568
    assert separate - shared == (1152 - 1) * 8 * 160


def test_the_order_of_the_children_does_not_matter_without_routing() -> None:
    capsules = Capsules(*LAYER, routing="uniform", shared=True)
    poses = torch.randn(2, 6, 3, generator=seeded(1))
    assert_close(capsules(poses.flip(1)).poses, capsules(poses).poses)
