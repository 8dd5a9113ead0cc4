"""DeepCaps: its published size, literal forms of its layers, its beginning, and that it learns."""

import math
from itertools import product
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import grid_routing
from capsmodel.layers import CapsuleCell, RoutedGrid, SquashedConvolution
from capsmodel.models import DeepCaps
from capsmodel.reconstruction import FullyConnectedDecoder

SMALL: dict[str, Any] = {"conv_channels": 4, "types": 2, "poses": (2, 3, 3), "class_dim": 4}


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_released_network_has_its_parameters() -> None:
    with torch.device("meta"):
        built = DeepCaps().build((3, 64, 64), 10)
    assert sum(parameter.numel() for parameter in built.parameters()) == 13_359_424


def test_the_profile_official_is_as_large() -> None:
    official = DeepCaps.model_validate({"kind": "deepcaps", "profile": "official"})
    assert official.grid_votes == "scrambled"
    assert DeepCaps().grid_votes == "true"


def literal_grid_routing(votes: Tensor, iterations: int, bias: Tensor) -> Tensor:
    """Routing over types and places, number by number."""
    batch, children, parents, pose, height, width = votes.shape
    places = list(product(range(parents), range(height), range(width)))
    out = torch.zeros(batch, parents, pose, height, width, dtype=votes.dtype)
    for image in range(batch):
        logits = {(i, *place): 0.0 for i in range(children) for place in places}
        for _ in range(iterations):
            sums = torch.zeros_like(out[image]) + bias[:, :, None, None]
            for i in range(children):
                total = sum(math.exp(logits[i, *place]) for place in places)
                for j, row, column in places:
                    share = math.exp(logits[i, j, row, column]) / total
                    sums[j, :, row, column] += share * votes[image, i, j, :, row, column]
            for j in range(parents):
                length = math.sqrt(float((sums[j] ** 2).sum()))
                out[image, j] = length / (1 + length**2) * sums[j]
            for i, (j, row, column) in product(range(children), places):
                product_ = votes[image, i, j, :, row, column] @ out[image, j, :, row, column]
                logits[i, j, row, column] += float(product_)
    return out


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_all_types_and_places_compete_for_a_type_of_children(iterations: int) -> None:
    votes, bias = 3 * drawn(2, 3, 2, 4, 2, 3), drawn(2, 4, seed=1)
    expected = literal_grid_routing(votes, iterations, bias)
    assert_close(grid_routing(votes, iterations, bias=bias), expected, rtol=1e-12, atol=1e-12)


def test_gradients_of_routing_over_places_are_those_of_differences() -> None:
    votes, bias = drawn(1, 2, 2, 2, 2, 1).requires_grad_(), drawn(2, 2, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda v, b: grid_routing(v, 3, bias=b), (votes, bias))


def test_moving_all_maps_together_moves_the_routed_ones() -> None:
    votes = drawn(2, 3, 2, 4, 3, 3)
    moved = grid_routing(votes.roll((1, 2), dims=(4, 5)))
    assert_close(moved, grid_routing(votes).roll((1, 2), dims=(3, 4)), rtol=1e-12, atol=1e-12)


