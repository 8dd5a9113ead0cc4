"""Settings reproduce what other implementations of EM routing compute.

What they compute is written out in plain torch; docs/implementations.md says who computes it.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import em_routing
from capsmodel.layers import CapsuleGrid, ConvCapsules, Window
from capsmodel.layers.conv_capsules import coordinate_offsets
from capsmodel.routing import ConstantInverseTemperature, EMRouting, Fan, GivenVotes, Neighbourhood
from tests.capsmodel.literal_forms import assert_same, with_gradient
from tests.capsmodel.routing.routed import seeded, some_votes


class Procedure(NamedTuple):
    """What implementations of EM routing do differently.

    Attributes:
        temperatures: The inverse temperature of each round.
        activation_bias: What being there is worth, one a type of parent.
        cost_bias: What describing a child costs, one a type of parent and number of the pose.
        floor: Added to the variances.
        start: The share of each child that each parent has at first; by default 1 / parents.
        scales_again: Whether shares times activations are scaled to add up to 1 over the parents.
    """

    temperatures: list[float]
    activation_bias: Tensor
    cost_bias: Tensor
    floor: float = 1e-8
    start: float | None = None
    is_rescaled: bool = False


class Gaussians(NamedTuple):
    """The parents of one place after a round."""

    centre: Tensor
    variance: Tensor
    beliefs: Tensor


def em(votes: Tensor, activations: Tensor, by: Procedure) -> Tensor:
    """EM on votes of [batch in_caps out_caps pose] for one place: centres, then beliefs."""
    shares = torch.full_like(votes[..., 0], by.start or 1 / votes.shape[2])
    for temperature in by.temperatures[:-1]:
        parents = maximised(votes, shares * activations.unsqueeze(-1), by, temperature)
        distances = (votes - parents.centre.unsqueeze(1)).square() / parents.variance.unsqueeze(1)
        heights = parents.beliefs.log() - 0.5 * (2 * math.pi * parents.variance).log().sum(-1)
        shares = (heights.unsqueeze(1) - 0.5 * distances.sum(-1)).softmax(dim=2)
    last = maximised(votes, shares * activations.unsqueeze(-1), by, by.temperatures[-1])
    return both(last.centre, last.beliefs)


def maximised(votes: Tensor, weights: Tensor, by: Procedure, temperature: float) -> Gaussians:
    if by.is_rescaled:
        weights = weights / (weights.sum(2, keepdim=True) + 1e-8)
    mass = weights.sum(1)
    weights = weights / mass.unsqueeze(1)
    centre = torch.einsum("bio,biop->bop", weights, votes)
    spread = (votes - centre.unsqueeze(1)).square()
    variance = torch.einsum("bio,biop->bop", weights, spread) + by.floor
    cost = (by.cost_bias + variance.log() / 2) * mass.unsqueeze(-1)
    beliefs = torch.sigmoid(temperature * (by.activation_bias - cost.sum(-1)))
    return Gaussians(centre, variance, beliefs)


def both(poses: Tensor, beliefs: Tensor) -> Tensor:
    return torch.cat([poses, beliefs.unsqueeze(-1)], dim=-1)


VOTES = some_votes(2, 6, 3, 4)
ACTIVATIONS = torch.rand(2, 6, generator=seeded(1), dtype=torch.float64) * 0.9 + 0.1
ACTIVATION_BIAS, COST_BIAS = some_votes(3), some_votes(3, 4)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_activations_that_cancel_are_activations_of_one(rounds: int) -> None:
    def ours(votes: Tensor, activations: Tensor) -> Tensor:
        routed = em_routing(
            votes,
            activations,
            rounds,
            activation_bias=ACTIVATION_BIAS,
            cost_bias=COST_BIAS[:, 0],
            inverse_temperature=lambda _: 1e-3,
            variance_floor=1e-8,
        )
        return both(routed.poses, routed.activations)

    by = Procedure([1e-3] * rounds, ACTIVATION_BIAS, COST_BIAS[:, :1], is_rescaled=True)
    value, gradient = with_gradient(lambda votes: em(votes, ACTIVATIONS, by), VOTES)
    own_value, own_gradient = with_gradient(lambda v: ours(v, torch.ones(2, 6).double()), VOTES)
    assert_close(own_value, value, rtol=0, atol=1e-6)  # the activations cancel but for 1e-8
    assert_close(own_gradient, gradient, rtol=0, atol=1e-5)
    assert (ours(VOTES, ACTIVATIONS) - value).abs().max() > 0.01
    _, cancelled = with_gradient(lambda activations: em(VOTES, activations, by), ACTIVATIONS)
    _, used = with_gradient(lambda activations: ours(VOTES, activations), ACTIVATIONS)
    assert cancelled.abs().max() < 1e-5
    assert used.abs().max() > 0.1


def windows(children: Tensor, stride: int) -> list[Tensor]:
    """Return what each window of 3 by 3 sees of 5 by 5 places: place in it, then type."""
    image = children.unflatten(1, (5, 5))
    starts = range(0, 3, stride)
    return [
        image[:, row : row + 3, column : column + 3].flatten(1, 3)
        for row in starts
        for column in starts
    ]


@pytest.mark.parametrize("stride", [1, 2])
def test_types_compete_at_each_place_on_its_own(stride: int) -> None:
    def layer(competition: str) -> ConvCapsules:
        routing = EMRouting.model_validate(
            {
                "competition": competition,
                "inverse_temperature": ConstantInverseTemperature(value=1e-3),
                "variance_floor": 1e-8,
            }
        )
        built = ConvCapsules(2, 3, (5, 5), 3, routing=routing, stride=stride, pose_dim=4).double()
        built.weight.data = theirs[0].permute(0, 2, 3, 1)
        return built

    def ours(poses: Tensor, competition: str = "types") -> Tensor:
        built = layer(competition)
        grid = built.grid(built(CapsuleGrid(poses, activations)))
        return both(grid.poses.flatten(1, 2), grid.activations.flatten(1, 2))

    def literal(poses: Tensor) -> Tensor:
        nothing = torch.zeros(3, 1, dtype=torch.float64)
        by = Procedure([1e-3] * 3, nothing[:, 0], nothing)
        places: list[Tensor] = []
        seen = zip(windows(poses, stride), windows(activations, stride), strict=True)
        for children, activations_seen in seen:
            votes = children.unflatten(2, (1, 2, 2)) @ theirs
            places.append(em(votes.flatten(3), activations_seen, by))
        return torch.cat(places, dim=1)

    theirs = torch.randn(1, 18, 3, 2, 2, generator=seeded(2), dtype=torch.float64)
    poses = torch.randn(2, 25, 2, 4, generator=seeded(1), dtype=torch.float64)
    activations = torch.rand(2, 25, 2, generator=seeded(4), dtype=torch.float64)
    assert_same(ours, literal, poses)
    assert (ours(poses, "parents") - ours(poses)).abs().max() > 0.01


def test_classes_see_all_places_with_the_same_matrices() -> None:
    theirs = torch.randn(1, 2, 3, 2, 2, generator=seeded(2), dtype=torch.float64)
    poses = torch.randn(2, 9, 2, 4, generator=seeded(1), dtype=torch.float64)
    routing = EMRouting(variance_floor=1e-8)
    layer = ConvCapsules(2, 3, (3, 3), "all", routing=routing, pose_dim=4).double()
    layer.weight.data = theirs[0].permute(0, 2, 3, 1)
    nothing = torch.zeros(3, 1, dtype=torch.float64)
    by = Procedure([5e-4, 9.75e-4, 1.42625e-3], nothing[:, 0], nothing)
    votes = (poses.flatten(1, 2).unflatten(2, (1, 2, 2)) @ theirs.repeat(1, 9, 1, 1, 1)).flatten(3)
    routed = layer(CapsuleGrid(poses, torch.ones(2, 9, 2).double()))
    expected = em(votes, torch.ones(2, 18).double(), by)
    assert_close(both(routed.poses, routed.activations), expected)


def test_a_cost_for_each_number_of_the_pose_counts_by_its_mean_alone() -> None:
    def ours(votes: Tensor, cost_bias: Tensor, temperature: Callable[[int], float]) -> Tensor:
        routed = em_routing(
            votes,
            ACTIVATIONS,
            3,  # one more than shares are computed
            activation_bias=ACTIVATION_BIAS,
            cost_bias=cost_bias.mean(dim=1),
            inverse_temperature=temperature,
            variance_floor=1e-9,
        )
        return both(routed.poses, routed.activations)

    def rising(iteration: int) -> float:
        return 0.01 + 0.01 * iteration

    by = Procedure([0.01, 0.02, 0.03], ACTIVATION_BIAS, COST_BIAS, floor=1e-9)
    assert_same(
        lambda votes: ours(votes, COST_BIAS, rising),
        lambda votes: em(votes, ACTIVATIONS, by),
        VOTES,
    )
    assert_same(
        lambda cost_bias: ours(VOTES, cost_bias, rising),
        lambda cost_bias: em(VOTES, ACTIVATIONS, by._replace(cost_bias=cost_bias)),
        COST_BIAS,
    )
    constant = ours(VOTES, COST_BIAS, lambda _: 0.01)
    assert (ours(VOTES, COST_BIAS, rising) - constant).abs().max() > 0.001


def test_shares_that_start_at_one_are_more_mass_in_the_first_round_alone() -> None:
    def ours(mass_scale: float, rounds: int) -> Tensor:
        routed = em_routing(
            VOTES,
            ACTIVATIONS,
            rounds,
            inverse_temperature=lambda _: 0.3,
            variance_floor=1e-8,
            mass_scale=mass_scale,
        )
        return both(routed.poses, routed.activations)

    nothing = torch.zeros(3, 1, dtype=torch.float64)
    by = Procedure([0.3], nothing[:, 0], nothing, start=1.0)
    assert_close(ours(3.0, 1), em(VOTES, ACTIVATIONS, by))
    longer = em(VOTES, ACTIVATIONS, by._replace(temperatures=[0.3] * 2))
    assert all((ours(scale, 2) - longer).abs().max() > 0.001 for scale in (1.0, 3.0))


def test_the_betas_of_the_authors_code_are_ours_with_another_sign() -> None:
    act_bias, sigma_bias = some_votes(3) / 100, some_votes(3) + 0.5

    def logit(mass: Tensor, variance: Tensor, temperature: float) -> Tensor:
        per_child = variance.log().sum(-1) + sigma_bias * 4 * (math.log(2 * math.pi) + 1)
        return temperature / 4 * (-mass * per_child - 5000 * act_bias)

    router = EMRouting.of_profile("official", iterations=1).build(Fan(6, 3, 4)).double()
    router.load_state_dict({"activation_bias": -act_bias, "cost_bias": sigma_bias})
    routed = router(GivenVotes(ACTIVATIONS.t(), Neighbourhood(), VOTES))
    weights = ACTIVATIONS / ACTIVATIONS.sum(dim=1, keepdim=True)
    centre = 0.9 * torch.einsum("bi,biop->bop", weights, VOTES)
    spread = (VOTES - centre.unsqueeze(1)).square()
    variance = 5e-4 + torch.einsum("bi,biop->bop", weights, spread)
    mass = ACTIVATIONS.sum(dim=1, keepdim=True) / 3
    assert_close(routed.poses, centre)
    assert_close(routed.activations, logit(mass, variance, 5e-4).sigmoid())


def test_coordinates_of_the_paper_are_middles_of_places_in_the_right_hand_column() -> None:
    offsets = coordinate_offsets("paper", [Window(1)], (4, 5), (4, 4))
    assert offsets is not None
    expected = torch.zeros(4, 5, 16)
    for row in range(4):
        for column in range(5):
            expected[row, column, 3] = (row + 0.5) / 4
            expected[row, column, 7] = (column + 0.5) / 5
    assert_close(offsets, expected.flatten(0, 1))
