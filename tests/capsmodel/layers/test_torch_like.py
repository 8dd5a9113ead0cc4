"""Layers are used as those of PyTorch are: names, devices, types, chains, functions."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from capsmodel.functional import dynamic_routing, squash
from capsmodel.layers import Capsules, ConvCapsules, GridPrimaryCapsules, PrimaryCapsules
from capsmodel.routing import DynamicRouting, Routed

LAYERS: dict[str, Callable[..., nn.Module]] = {
    "primary": partial(PrimaryCapsules, 2, out_types=3, pose_dim=4, kernel_size=3),
    "grid": partial(GridPrimaryCapsules, 2, out_types=3, pose_dim=4),
    "capsules": partial(Capsules, in_caps=6, in_dim=4, out_caps=3, out_dim=5, routing="em"),
    "convolutional": partial(ConvCapsules, 2, 3, size=(4, 4), kernel_size=3, pose_dim=4),
}
every_layer = pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)


@every_layer
def test_a_layer_is_built_on_a_device_and_in_a_type(make: Callable[..., nn.Module]) -> None:
    assert {value.device.type for value in make(device="meta").parameters()} == {"meta"}
    layer = make(dtype=torch.float64)
    assert {value.dtype for value in layer.parameters()} == {torch.float64}
    assert all(bool(value.isfinite().all()) for value in layer.parameters())


@every_layer
def test_a_layer_says_what_is_set(make: Callable[..., nn.Module]) -> None:
    layer = make()
    for name in ("in_caps", "in_dim", "out_caps", "out_dim", "out_types", "pose_dim"):
        if hasattr(layer, name):
            assert f"{name}={getattr(layer, name)}" in repr(layer)
    assert layer.extra_repr()


@pytest.mark.parametrize(("height", "width"), [(5, 5), (6, 9)])
def test_a_primary_layer_counts_the_capsules_that_it_makes(height: int, width: int) -> None:
    layer = PrimaryCapsules(1, 2, 4, 3, stride=2, padding="same")
    poses = layer(torch.rand(1, 1, height, width))
    assert layer.num_capsules(height, width) == poses.shape[1]
    grid = GridPrimaryCapsules(1, 2, 4)
    seen = grid(torch.rand(1, 1, height, width)).activations
    assert grid.num_capsules(height, width) == seen.numel()


@pytest.mark.parametrize("routing", ["dynamic", "em"])
def test_capsule_layers_chain(routing: str) -> None:
    primary = PrimaryCapsules(1, 2, 4, 3)
    network = nn.Sequential(
        primary,
        Capsules(primary.num_capsules(5, 5), 4, 6, 5, routing=routing),
        Capsules(6, 5, 3, 8, routing=routing),
    )
    images = torch.rand(2, 1, 5, 5)
    assert network(images).activations.shape == (2, 3)
    first, second = network[1], network[2]
    between = first(primary(images))
    if routing == "dynamic":  # whose activations are the lengths
        torch.testing.assert_close(network(images).poses, second(between.poses).poses)
    changed = between._replace(activations=between.activations.flip(1))
    assert torch.equal(second(changed).poses, second(between).poses) == (routing == "dynamic")


def test_convolutional_layers_chain() -> None:
    first = ConvCapsules(2, 3, (5, 4), 2, pose_dim=4)
    last = ConvCapsules(3, 5, (4, 3), "all", pose_dim=4)
    network = nn.Sequential(GridPrimaryCapsules(1, 2, 4), first, last)
    images = torch.rand(2, 1, 5, 4)
    by_hand = last(first.grid(first(network[0](images))))
    assert torch.equal(network(images).poses, by_hand.poses)
    assert (first.num_capsules(), last.num_capsules()) == (3 * 12, 5)
    with pytest.raises(ValueError, match=r"routed at the 6 places of each image.*got 8"):
        ConvCapsules(3, 5, (3, 2), "all", pose_dim=4)(Routed(torch.rand(8, 3, 4), torch.rand(8, 3)))


def test_a_function_of_votes_is_a_routing() -> None:
    children = torch.rand(2, 6, 4)
    named = Capsules(6, 4, 3, 5, routing=DynamicRouting(iterations=2))
    layer = Capsules(6, 4, 3, 5, routing=partial(dynamic_routing, iterations=2))
    layer.load_state_dict(named.state_dict())
    assert torch.equal(layer(children).poses, named(children).poses)

    def mean(votes: Tensor) -> Tensor:
        return squash(votes.mean(dim=1))

    routed = Capsules(6, 4, 3, 5, routing=mean)(children)
    torch.testing.assert_close(routed.activations, routed.poses.norm(dim=-1))
    with pytest.raises(ValueError, match=r"is a function must return poses of shape \[2, 3, 5\]"):
        Capsules(6, 4, 3, 5, routing=lambda votes: votes)(children)


class Scaled(nn.Module):
    """Scales the mean of the votes by a learned number."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, votes: Tensor) -> Tensor:
        return squash(self.scale * votes.mean(dim=1))


def test_a_module_as_routing_is_trained_with_its_layer() -> None:
    layer = Capsules(6, 4, 3, 5, routing=Scaled())
    weights = dict(layer.named_parameters())
    assert weights["router.function.scale"].item() == 2.0, "its own value stays"
    layer(torch.rand(2, 6, 4)).poses.sum().backward()
    assert weights["router.function.scale"].grad is not None
