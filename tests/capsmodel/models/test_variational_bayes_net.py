"""The networks of variational-Bayes routing: sizes, values, beginnings and normalised capsules."""

import math
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import Neighbourhood
from capsmodel.layers.capsule_grid import CapsuleNorm
from capsmodel.layers.conv_capsules import ConvCapsules
from capsmodel.losses import CrossEntropy
from capsmodel.models import MatrixCapsNet
from capsmodel.models.matrix_capsnet import MatrixCapsuleNetwork
from capsmodel.routing import DynamicRouting, EMRouting, SelfRouting
from capsmodel.stopping import FixedEpochs
from capsmodel.training.training import Training
from tests.capsmodel.routing.routed import seeded
from tests.capsmodel.routing.test_variational_bayes import route_literally
from tests.capsmodel.small_config import small_config

FEW: dict[str, Any] = {
    "conv_channels": 4,
    "conv_kernel": 3,
    "conv_stride": 1,
    "primary_types": 2,
    "pose_size": 4,
}
DEEP = MatrixCapsNet.variational_bayes(
    **FEW, first_types=3, first_stride=1, second_types=2, second_kernel=2
)
CONSTANT = DEEP.model_copy(update={"coordinates": "constant"})
FLAT = MatrixCapsNet.small_variational_bayes(**FEW)
NETWORKS = pytest.mark.parametrize(
    "model", [DEEP, CONSTANT, FLAT], ids=["deep", "constant", "flat"]
)
IMAGES = torch.rand(3, 2, 7, 8, generator=seeded(), dtype=torch.float64)


def network(model: MatrixCapsNet) -> MatrixCapsuleNetwork:
    """Return a network of random weights, those of its normalisations among them."""
    built = model.build((2, 7, 8), 3).double()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.7, generator=seeded(parameter.numel()))
    return built


def num_parameters(model: MatrixCapsNet, channels: int, num_classes: int) -> int:
    with torch.device("meta"):
        built = model.build((channels, 32, 32), num_classes)
    return sum(parameter.numel() for parameter in built.parameters())


@pytest.mark.parametrize(
    ("model", "channels", "num_classes", "expected"),
    [
        (MatrixCapsNet.variational_bayes(), 2, 5, 68_714),
        (
            MatrixCapsNet.variational_bayes(primary_types=16, first_types=32, second_types=32),
            2,
            5,
            244_682,
        ),
        (MatrixCapsNet.variational_bayes(primary_types=16), 3, 10, 98_772),
        (MatrixCapsNet.small_variational_bayes(), 2, 5, 206_154),
    ],
)
def test_they_have_the_parameters_of_the_released_code(
    model: MatrixCapsNet, channels: int, num_classes: int, expected: int
) -> None:
    assert num_parameters(model, channels, num_classes) == expected


def test_the_small_one_sees_all_places_with_matrices_of_each() -> None:
    with torch.device("meta"):
        built = MatrixCapsNet.small_variational_bayes().build((2, 32, 32), 5)
    assert built.layers == {}
    assert built.last_places == (6, 6)
    assert built.classes.weight.shape == (36 * 16, 4, 4, 5)


class Capsules(NamedTuple):
    """Poses [batch rows columns types side side] and activations [batch rows columns types]."""

    poses: Tensor
    activations: Tensor


def normed(values: Tensor, type_axis: int, norm: Any = None) -> Tensor:
    """Return values normalised type by type, and scaled and shifted where that is learned."""
    types = []
    for number, of_type in enumerate(values.unbind(type_axis)):
        centred = of_type - of_type.mean()
        normed = centred / (centred.square().mean() + 1e-5).sqrt()
        learned = norm is not None and norm.weight is not None
        types.append(normed * norm.weight[number] + norm.bias[number] if learned else normed)
    return torch.stack(types, dim=type_axis)


def literal_primary(built: MatrixCapsuleNetwork, images: Tensor) -> Capsules:
    settings, convolution = built.settings, built.convolution
    features = F.conv2d(images, convolution.convolution.weight, stride=settings.conv_stride)
    features = normed(features, 1, convolution.norm).clamp(min=0)
    stride = settings.primary_stride
    values = F.conv2d(features, built.primary.convolution.weight, stride=stride)
    values, norm = values.permute(0, 2, 3, 1), built.primary.type_norm
    assert norm is not None
    side, types = math.isqrt(settings.pose_size), settings.primary_types
    poses = values[..., : types * side * side].unflatten(3, (types, side, side))
    logits = values[..., types * side * side :]
    return Capsules(normed(poses, 3, norm.poses), normed(logits, 3, norm.logits).sigmoid())


