"""Efficient-CapsNet: its published sizes, a literal form of it, its beginning, what it refuses."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from capsmodel.models.efficient_capsnet import EfficientCapsNet, EfficientCapsuleNetwork
from capsmodel.reconstruction import FullyConnectedDecoder, NoReconstruction

DECODER = 1_411_344


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def num_parameters(model: EfficientCapsNet, shape: tuple[int, int, int], classes: int) -> int:
    with torch.device("meta"):
        built = model.build(shape, classes)
    return sum(parameter.numel() for parameter in built.parameters())


def without_decoder(model: EfficientCapsNet) -> EfficientCapsNet:
    return model.model_copy(update={"reconstruction": NoReconstruction()})


@pytest.mark.parametrize(
    ("model", "shape", "classes", "expected"),
    [
        (EfficientCapsNet(), (1, 28, 28), 10, 161_824 + DECODER),
        (without_decoder(EfficientCapsNet()), (1, 28, 28), 10, 161_824),
        (without_decoder(EfficientCapsNet.multi_mnist()), (1, 36, 36), 10, 154_656),
        (without_decoder(EfficientCapsNet.small_norb()), (2, 48, 48), 5, 151_664),
    ],
    ids=["mnist with decoder", "mnist", "multi_mnist", "small_norb"],
)
def test_the_papers_networks_have_the_published_parameters(
    model: EfficientCapsNet, shape: tuple[int, int, int], classes: int, expected: int
) -> None:
    assert num_parameters(model, shape, classes) == expected


SMALL: dict[str, Any] = {
    "conv_channels": (3, 8),
    "conv_kernel": (3, 2),
    "conv_stride": (1, 2),
    "primary_dim": 4,
    "primary_kernel": 3,
    "class_dim": 5,
    "reconstruction": NoReconstruction(),
}
IMAGES = torch.rand(3, 2, 10, 12, generator=seeded(), dtype=torch.float64)


def network(**changes: Any) -> EfficientCapsuleNetwork:
    built = EfficientCapsNet(**SMALL | changes).build((2, 10, 12), 3)
    built.initialise(1)
    return built.double()


def squashed(poses: Tensor) -> Tensor:
    length = poses.norm(dim=-1, keepdim=True)
    return (1 - 1 / length.exp()) * poses / length


@pytest.mark.parametrize("norm", ["batch", "instance"])
@pytest.mark.parametrize("is_training", [True, False], ids=["training", "evaluation"])
def test_the_network_computes_what_the_released_code_does(norm: Any, is_training: bool) -> None:
    built = network(norm=norm).train(is_training)
    values = dict(built.named_parameters()) | dict(built.named_buffers())
    values = {name: value.clone() for name, value in values.items()}
    features = IMAGES
    for layer, stride in enumerate((1, 2)):
        weight, bias = (
            values[f"convolutions.convolutions.{layer}.{x}"] for x in ("weight", "bias")
        )
        features = F.conv2d(features, weight, bias, stride)
        features = features.clamp(min=0) if norm == "batch" else F.leaky_relu(features, 0.3)
        over = (0, 2, 3) if norm == "batch" else (2, 3)
        mean = features.mean(over, keepdim=True)
        variance = features.var(over, correction=0, keepdim=True)
        if norm == "batch" and not is_training:
            mean, variance = torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
        scale, shift = (
            values[f"convolutions.norms.{layer}.{x}"].view(-1, 1, 1) for x in ("weight", "bias")
        )
        features = (features - mean) / (variance + 1e-3).sqrt() * scale + shift
    maps = F.conv2d(
        features, values["primary.convolution.weight"], values["primary.convolution.bias"], groups=8
    )
    capsules = [
        squashed(maps[:, 4 * type_ : 4 * type_ + 4, row, column])
        for type_ in range(2)
        for row in range(maps.shape[2])
        for column in range(maps.shape[3])
    ]
    poses = torch.stack(capsules, dim=1)
    matrices = values["capsules.weight"].unflatten(2, (3, 5))
    votes = torch.einsum("nid,idjp->njip", poses, matrices)
    logits = torch.einsum("njip,njkp->nji", votes, votes) / math.sqrt(5)
    shares = logits.softmax(dim=1)
    expected = squashed((shares.unsqueeze(-1) * votes).sum(dim=2))
    assert_close(built(IMAGES).poses, expected, rtol=1e-12, atol=1e-12)


def test_running_statistics_move_as_keras_moves_them() -> None:
    built = network().train()
    built(IMAGES)
    norm = built.convolutions.norms[0]
    features = F.relu(built.convolutions.convolutions[0](IMAGES))
    assert_close(norm.running_mean, 0.01 * features.mean((0, 2, 3)))


def test_weights_begin_as_keras_draws_them() -> None:
    built = EfficientCapsNet().build((1, 28, 28), 10)
    built.initialise(0)
    last = built.convolutions.convolutions[-1].weight
    assert_close(last.std(), torch.tensor((2 / (64 * 9)) ** 0.5), rtol=0.02, atol=0)
    assert last.abs().max() <= 2 * (2 / (64 * 9)) ** 0.5 / 0.8796
    bound = (6 / (81 * 129)) ** 0.5
    primary = built.primary.convolution.weight
    assert 0.99 * bound < primary.abs().max() <= bound
    matrices = built.capsules.weight
    assert_close(matrices.std(), torch.tensor((2 / (10 * 16 * 8)) ** 0.5), rtol=0.02, atol=0)


def test_primary_capsules_have_a_place_and_a_type() -> None:
    built = network()
    grid = built.child_grid()
    assert grid is not None
    assert grid.types * grid.rows * grid.columns == built.capsules.weight.shape[0]
    assert (grid.types, grid.rows, grid.columns) == (2, 2, 3)


def test_a_decoder_draws_from_the_class_capsules() -> None:
    built = network(reconstruction=FullyConnectedDecoder(hidden=(4,))).eval()
    outputs = built(IMAGES, torch.tensor([0, 1, 2]))
    assert outputs.reconstructions is not None
    assert outputs.reconstructions.shape == IMAGES.shape


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"conv_kernel": (3, 3, 3)}, "conv_kernel must be one number or one for each of the 2"),
        ({"conv_stride": (1,)}, "conv_stride must be one number or one for each of the 2"),
        ({"primary_dim": 3}, "must be a multiple of primary_dim, 3, got 8"),
    ],
    ids=["kernels", "strides", "pose"],
)
def test_sizes_that_do_not_fit_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        EfficientCapsNet(**SMALL | changes)
