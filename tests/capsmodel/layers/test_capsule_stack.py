"""A stack of capsule layers is its layers one above the other, with what is between them."""

import pytest
import torch
from torch import Tensor

from capsmodel import TrainingConfig
from capsmodel.config import num_parameters
from capsmodel.functional import dynamic_routing, lengths, squash
from capsmodel.layers import CapsuleStack
from capsmodel.models import CapsNet
from capsmodel.overrides import with_settings

REMEDIES = pytest.mark.parametrize(
    ("batch_norm", "skip"),
    [(False, False), (True, False), (False, True), (True, True)],
    ids=["plain", "batch norm", "skips", "both"],
)


def inputs(batch: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return 0.3 * torch.randn(batch, 6, 4, generator=generator, dtype=torch.float64)


def literal(stack: CapsuleStack, poses: Tensor) -> list[Tensor]:
    """Return the poses of each layer, routed by agreement, by the definitions."""
    all_poses: list[Tensor] = []
    for place in range(len(stack.layers)):
        weight = stack.get_parameter(f"layers.{place}.weight").unflatten(2, (-1, 4))
        routed = dynamic_routing(torch.einsum("bip,ipjq->bijq", poses, weight), iterations=3).poses
        if len(stack.norms):
            mean, variance = routed.mean(dim=0), routed.var(dim=0, correction=0)
            routed = squash((routed - mean) / (variance + 1e-5).sqrt())
        poses = routed + poses if stack.skip and poses.shape == routed.shape else routed
        all_poses.append(poses)
    return all_poses


@REMEDIES
def test_each_layer_is_routed_to_the_next(batch_norm: bool, skip: bool) -> None:
    torch.manual_seed(0)
    stack = CapsuleStack(6, 4, (5, 5, 3), 4, std=0.5, batch_norm=batch_norm, skip=skip).double()
    routed = stack(inputs())
    for layer, expected in zip(routed, literal(stack, inputs()), strict=True):
        torch.testing.assert_close(layer.poses, expected, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(layer.activations, lengths(expected), rtol=1e-12, atol=1e-12)


def test_activations_of_their_own_go_on_to_the_next_layer_whatever_becomes_of_poses() -> None:
    torch.manual_seed(0)
    stack = CapsuleStack(6, 4, (5, 5), 4, routing="em", batch_norm=True, skip=True).double()
    first, second = stack(inputs())
    alone = stack.layers[0](inputs())
    assert torch.equal(first.activations, alone.activations)
    assert not torch.equal(first.poses, alone.poses)
    above = stack.layers[1](first)
    assert torch.equal(second.activations, above.activations)


def test_a_seed_draws_every_layer_differently_and_again_the_same() -> None:
    stack = CapsuleStack(6, 4, (6, 6), 4, batch_norm=True)
    drawn: list[Tensor] = []
    for _ in range(2):
        stack.initialise(torch.Generator().manual_seed(3))
        drawn.append(torch.cat([value.flatten() for value in stack.parameters()]))
    assert torch.equal(*drawn)
    assert not torch.equal(
        stack.get_parameter("layers.0.weight"), stack.get_parameter("layers.1.weight")
    )


def test_a_network_with_hidden_capsules_has_their_parameters() -> None:
    model = CapsNet(conv_channels=4, conv_kernel=3, primary_types=2, primary_kernel=3)
    changes = {"model.hidden_capsules": (16, 12), "model.hidden_batch_norm": True}
    config = TrainingConfig(model=model)
    without, hidden = (
        num_parameters(with_settings(config, settings)) for settings in ({}, changes)
    )
    children = 2 * 2 * 2
    to_classes = 10 * 16 * (12 - children) * 8
    norms = 2 * 8 * (16 + 12)
    assert hidden - without == children * 8 * 16 * 8 + 16 * 8 * 12 * 8 + norms + to_classes


@pytest.mark.parametrize(
    ("changes", "is_reached"),
    [
        ({}, False),
        ({"hidden_skip": True}, True),
        ({"hidden_batch_norm": True}, True),
        ({"routing": "em"}, True),
    ],
    ids=["plain", "skips", "batch norm", "em"],
)
def test_the_gradient_of_four_layers_reaches_the_first_only_with_a_remedy(
    changes: dict[str, object], is_reached: bool
) -> None:
    model = CapsNet.model_validate(
        {"conv_channels": 8, "conv_kernel": 3, "primary_types": 8, "primary_kernel": 3}
        | {"hidden_capsules": (16, 16, 16), "reconstruction": "none"}
        | changes
    )
    network = model.build((1, 8, 8), 10)
    network.initialise(0)
    images = torch.rand(8, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    outputs = network(images)
    assert [*outputs.couplings] == [*(f"hidden.layers.{place}" for place in range(3)), "capsules"]
    (0.9 - outputs.lengths).square().sum().backward()
    gradient = network.get_parameter("convolution.convolution.weight").grad
    assert gradient is not None
    assert bool(gradient.norm() > 1e-6) is is_reached