def test_half_precision_keeps_its_type() -> None:
    votes = drawn(2, 3, 2, 4, 3, 3).to(torch.bfloat16)
    routed = grid_routing(votes)
    assert routed.dtype is torch.bfloat16
    assert_close(routed.double(), grid_routing(votes.double()), rtol=0.01, atol=0.01)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("shape", "iterations", "sentence"),
    [
        (
            (2, 3, 2, 4, 3),
            3,
            r"votes must be of shape \[batch, in_types, .*, got \[2, 3, 2, 4, 3\]",
        ),
        ((2, 3, 2, 4, 3, 3), 0, "iterations must be 1 or more, got 0"),
    ],
    ids=["five axes", "no rounds"],
)
def test_votes_that_cannot_be_routed_are_refused(
    shape: tuple[int, ...], iterations: int, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        grid_routing(drawn(*shape), iterations)


@pytest.mark.parametrize("votes", ["true", "scrambled"])
def test_votes_of_a_grid_are_made_by_one_kernel(votes: Any) -> None:
    layer = RoutedGrid(3, 2, 2, 4, votes=votes).double()
    maps = drawn(2, 6, 3, 5)
    children = maps
    if votes == "scrambled":  # the numbers as they lie with channels last, read as channels first
        children = torch.tensor(maps.permute(0, 2, 3, 1).flatten().tolist(), dtype=maps.dtype)
        children = children.view(2, 6, 3, 5)
    by_child = [
        F.conv2d(children[:, 2 * child : 2 * child + 2], layer.weight, padding=1).view(
            2, 2, 4, 3, 5
        )
        for child in range(3)
    ]
    expected = literal_grid_routing(torch.stack(by_child, dim=1).detach(), 3, layer.bias.detach())
    assert_close(layer(maps), expected.flatten(1, 2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("stride", [1, 2])
def test_a_squashed_convolution_is_one_whose_channels_are_poses(stride: int) -> None:
    layer = SquashedConvolution(3, 2, 4, stride=stride).double()
    maps = drawn(2, 3, 6, 6)
    before = 1 if stride == 1 else 0  # as TensorFlow pads
    sums = F.conv2d(F.pad(maps, (before, 1, before, 1)), layer.weight, stride=stride)
    for type_ in range(2):
        pose = sums[:, 4 * type_ : 4 * type_ + 4]
        length = pose.norm(dim=1, keepdim=True)
        expected = length / (1 + length**2) * pose
        assert_close(layer(maps)[:, 4 * type_ : 4 * type_ + 4], expected, rtol=1e-12, atol=1e-12)


def test_a_cell_adds_two_layers_and_the_one_that_skips_them() -> None:
    cell = CapsuleCell(3, 2, 4).double()
    first = cell.first(drawn(2, 3, 6, 6))
    expected = cell.third(cell.second(first)) + cell.skip(first)
    assert_close(cell(drawn(2, 3, 6, 6)), expected)


def test_class_capsules_see_the_last_two_cells() -> None:
    built = DeepCaps(**SMALL).build((1, 16, 16), 3)
    assert built.capsules.weight.shape == (2 * (4 * 4 + 2 * 2), 3, 3 * 4)
    outputs = built.eval()(torch.rand(5, 1, 16, 16))
    assert outputs.lengths.shape == (5, 3)
    assert outputs.couplings["capsules"].values.shape == (40, 5, 3)


def test_weights_begin_as_keras_draws_them() -> None:
    built = DeepCaps().build((1, 16, 16), 10)
    built.initialise(0)
    bounds = {
        built.get_parameter("cell2.second.weight"): (6 / (2 * (9 * 256 * 256) ** 0.5)) ** 0.5,
        built.get_parameter("capsules.weight"): (6 / (160 * 10 * (32 + 8))) ** 0.5,
        built.get_parameter("capsules.router.bias"): (6 / 42) ** 0.5,
    }
    for weight, bound in bounds.items():
        assert 0.95 * bound < weight.abs().max() <= bound
    assert_close(built.get_parameter("cell4.skip.bias"), torch.full((32, 8), 0.1))


def test_poses_of_the_last_two_cells_are_of_one_length() -> None:
    with pytest.raises(ValueError, match=r"the last two of poses must be equal, got 3 and 4"):
        DeepCaps(**SMALL | {"poses": (2, 3, 4)})


def test_a_decoder_draws_from_the_class_capsules() -> None:
    model = DeepCaps(**SMALL | {"reconstruction": FullyConnectedDecoder(hidden=(4,))})
    images = torch.rand(2, 1, 8, 8)
    outputs = model.build((1, 8, 8), 3).eval()(images, torch.tensor([0, 2]))
    assert outputs.reconstructions is not None
    assert outputs.reconstructions.shape == images.shape
