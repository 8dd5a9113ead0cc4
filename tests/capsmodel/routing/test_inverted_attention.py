"""Inverted dot-product attention is that of Tsai and others."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import Neighbourhood, Routed, inverted_attention_routing
from capsmodel.layers import CapsuleGrid, Capsules, ConvCapsules
from capsmodel.models import CapsNet, DeepCaps, EfficientCapsNet, MatrixCapsNet, Model
from capsmodel.routing import InvertedAttentionRouting
from tests.capsmodel.routing.published_votes import CASES, VOTES, assert_alike, assert_golden
from tests.capsmodel.routing.routed import some_votes

GOLDEN_POSES = {
    1: (
        *(1.31240797, 0.57330548, -0.65094345, -1.23477),
        *(-1.61726969, 0.06880914, 1.07410566, 0.47435488),
    ),
    2: (
        *(1.55950519, 0.18523286, -0.94749157, -0.79724649),
        *(-1.28558907, -0.60145781, 0.62365681, 1.26339006),
    ),
}
GOLDEN_SHARES = {
    1: (0.5, 0.5, 0.5, 0.5, 0.5, 0.5),
    2: (0.32593842, 0.67406158, 0.60520697, 0.39479303, 0.64618124, 0.35381876),
    3: (0.18066838, 0.81933162, 0.62895533, 0.37104467, 0.79547578, 0.20452422),
}


def normalised_literally(total: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    mean = total.sum() / len(total)
    variance = ((total - mean) ** 2).sum() / len(total)
    return (total - mean) / (variance + 1e-5).sqrt() * scale + shift


def route_literally(votes: Tensor, iterations: int, scale: Tensor, shift: Tensor) -> Tensor:
    """Route image after image, child after child, as the paper prints it."""
    results: list[Tensor] = []
    for image in votes:
        in_caps, out_caps, pose = image.shape
        shares = [votes.new_full((out_caps,), 1 / out_caps) for _ in range(in_caps)]
        for iteration in range(iterations):
            if iteration:
                for i in range(in_caps):
                    agreements = [image[i, j] @ results[j - out_caps] for j in range(out_caps)]
                    raised = (torch.stack(agreements) / math.sqrt(pose)).exp()
                    shares[i] = raised / raised.sum()
                del results[-out_caps:]
            for j in range(out_caps):
                total = torch.stack([shares[i][j] * image[i, j] for i in range(in_caps)]).sum(dim=0)
                results.append(normalised_literally(total, scale, shift))
    return torch.stack(results).reshape(votes.shape[0], votes.shape[2], votes.shape[3])


@pytest.mark.parametrize("iterations", [1, 2, 4])
@pytest.mark.parametrize("shape", [case for case in CASES if case[-1] > 1])
def test_it_equals_the_printed_procedure_and_so_do_its_gradients(
    shape: tuple[int, ...], iterations: int
) -> None:
    scale, shift = 1 + 0.2 * some_votes(shape[-1]), 0.1 * some_votes(shape[-1])
    assert_alike(
        lambda votes, scale, shift: (
            inverted_attention_routing(votes, iterations, scale=scale, shift=shift).poses,
        ),
        lambda votes, scale, shift: (route_literally(votes, iterations, scale, shift),),
        some_votes(*shape),
        scale,
        shift,
    )


@pytest.mark.parametrize("iterations", GOLDEN_SHARES)
def test_it_has_the_values_of_the_released_code(iterations: int) -> None:
    routed = inverted_attention_routing(VOTES, iterations)
    assert_golden(shares_of(routed), *GOLDEN_SHARES[iterations])
    if iterations in GOLDEN_POSES:
        assert_golden(routed.poses, *GOLDEN_POSES[iterations])


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_a_constant_that_is_added_to_all_votes_changes_nothing(iterations: int) -> None:
    votes = some_votes(2, 6, 3, 4)
    routed = inverted_attention_routing(votes, iterations)
    shifted = inverted_attention_routing(votes + 7, iterations)
    assert_close(shifted.poses, routed.poses, rtol=1e-9, atol=1e-9)
    assert_close(shares_of(shifted), shares_of(routed), rtol=1e-9, atol=1e-9)


def test_larger_votes_change_the_first_round_by_epsilon_alone() -> None:
    votes = some_votes(2, 6, 3, 4)
    routed, larger = (inverted_attention_routing(v, 1, epsilon=0.0) for v in (votes, 9 * votes))
    assert_close(larger.poses, routed.poses)


def test_places_do_not_compete() -> None:
    around = Neighbourhood(3, 3, kernel_size=2)
    votes = some_votes(8, 8, 3, 4)  # two images of 4 places, two types in windows of 4
    routed = inverted_attention_routing(votes, 3, neighbourhood=around)
    assert_close(routed.poses, inverted_attention_routing(votes, 3).poses)
    assert_close(shares_of(routed).sum(dim=2), torch.ones(8, 8).double())


def test_the_logits_of_the_classes_are_one_map_of_their_poses() -> None:
    capsules = Capsules(6, 4, 3, 16, routing="inverted_attention")
    routed = capsules(some_votes(2, 6, 4).float())
    router = capsules.router
    assert isinstance(router.head, Tensor)
    assert isinstance(router.head_bias, Tensor)
    assert router.head.numel() + router.head_bias.numel() == 17
    assert sum(parameter.numel() for parameter in router.parameters()) == 2 * 16 + 17
    assert routed.logits is not None
    assert_close(routed.logits, routed.poses @ router.head + router.head_bias)
    assert_close(routed.activations, routed.logits.softmax(dim=1))


def test_a_hidden_layer_has_no_logits_and_no_beliefs() -> None:
    layer = ConvCapsules(2, 3, (3, 3), 2, pose_dim=4, routing="inverted_attention")
    routed = layer(CapsuleGrid(torch.rand(2, 9, 2, 4), torch.rand(2, 9, 2)))
    assert routed.logits is None
    assert bool((routed.activations == 1).all())
    assert sum(parameter.numel() for parameter in layer.router.parameters()) == 2 * 4


ROUTING = InvertedAttentionRouting()
MODELS: list[Model] = [
    CapsNet(conv_channels=4, primary_types=2, routing=ROUTING),
    MatrixCapsNet(conv_channels=4, primary_types=2, routing=ROUTING),
    EfficientCapsNet(routing=ROUTING),
    DeepCaps(routing=ROUTING),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_a_network_is_judged_by_these_logits(model: Model) -> None:
    network = model.build((1, 28, 28), 3).eval()
    outputs = network(torch.rand(2, 1, 28, 28))
    assert outputs.logits is not None
    assert_close(outputs.lengths, outputs.logits.softmax(dim=1))


def shares_of(routed: Routed) -> Tensor:
    assert routed.couplings is not None
    return routed.couplings.values
