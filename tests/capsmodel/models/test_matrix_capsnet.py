"""The network of matrix capsules: sizes, layers, beginnings and what it refuses."""

from typing import Any

import pytest
import torch
from torch.testing import assert_close

from capsmodel.losses import SpreadLoss
from capsmodel.models import MatrixCapsNet
from capsmodel.models.matrix_capsnet import MatrixCapsuleNetwork
from capsmodel.reconstruction import FullyConnectedDecoder
from capsmodel.routing import DynamicRouting, EMRouting, UniformRouting
from capsmodel.stopping import FixedEpochs
from capsmodel.training.training import Training
from tests.capsmodel.small_config import small_config

SMALLER = {"conv_channels": 64, "primary_types": 8, "first_types": 16, "second_types": 16}


def tiny(**changes: Any) -> MatrixCapsNet:
    settings: dict[str, Any] = {
        "conv_channels": 4,
        "conv_kernel": 3,
        "conv_stride": 1,
        "primary_types": 2,
        "first_types": 3,
        "first_stride": 1,
        "second_types": 2,
        "second_kernel": 2,
    }
    return MatrixCapsNet(**(settings | changes))


def network(seed: int = 0, **changes: Any) -> MatrixCapsuleNetwork:
    built = tiny(**changes).build((1, 8, 8), 5)
    built.initialise(seed)
    return built


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


IMAGES = torch.rand(4, 1, 8, 8, generator=seeded())


def num_parameters(model: MatrixCapsNet, channels: int) -> int:
    with torch.device("meta"):
        built = model.build((channels, 32, 32), 5)
    return sum(parameter.numel() for parameter in built.parameters())


@pytest.mark.parametrize(
    ("changes", "channels", "expected"),
    [
        ({}, 1, 316_394),
        ({}, 2, 317_194),
        (SMALLER, 1, 67_154),
        (SMALLER, 2, 68_754),
        ({"primary_bias": False}, 1, 315_850),
        ({"primary_bias": False}, 2, 316_650),
        (SMALLER | {"primary_bias": False}, 2, 68_618),
        ({"pose_kind": "vector"}, 1, 4_778_474),
    ],
)
def test_the_papers_networks_have_the_published_parameters(
    changes: dict[str, Any], channels: int, expected: int
) -> None:
    assert num_parameters(MatrixCapsNet(**changes), channels) == expected


def test_the_released_codes_profile_has_its_parameters() -> None:
    official = MatrixCapsNet.model_validate({"kind": "matrix_capsnet", "profile": "official"})
    assert num_parameters(official, 2) == 316_650


def test_the_layers_of_the_paper_are_as_large_as_there() -> None:
    with torch.device("meta"):
        built = MatrixCapsNet().build((1, 32, 32), 5)
    sizes = [layer.neighbourhood for layer in built.layers.values()]
    assert [(size.height, size.out_height) for size in sizes] == [(14, 6), (6, 4)]
    assert built.classes.all_places == 16


def test_beliefs_are_activations_of_the_classes() -> None:
    outputs = network()(IMAGES, None, seeded())
    assert outputs.lengths.shape == (4, 5)
    assert 0 < outputs.lengths.min() <= outputs.lengths.max() < 1
    assert outputs.poses is not None
    assert outputs.poses.shape == (4, 5, 16)
    assert outputs.reconstructions is None


def test_couplings_are_told_of_every_layer_and_share_each_child_out_whole() -> None:
    outputs = network()(IMAGES, None, seeded())
    assert list(outputs.couplings) == ["first", "second", "classes"]
    for values, neighbourhood in outputs.couplings.values():
        total = neighbourhood.sum_over_parents(values.sum(dim=2))
        assert_close(total, torch.ones_like(total))


def test_the_second_layer_can_be_left_out() -> None:
    built = network(second_types=0)
    assert list(built.layers) == ["first"]
    assert built(IMAGES, None, seeded()).lengths.shape == (4, 5)


@pytest.mark.parametrize("routing", [DynamicRouting(), UniformRouting()])
def test_vectors_can_be_routed_by_their_lengths(routing: Any) -> None:
    built = network(routing=routing)
    outputs = built(IMAGES, None, seeded())
    assert outputs.poses is not None
    assert_close(outputs.lengths, outputs.poses.norm(dim=-1))
    assert built.primary.convolution.out_channels == 2 * 16


def test_where_a_capsule_is_matters_to_the_classes_only_with_coordinates() -> None:
    shifted = torch.zeros(1, 1, 8, 8)
    shifted[0, 0, 2, 2] = 1.0
    images = torch.cat([shifted, shifted.roll((2, 2), dims=(2, 3))])
    settings: dict[str, Any] = {"second_types": 0, "first_kernel": 1}
    for coordinates, tells in (("paper", True), ("official", True), ("none", False)):
        outputs = network(coordinates=coordinates, **settings)(images, None, seeded())
        assert outputs.poses is not None
        assert torch.allclose(outputs.poses[0], outputs.poses[1], atol=1e-6) is not tells


