"""Settings reproduce what other implementations of the first capsule network compute.

What they compute is written out in plain torch; docs/implementations.md says who computes it.
"""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import lengths
from capsmodel.layers import CapsuleGrid, ConvCapsules, PrimaryCapsules
from capsmodel.routing import DynamicRouting, LearnedLogits
from tests.capsmodel.literal_forms import (
    INPUTS,
    OUTPUTS,
    assert_same,
    routed,
    squashed,
    with_gradient,
)
from tests.capsmodel.routing.routed import poses_of, routed_by, router_for, seeded, some_votes

TENTH = torch.tensor(0.1).item()  # where a bias begins, in single precision


def routed_by_the_batch(votes: Tensor, softmax_over: int, *, is_mean: bool) -> Tensor:
    """Routing in three rounds whose logits all images share: sum or mean of their agreements."""
    logits = votes.new_zeros(1, *votes.shape[1:3])
    poses = votes
    for _ in range(3):
        shares = logits.softmax(softmax_over).expand(len(votes), -1, -1)
        poses = squashed(torch.einsum("bio,biop->bop", shares, votes))
        agreement = torch.einsum("biop,bop->bio", votes, poses)
        logits = logits + (agreement.mean(0) if is_mean else agreement.sum(0))
    return poses


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_gradient_last_is_votes_detached_in_all_other_rounds(rounds: int) -> None:
    routing = DynamicRouting(iterations=rounds, gradient="last")
    assert_same(
        lambda votes: poses_of(routing, votes),
        lambda votes: routed(votes, rounds, detached=True),
        some_votes(2, 6, 3, 4),
    )


def test_gradient_last_changes_the_gradient_and_no_value() -> None:
    votes = some_votes(2, 6, 3, 4)
    value, gradient = with_gradient(lambda votes: poses_of(DynamicRouting(), votes), votes)
    last = DynamicRouting(gradient="last")
    other_value, other_gradient = with_gradient(lambda votes: poses_of(last, votes), votes)
    assert_close(value, other_value)
    assert (gradient - other_gradient).abs().max() > 0.01


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rounds", [1, 3])
def test_children_that_compete_are_a_softmax_over_the_inputs(rounds: int, bias: bool) -> None:
    routing = DynamicRouting(iterations=rounds, competition="children", bias=bias)
    votes = some_votes(2, 6, 3, 4)
    assert_same(
        lambda votes: poses_of(routing, votes),
        lambda votes: routed(votes, rounds, INPUTS, bias=TENTH * bias),
        votes,
    )
    usual = DynamicRouting(iterations=rounds, bias=bias)
    assert (poses_of(routing, votes) - poses_of(usual, votes)).abs().max() > 0.01
    assert_same(
        lambda votes: poses_of(usual, votes),
        lambda votes: routed(votes, rounds, bias=TENTH * bias),
        votes,
    )


@pytest.mark.parametrize("is_mean", [False, True])
@pytest.mark.parametrize("over", [INPUTS, OUTPUTS])
def test_logits_that_a_batch_shares_are_ours_for_one_image_alone(over: int, is_mean: bool) -> None:
    votes = some_votes(3, 6, 4, 5)
    routing = DynamicRouting(competition="children" if over == INPUTS else "parents")
    in_batch = routed_by_the_batch(votes, over, is_mean=is_mean)
    alone = [routed_by_the_batch(image.unsqueeze(0), over, is_mean=is_mean) for image in votes]
    assert (in_batch - torch.cat(alone)).abs().max() > 0.01
    assert_close(poses_of(routing, votes), torch.cat(alone))


