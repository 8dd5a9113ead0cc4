"""Routing by agreement is the printed procedure, and its controls know nothing of the votes."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import squash
from capsmodel.routing import (
    DynamicRouting,
    Fan,
    GivenVotes,
    LeakyRouting,
    Neighbourhood,
    NormalLogits,
    RandomRouting,
    Routing,
    UniformRouting,
)
from tests.capsmodel.routing.routed import poses_of, routed_by, router_for, seeded, some_votes

GOLDEN = {
    1: [0.51507875, 0.77261813, 0.60982136, 0.76227669],
    2: [0.05317871, 0.08478133, 0.62084387, 0.77537362],
    3: [8e-8, 4.15e-6, 0.6209423, 0.77610091],
}
WHOLE = [DynamicRouting(), UniformRouting(), RandomRouting()]


def kind(routing: Routing) -> str:
    return routing.kind


def route_literally(votes: Tensor, iterations: int, *, leak: bool = False) -> Tensor:
    """Procedure 1 of Sabour, Frosst and Hinton 2017 as it is printed, one image after another."""
    results: list[Tensor] = []
    for votes_of_image in votes:
        logits = torch.zeros(votes.shape[1:3], dtype=votes.dtype)
        poses: list[Tensor] = []
        for _ in range(iterations):
            couplings = torch.stack([row.exp() / (row.exp().sum() + leak) for row in logits])
            poses = []
            for output in range(votes.shape[2]):
                total = (couplings[:, output, None] * votes_of_image[:, output]).sum(dim=0)
                squared = total.dot(total)
                poses.append(squared / (1 + squared) * total / squared.sqrt())
            agreement = [votes_of_image[:, j] @ poses[j] for j in range(votes.shape[2])]
            logits = logits + torch.stack(agreement, dim=1)
        results.append(torch.stack(poses))
    return torch.stack(results)


@pytest.mark.parametrize("iterations", [1, 2, 3])
def test_dynamic_routing_gives_the_hand_worked_values(iterations: int) -> None:
    votes = torch.arange(8, dtype=torch.float64).reshape(1, 2, 2, 2)
    poses = poses_of(DynamicRouting(iterations=iterations), votes)
    expected = torch.tensor(GOLDEN[iterations], dtype=torch.float64)
    assert_close(poses.flatten(), expected, atol=6e-9, rtol=0)


@pytest.mark.parametrize("leak", [False, True])
@pytest.mark.parametrize("iterations", [1, 2, 3, 5])
def test_it_equals_the_printed_procedure(iterations: int, leak: bool) -> None:
    routing = (LeakyRouting if leak else DynamicRouting)(iterations=iterations)
    votes = some_votes(3, 6, 4, 5)
    literal = route_literally(votes, iterations, leak=leak)
    assert_close(poses_of(routing, votes), literal, atol=1e-13, rtol=1e-12)


@pytest.mark.parametrize("leak", [False, True])
@pytest.mark.parametrize("iterations", [1, 2, 3, 5])
def test_gradients_flow_through_every_iteration(iterations: int, leak: bool) -> None:
    routing = (LeakyRouting if leak else DynamicRouting)(iterations=iterations)
    gradients: list[Tensor] = []
    for route in (
        lambda votes: poses_of(routing, votes),
        lambda votes: route_literally(votes, iterations, leak=leak),
    ):
        votes = some_votes(2, 6, 4, 5).requires_grad_()
        weights = some_votes(2, 4, 5)
        gradients += torch.autograd.grad((weights * route(votes)).sum(), votes)
    assert_close(gradients[0], gradients[1], atol=1e-13, rtol=1e-11)


@pytest.mark.parametrize("routing", WHOLE, ids=kind)
def test_each_input_is_shared_out_whole_over_the_outputs(routing: Routing) -> None:
    # Where an input votes the same for all outputs, the unsquashed poses add up to its vote only
    # if its couplings add up to 1 over the outputs; over the inputs they would not.
    vote = some_votes(2, 7, 1, 5)
    poses = poses_of(routing, vote.expand(-1, -1, 4, -1))
    length = poses.norm(dim=-1, keepdim=True)
    unsquashed = poses / length * (length / (1 - length)).sqrt()
    assert_close(unsquashed.sum(dim=1), vote.sum(dim=(1, 2)))


@pytest.mark.parametrize("routing", [*WHOLE, LeakyRouting()], ids=kind)
def test_the_poses_are_the_squashed_sums_by_the_couplings_that_are_told(routing: Routing) -> None:
    votes = some_votes(2, 7, 4, 5)
    routed = routed_by(router_for(routing, votes), votes)
    assert routed.couplings is not None
    sums = torch.einsum("ibo,biop->bop", routed.couplings.values, votes)
    assert_close(routed.poses, squash(sums))
    assert_close(routed.activations, routed.poses.norm(dim=-1))


@pytest.mark.parametrize("routing", [*WHOLE, LeakyRouting()], ids=kind)
def test_a_child_of_a_convolution_is_shared_among_all_that_see_it(routing: Routing) -> None:
    neighbourhood = Neighbourhood(height=4, width=5, kernel_size=3)
    votes = some_votes(2 * neighbourhood.num_places, 2 * 9, 3, 4)
    routed = routed_by(router_for(routing, votes, neighbourhood), votes, neighbourhood)
    assert routed.couplings is not None
    total = neighbourhood.sum_over_parents(routed.couplings.values.sum(dim=2))
    if routing.kind == "leaky":
        assert bool((total < 1 - 1e-3).all())
    else:
        assert_close(total, torch.ones_like(total))
    sums = torch.einsum("eso,seop->sop", routed.couplings.values, votes)
    assert_close(routed.poses, squash(sums))


def test_the_leak_of_a_convolution_is_one_more_parent_of_a_child() -> None:
    neighbourhood = Neighbourhood(height=2, width=3, kernel_size=2)  # two places, which share two
    votes = some_votes(2, 4, 3, 5)
    router = router_for(LeakyRouting(iterations=1), votes, neighbourhood)
    couplings = routed_by(router, votes, neighbourhood).couplings
    assert couplings is not None
    # edges are rows of a 2 by 2 window: what both see is right in the first, left in the second
    assert_close(couplings.values[0, 0], torch.full((3,), 1 / 4, dtype=torch.float64))
    assert_close(couplings.values[1, 0], torch.full((3,), 1 / 7, dtype=torch.float64))
    assert_close(couplings.values[0, 1], torch.full((3,), 1 / 7, dtype=torch.float64))


def test_a_window_that_sees_all_is_a_fully_connected_layer() -> None:
    neighbourhood = Neighbourhood(height=3, width=3, kernel_size=3)
    votes = some_votes(2, 9, 3, 4)
    of_window = routed_by(router_for(DynamicRouting(), votes, neighbourhood), votes, neighbourhood)
    assert torch.equal(of_window.poses, poses_of(DynamicRouting(), votes))


@pytest.mark.parametrize("routing", [*WHOLE, LeakyRouting()], ids=kind)
def test_an_orthogonal_map_of_pose_space_maps_the_poses(routing: Routing) -> None:
    votes = some_votes(2, 7, 4, 5)
    rotation = torch.linalg.qr(some_votes(5, 5)).Q
    assert_close(poses_of(routing, votes @ rotation), poses_of(routing, votes) @ rotation)


@pytest.mark.parametrize("bias", [False, True])
def test_uniform_equals_one_dynamic_iteration_to_the_last_bit(bias: bool) -> None:
    results: list[Tensor] = []
    for routing in (UniformRouting(bias=bias), DynamicRouting(iterations=1, bias=bias)):
        votes = some_votes(2, 7, 4, 5).float().requires_grad_()
        poses = poses_of(routing, votes)
        results += [poses.detach(), *torch.autograd.grad(poses.square().sum(), votes)]
    assert torch.equal(results[0], results[2])
    assert torch.equal(results[1], results[3])


def test_random_routing_may_have_a_bias() -> None:
    votes = some_votes(2, 7, 4, 5)
    router = router_for(RandomRouting(bias=True), votes)
    routed = routed_by(router, votes)
    assert routed.couplings is not None
    sums = torch.einsum("ibo,biop->bop", routed.couplings.values, votes)
    assert_close(routed.poses, squash(sums + router.state_dict()["bias"]))


def test_random_routing_draws_anew_from_a_generator_that_goes_on() -> None:
    generator, votes = seeded(), some_votes(1, 7, 4, 5)
    votes_in_full = GivenVotes(votes.new_ones(7, 1), Neighbourhood(), votes)
    router = router_for(RandomRouting(), votes)
    first = router(votes_in_full, generator).poses
    assert not torch.equal(first, router(votes_in_full, generator).poses)


def test_random_couplings_are_shared_by_the_images_of_a_batch() -> None:
    poses = poses_of(RandomRouting(), some_votes(1, 7, 4, 5).expand(3, -1, -1, -1))
    assert torch.equal(poses[0], poses[1])
    assert torch.equal(poses[0], poses[2])


def test_random_couplings_lie_between_the_ratios_of_their_bounds() -> None:
    # One-dimensional votes of one input: the unsquashed pose is the coupling itself.
    votes = torch.ones(1, 1, 50, 1, dtype=torch.float64)
    length = poses_of(RandomRouting(low=0.8, high=1.2), votes).abs().flatten()
    couplings = (length / (1 - length)).sqrt()
    assert 0.8 / 1.2 / 50 < couplings.min() < couplings.max() < 1.2 / 0.8 / 50
    assert couplings.max() / couplings.min() > 1.3


@pytest.mark.parametrize(
    "routing", [RandomRouting(), DynamicRouting(initial_logits=NormalLogits())], ids=kind
)
def test_without_a_generator_pytorchs_own_is_drawn_from(routing: Routing) -> None:
    votes_in_full = GivenVotes(torch.ones(2, 1), Neighbourhood(), torch.rand(1, 2, 2, 2))
    router = routing.build(Fan(2, 2, 2))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        routed = router(votes_in_full)
    expected = router(votes_in_full, torch.Generator().manual_seed(5))
    assert torch.equal(routed.poses, expected.poses)


def test_random_bounds_must_be_in_order() -> None:
    with pytest.raises(ValueError, match=r"low must be below high, got low 2\.0 and high"):
        RandomRouting(low=2.0)


@pytest.mark.parametrize("iterations", [0, 101])
def test_iterations_stay_in_their_range(iterations: int) -> None:
    with pytest.raises(ValueError, match="iterations must be an integer from 1 to 100, got"):
        DynamicRouting(iterations=iterations)