def test_capsules_are_dropped_in_training_only() -> None:
    built = network(dropout=0.5)
    assert not torch.equal(*(built(IMAGES, None, seeded(seed)).lengths for seed in (0, 1)))
    built.eval()
    assert torch.equal(*(built(IMAGES, None, seeded(seed)).lengths for seed in (0, 1)))


def test_classes_begin_neither_dead_nor_saturated() -> None:
    for changes in ({}, {"routing": EMRouting(scale_by_children=True)}):
        lengths = network(**changes)(IMAGES, None, seeded()).lengths
        assert 0.05 < lengths.mean() < 0.95


def test_the_released_codes_beginning_draws_within_two_deviations() -> None:
    built = network(initialisation="truncated", initial_bias=0.1)
    for weight, deviation in (
        (built.convolution.convolution.weight, 0.05),
        (built.layers["first"].weight, 0.3),
        (built.classes.weight, 0.01),
    ):
        assert deviation < weight.abs().max() <= 2 * deviation
    bias = built.convolution.convolution.bias
    assert bias is not None
    assert_close(bias, torch.full_like(bias, 0.1))


def test_the_released_codes_wide_weights_land_in_its_last_types() -> None:
    weight = network(initialisation="truncated", primary_types=32).primary.convolution.weight
    num_channels = 32 * 17  # as the released code reads them: type after type, a pose and its logit
    by_type = torch.cat([weight[:512].view(32, 16, 4), weight[512:].view(32, 1, 4)], dim=1)
    widest = by_type.reshape(num_channels, 4).abs().amax(dim=1)
    assert widest[:512].max() <= 2 * 0.5
    assert widest[512:].max() > 2 * 0.5
    assert widest[512:].min() > 0.5


def test_the_scale_of_the_beginning_widens_the_matrices_alone() -> None:
    usual, wide = network(), network(init_scale=2.0)
    identity = torch.eye(4).unsqueeze(-1)
    assert_close(wide.classes.weight - identity, 2 * (usual.classes.weight - identity))
    assert torch.equal(wide.primary.convolution.weight, usual.primary.convolution.weight)


def test_a_decoder_draws_from_the_poses_of_the_classes() -> None:
    built = network(reconstruction=FullyConnectedDecoder(hidden=(8,)))
    outputs = built(IMAGES, torch.tensor([0, 1, 2, 3]), seeded())
    assert outputs.reconstructions is not None
    assert outputs.reconstructions.shape == IMAGES.shape
    assert built.penalty(outputs, IMAGES) > 0


@pytest.mark.parametrize(
    ("changes", "size", "sentence"),
    [
        ({}, 4, "A kernel of 5 pixels does not fit 4 pixels"),
        ({"first_kernel": 9}, 16, "A kernel of 9 by 9 capsules does not fit a layer of 6 by 6"),
        ({"first_stride": 5}, 32, "A kernel of 3 by 3 capsules does not fit a layer of 3 by 3"),
        ({"pose_size": 12}, 32, "A matrix pose is square, got 12 numbers"),
        ({"pose_size": 1}, 32, "Coordinate addition needs a pose of at least 2 numbers, got 1"),
    ],
)
def test_what_cannot_be_built_is_refused(changes: dict[str, Any], size: int, sentence: str) -> None:
    if changes.get("first_stride"):
        changes = changes | {"second_kernel": 4}
        sentence = "A kernel of 4 by 4 capsules does not fit a layer of 3 by 3"
    with pytest.raises(ValueError, match=sentence):
        MatrixCapsNet(**changes).build((1, size, size), 5)


# test_em_laws.py holds the laws of the routing at each number in .ci/run
@pytest.mark.parametrize(
    "iterations",
    [1, pytest.param(2, marks=pytest.mark.nightly), pytest.param(3, marks=pytest.mark.nightly)],
)
def test_it_trains_at_every_number_of_iterations(iterations: int) -> None:
    config = small_config(
        model=tiny(routing=EMRouting(iterations=iterations)),
        loss=SpreadLoss(),
        stopping=FixedEpochs(epochs=2),
    )
    first, second = list(Training(config, seed=0))
    assert second.train_loss == second.train_loss  # a number
    assert second.validation_error <= first.validation_error


def test_a_layer_that_is_replaced_is_the_one_that_is_used() -> None:
    built = network()
    before = built(IMAGES).lengths
    other = network(seed=1)
    built.first = other.get_submodule("first")
    assert built.layers["first"] is built.first
    assert not torch.equal(built(IMAGES).lengths, before)
