"""The network of homogeneous capsules: sizes, values, branches and what it refuses."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from capsmodel.layers import HomogeneousCapsules
from capsmodel.losses import CrossEntropy
from capsmodel.models import HomogeneousCapsNet
from capsmodel.models.homogeneous_capsnet import HomogeneousNetwork
from capsmodel.stopping import FixedEpochs
from capsmodel.training.training import Training
from tests.capsmodel.routing.routed import seeded
from tests.capsmodel.small_config import small_config
from tests.covering import covering

FEW: dict[str, Any] = {"conv_channels": (3, 4, 5), "branches": (1, 3)}
IMAGES = torch.rand(4, 2, 8, 9, generator=seeded(), dtype=torch.float64)


def network(**changes: Any) -> HomogeneousNetwork:
    """Return a network of random weights, shifts among them."""
    built = HomogeneousCapsNet(**FEW | changes).build((2, 8, 9), 3).double()
    for parameter in built.parameters():
        torch.nn.init.normal_(parameter, std=0.5, generator=seeded(parameter.numel()))
    return built


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 1_514_187),
        ({"branch_weights": "ones"}, 1_514_190),
        ({"branch_weights": "random"}, 1_514_190),
        ({"branches": (9,)}, 756_000 + 160_000 + 864 + 100 + 1),
        ({"capsules": "places"}, 756_000 + 756_480 + 864 + (64 + 112 + 160) + 3),
    ],
)
def test_the_network_for_mnist_has_the_published_parameters(
    changes: dict[str, Any], expected: int
) -> None:
    with torch.device("meta"):
        built = HomogeneousCapsNet(**changes).build((1, 28, 28), 10)
    assert sum(parameter.numel() for parameter in built.parameters()) == expected


def shifted(values: Tensor, axis: int, shift: Tensor) -> Tensor:
    """Return values normalised along an axis over all others, and shifted."""
    parts = []
    for number, part in enumerate(values.unbind(axis)):
        centred = part - part.mean()
        parts.append(centred / (centred.square().mean() + 1e-3).sqrt() + shift[number])
    return torch.stack(parts, dim=axis)


def literal_capsules(layer: HomogeneousCapsules, children: list[Tensor]) -> Tensor:
    """Return class capsules [batch classes pose] of children [batch pose], in loops."""
    classes = []
    for weights in layer.weight:
        pairs = zip(weights, children, strict=True)
        classes.append(torch.stack([weight * child for weight, child in pairs]).sum(dim=0))
    assert layer.norm.bias is not None
    return shifted(torch.stack(classes, dim=1), 2, layer.norm.bias).clamp(min=0)


def literally(built: HomogeneousNetwork, images: Tensor) -> Tensor:
    """Return the logits as the released code computes them."""
    settings, modules = built.settings, dict(built.named_children())
    features, scores = images, []
    for number in range(1, len(settings.conv_channels) + 1):
        convolution: Any = modules[f"convolution{number}"]
        features = F.conv2d(features, convolution.convolution.weight)
        features = shifted(features, 1, convolution.norm.bias).clamp(min=0)
        if number in settings.branches:
            if settings.capsules == "maps":
                children = [maps.flatten(1) for maps in features.unbind(1)]
            else:
                children = list(features.flatten(2).unbind(2))
            capsules: Any = modules[f"capsules{number}"]
            poses = literal_capsules(capsules, children)
            is_sum = settings.class_score == "sum"
            scores.append(poses.sum(dim=2) if is_sum else poses.square().sum(dim=2).sqrt())
    weight, norm = built.merged.weight, built.merged.norm
    if weight is not None:
        scores = [factor * score for factor, score in zip(weight, scores, strict=True)]
    assert norm.bias is not None
    return shifted(torch.stack(scores, dim=2), 2, norm.bias).sum(dim=2)


@pytest.mark.parametrize(
    ("capsules", "score", "weights"),
    covering(["maps", "places"], ["sum", "norm"], ["fixed", "ones", "random"]),
)
def test_in_training_it_equals_the_printed_formulae_and_so_do_its_gradients(
    capsules: str, score: str, weights: str
) -> None:
    built = network(capsules=capsules, class_score=score, branch_weights=weights)
    ours = built(IMAGES)
    logits = literally(built, IMAGES)
    assert ours.logits is not None
    assert_close(ours.logits, logits, rtol=0, atol=1e-12)
    assert_close(ours.lengths, logits.softmax(dim=1), rtol=0, atol=1e-12)
    factors = torch.rand(logits.shape, generator=seeded(1), dtype=torch.float64)
    first, second = (
        torch.autograd.grad((factors * values).sum(), list(built.parameters()), allow_unused=True)
        for values in (ours.logits, logits)
    )
    assert_close(first, second, rtol=0, atol=1e-9)


def test_in_evaluation_an_image_is_judged_by_itself() -> None:
    built = network()
    built(IMAGES)
    built.eval()
    assert_close(built(IMAGES).lengths[:1], built(IMAGES[:1]).lengths)


def test_a_pose_is_the_capsules_of_a_class_in_all_branches() -> None:
    outputs = network()(IMAGES)
    assert outputs.poses is not None
    assert outputs.poses.shape == (4, 3, 6 * 7 + 2 * 3)
    assert outputs.couplings == {}


def test_the_normalisation_undoes_the_size_of_a_branchs_weight() -> None:
    built = network(branch_weights="ones")
    assert built.merged.weight is not None
    logits = []
    for size in (1.0, 5.0, -1.0):
        torch.nn.init.constant_(built.merged.weight, size)
        logits.append(built(IMAGES).logits)
    usual, large, negative = logits
    assert_close(usual, large, rtol=0, atol=1e-2)
    assert (usual - negative).abs().max() > 0.5


def test_weights_begin_as_the_released_code_draws_them() -> None:
    built = HomogeneousCapsNet(branch_weights="random").build((1, 28, 28), 10)
    built.initialise(0)
    modules: Any = dict(built.named_children())
    assert 0.19 < modules["convolution5"].convolution.weight.abs().max() <= 0.2
    weight = modules["capsules3"].weight
    assert weight.shape == (10, 64, 484)
    bound = (6 / (10 * 64 + 10 * 484)) ** 0.5
    assert 0.99 * bound < weight.abs().max() <= bound
    assert modules["merged"].weight.abs().max() <= 1
    assert not bool(modules["merged"].norm.bias.any())


@pytest.mark.parametrize("branches", [(3,), (9, 3), (3, 3, 9), (3, 10)])
def test_branches_that_do_not_rise_to_the_last_convolution_are_refused(branches: Any) -> None:
    with pytest.raises(ValueError, match="branches must rise and end at 9"):
        HomogeneousCapsNet(branches=branches)


def test_images_that_are_too_small_are_refused() -> None:
    with pytest.raises(ValueError, match="A kernel of 3 pixels does not fit 2 pixels"):
        HomogeneousCapsNet().build((1, 14, 14), 10)


def test_it_learns() -> None:
    config = small_config(
        model=HomogeneousCapsNet(**FEW), loss=CrossEntropy(), stopping=FixedEpochs(epochs=3)
    )
    *_, last = list(Training(config, seed=0))
    assert last.train_loss < 2.0