def literal_votes(layer: ConvCapsules, below: Capsules, window: tuple[int, int]) -> list[Any]:
    """Return votes [sites edges out_caps pose] and activations [sites edges], in loops."""
    batch, rows, columns, types = below.activations.shape
    step, votes, present = layer.stride, [], []
    for image in range(batch):
        for top in range(0, rows - window[0] + 1, step):
            for left in range(0, columns - window[1] + 1, step):
                of_site, seen = [], []
                for row in range(window[0]):
                    for column in range(window[1]):
                        for child in range(types):
                            place = row * window[1] + column
                            edge = place * types + child
                            matrix = layer.weight[edge % len(layer.weight)]
                            pose = below.poses[image, top + row, left + column, child]
                            vote = torch.einsum("ri,ico->orc", pose, matrix).flatten(1)
                            if layer.offsets is not None:
                                vote = vote + offset_of(layer, place, window, vote.shape[1])
                            of_site.append(vote)
                            seen.append(below.activations[image, top + row, left + column, child])
                votes.append(torch.stack(of_site))
                present.append(torch.stack(seen))
    return [torch.stack(votes), torch.stack(present)]


def offset_of(layer: ConvCapsules, place: int, window: tuple[int, int], pose: int) -> Tensor:
    assert layer.offsets is not None
    if torch.equal(layer.offsets[0], layer.offsets[-1]):  # "constant"
        place, window = 0, (1, 1)
    side, offset = math.isqrt(pose), torch.zeros(pose)  # single, as the layer has them
    offset[side - 1] = (place // window[1] + 1) / (10 * window[0])
    offset[2 * side - 1] = (place % window[1] + 1) / (10 * window[1])
    return offset.double()


def literal_capsules(layer: ConvCapsules, below: Capsules) -> Capsules:
    batch, rows, columns, _ = below.activations.shape
    is_last = layer.all_places > 0
    kernel = layer.kernel_size
    assert is_last or isinstance(kernel, int)
    window = (rows, columns) if is_last else (int(kernel), int(kernel))
    around = Neighbourhood() if is_last else layer.neighbourhood
    votes, present = literal_votes(layer, below, window)
    means, logits = route_literally(votes, present, around, 3)
    places = tuple(
        (n - w) // layer.stride + 1 for n, w in zip((rows, columns), window, strict=True)
    )
    side = math.isqrt(means.shape[2])
    poses = means.unflatten(0, (batch, *places)).unflatten(4, (side, side))
    return Capsules(normed(poses, 3), normed(logits.unflatten(0, (batch, *places)), 3).sigmoid())


def literally(built: MatrixCapsuleNetwork, images: Tensor) -> tuple[Tensor, Tensor]:
    """Return activations and poses of the classes as the released code computes them."""
    capsules = literal_primary(built, images)
    for layer in (*built.layers.values(), built.classes):
        capsules = literal_capsules(layer, capsules)
    return capsules.activations.flatten(1), capsules.poses.flatten(1, 3).flatten(2)


@NETWORKS
def test_in_training_they_equal_the_printed_formulae_and_so_do_their_gradients(
    model: MatrixCapsNet,
) -> None:
    built = network(model)
    ours = built(IMAGES)
    lengths, poses = literally(built, IMAGES)
    assert_close(ours.lengths, lengths, rtol=0, atol=1e-12)
    assert_close(ours.poses, poses, rtol=0, atol=1e-11)
    weights = torch.rand(lengths.shape, generator=seeded(1), dtype=torch.float64)
    learned = [built.convolution.convolution.weight, built.primary.convolution.weight]
    learned += [layer.weight for layer in (*built.layers.values(), built.classes)]
    first, second = (
        torch.autograd.grad((weights * values).sum(), learned) for values in (ours.lengths, lengths)
    )
    assert_close(first, second, rtol=0, atol=1e-9)


RELEASED = [
    [0.420046300731, 0.326277964035, 0.195480194673, 0.319517967817, 0.267797991869],
    [0.222808999913, 0.454088750675, 0.729869487082, 0.756335748931, 0.749152608649],
    [0.820031668611, 0.843440753615, 0.385119411985, 0.231477112571, 0.274023660767],
    [0.513844585474, 0.315436621361, 0.708621957928, 0.694932810076, 0.708069918187],
]
"""What the released code gives for four images in training, by the weights below.

Run once at commit 78fb69d of fabio-deep/Variational-Capsule-Routing, in double precision, with
`torch.linalg.cholesky` for what torch has removed and without its calls of `cuda`.
"""


def test_with_constants_it_is_the_network_of_the_released_code() -> None:
    model = MatrixCapsNet.variational_bayes(
        conv_channels=8, primary_types=2, first_types=3, second_types=3, coordinates="constant"
    )
    built = model.build((2, 32, 32), 5).double()
    images = (torch.arange(4 * 2 * 32 * 32).double() * 0.37).sin().square().reshape(4, 2, 32, 32)
    with torch.no_grad():
        for number, (name, weight) in enumerate(built.named_parameters()):
            values = (torch.arange(weight.numel()).double() * 0.7 + number).sin()
            is_matrix = name.endswith("weight") and weight.ndim > 1
            weight.copy_((0.06 * values if is_matrix else 1 + 0.3 * values).view_as(weight))
    expected = torch.tensor(RELEASED, dtype=torch.float64)
    assert_close(built(images).lengths, expected, rtol=0, atol=1e-10)


@NETWORKS
def test_in_evaluation_an_image_is_judged_by_itself(model: MatrixCapsNet) -> None:
    built = network(model)
    for _ in range(3):
        built(IMAGES)
    built.eval()
    together = built(IMAGES).lengths
    assert_close(together[:1], built(IMAGES[:1]).lengths)


@NETWORKS
def test_activations_begin_about_one_half(model: MatrixCapsNet) -> None:
    built = model.build((2, 7, 8), 3)
    assert 0.3 < built(IMAGES.float()).lengths.mean() < 0.7


def test_without_normalised_capsules_none_is_normalised() -> None:
    built = DEEP.model_copy(update={"capsule_norm": False}).build((2, 7, 8), 3)
    assert not [module for module in built.modules() if isinstance(module, CapsuleNorm)]


def test_where_lengths_are_activations_only_primary_poses_are_normalised() -> None:
    built = MatrixCapsNet(**FEW, capsule_norm=True, routing=DynamicRouting()).build((2, 9, 9), 3)
    norms = [name for name, module in built.named_modules() if isinstance(module, CapsuleNorm)]
    assert norms == ["primary.type_norm"]
    assert built.primary.type_norm is not None
    assert built.primary.type_norm.logits is None
    outputs = built(torch.rand(4, 2, 9, 9, generator=seeded()))
    assert outputs.poses is not None
    assert_close(outputs.lengths, outputs.poses.norm(dim=-1))


def test_where_classes_have_scores_these_are_normalised() -> None:
    built = DEEP.model_copy(update={"routing": SelfRouting()}).build((2, 7, 8), 3)
    outputs = built(IMAGES.float())
    assert outputs.logits is not None
    assert_close(outputs.lengths, outputs.logits.softmax(dim=1))
    assert_close(outputs.logits.mean(dim=0), torch.zeros(3), atol=1e-5, rtol=0)


def test_saturated_activations_leave_finite_gradients() -> None:
    routing = EMRouting(class_temperature_factor=1e4)
    built = DEEP.model_copy(update={"routing": routing}).build((2, 7, 8), 3)
    built(IMAGES.float()).lengths[:, 0].sum().backward()
    gradients = [parameter.grad for parameter in built.parameters() if parameter.grad is not None]
    assert gradients
    assert all(bool(gradient.isfinite().all()) for gradient in gradients)


def test_weights_begin_as_the_released_code_draws_them() -> None:
    built = MatrixCapsNet.variational_bayes().build((2, 32, 32), 5)
    built.initialise(0)
    primary = built.primary.convolution.weight
    bounds = {
        built.convolution.convolution.weight: 6 / (2 * 25),
        primary[: 8 * 16]: 6 / (64 + 8 * 16),
        primary[8 * 16 :]: 6 / (64 + 8),
        built.layers["first"].weight: 6 / (9 * 16 * (8 + 16)),
        built.layers["second"].weight: 6 / (9 * 16 * (16 + 16)),
        built.classes.weight: 6 / (16 * (16 + 5)),
    }
    for weight, square in bounds.items():
        assert 0.97 * square < weight.abs().max() ** 2 <= square
        assert weight.var().item() == pytest.approx(square / 3, rel=0.15)


def test_matrices_of_each_place_are_for_one_size() -> None:
    built = FLAT.build((2, 8, 8), 3)
    with pytest.raises(ValueError, match="matrices of each of 2 by 2 places, got size"):
        built.classes.votes(built.primary(torch.rand(1, 4, 6, 7)), size=(2, 3))


def test_it_trains() -> None:
    config = small_config(
        model=MatrixCapsNet.variational_bayes(
            **FEW | {"conv_stride": 2}, first_types=3, first_stride=1, second_types=0
        ),
        loss=CrossEntropy(scale=1.0),
        stopping=FixedEpochs(epochs=2),
    )
    first, second = list(Training(config, seed=0))
    assert second.train_loss < first.train_loss