@pytest.mark.parametrize("updates", [0, 1, 3])
@pytest.mark.parametrize(("competition", "over"), [("parents", OUTPUTS), ("children", INPUTS)])
def test_learned_logits_take_one_round_more_than_they_are_updated(
    competition: Any, over: int, updates: int
) -> None:
    def ours(rounds: int, logits: Tensor) -> Tensor:
        routing = DynamicRouting(
            iterations=rounds, initial_logits=LearnedLogits(), competition=competition
        )
        router = router_for(routing, votes)
        del router.logits
        router.logits = logits  # pyright: ignore[reportAttributeAccessIssue]
        return routed_by(router, votes).poses

    def literal(logits: Tensor) -> Tensor:
        poses = squashed(torch.einsum("io,biop->bop", logits.softmax(over - 1), votes))
        of_image = logits.expand(votes.shape[:3])
        for _ in range(updates):
            of_image = of_image + torch.einsum("biop,bop->bio", votes, poses)
            poses = squashed(torch.einsum("bio,biop->bop", of_image.softmax(over), votes))
        return poses

    votes, logits = some_votes(2, 6, 3, 4), 2 * some_votes(6, 3)
    assert_same(lambda logits: ours(updates + 1, logits), literal, logits)
    default = poses_of(DynamicRouting(competition=competition), votes)
    assert_close(ours(3, torch.zeros_like(logits)), default)
    assert (ours(3, logits) - default).abs().max() > 0.01


@pytest.mark.parametrize("stride", [1, 2])
def test_types_that_compete_are_routed_at_each_place_on_its_own(stride: int) -> None:
    def layer(competition: Any) -> ConvCapsules:
        routing = DynamicRouting(competition=competition)
        built = ConvCapsules(
            2, 3, (5, 5), 3, routing=routing, stride=stride, pose_dim=4, pose_kind="vector"
        ).double()
        built.weight.data = theirs.unflatten(1, (3, 4)).permute(0, 3, 2, 1)
        return built

    def ours(poses: Tensor, competition: str = "types") -> Tensor:
        built = layer(competition)
        grid = CapsuleGrid(poses, lengths(poses))
        return built.grid(built(grid)).poses

    def literal(poses: Tensor) -> Tensor:
        places: list[Tensor] = []
        for row in range(0, 3, stride):
            for column in range(0, 3, stride):
                window = poses.unflatten(1, (5, 5))[:, row : row + 3, column : column + 3]
                children = window.flatten(1, 3)  # place in the window, then type
                votes = torch.einsum("eqd,bed->beq", theirs, children).unflatten(2, (3, 4))
                places.append(routed(votes))
        return torch.stack(places, dim=1)

    theirs = 0.5 * some_votes(18, 3 * 4, 4)  # [places and types, out types and pose, in pose]
    poses = torch.randn(2, 25, 2, 4, generator=seeded(1), dtype=torch.float64)
    assert_same(ours, literal, poses)
    assert (ours(poses, "parents") - ours(poses)).abs().max() > 0.01


def test_pixels_are_grouped_as_they_lie_in_memory() -> None:
    features = torch.randn(2, 3, 8, 8, generator=seeded(1), dtype=torch.float64)
    pixels, channels = (
        PrimaryCapsules(3, 4, 8, 3, grouping=grouping).double()
        for grouping in ("pixels", "channels")
    )
    channels.load_state_dict(pixels.state_dict())

    def literal(features: Tensor) -> Tensor:
        convolution = pixels.convolution
        maps = F.conv2d(features, convolution.weight, convolution.bias)
        capsules: list[Tensor] = []
        for start in range(0, 32 * 36, 8):
            values = [
                maps[:, place // 36, place % 36 // 6, place % 6]
                for place in range(start, start + 8)
            ]
            capsules.append(squashed(torch.stack(values, dim=1)))
        return torch.stack(capsules, dim=1)

    assert_same(pixels, literal, features)
    assert (pixels(features) - channels(features)).abs().max() > 0.01


def test_of_six_by_six_pixels_one_capsule_in_nine_holds_those_of_two_channels() -> None:
    layer = PrimaryCapsules(1, 4, 8, 3, grouping="pixels")
    layer.convolution.weight.data.zero_()
    assert layer.convolution.bias is not None
    layer.convolution.bias.data = torch.arange(1.0, 33.0)
    capsules = layer(torch.zeros(1, 1, 8, 8))[0]
    is_mixed = (capsules - capsules[:, :1]).abs().amax(dim=1) > 1e-3
    assert is_mixed.sum().item() * 9 == len(capsules)
