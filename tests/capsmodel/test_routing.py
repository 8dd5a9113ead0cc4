import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.testing import assert_close

from capsmodel.routing import ROUTINGS, DynamicRouting, RandomRouting, UniformRouting, VectorRouting

VECTOR_ROUTINGS = [part() for part in ROUTINGS if issubclass(part, VectorRouting)]
GOLDEN = {
    1: [0.51507875, 0.77261813, 0.60982136, 0.76227669],
    2: [0.05317871, 0.08478133, 0.62084387, 0.77537362],
    3: [8e-8, 4.15e-6, 0.6209423, 0.77610091],
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some_votes(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=seeded())


def route_literally(votes: Tensor, iterations: int) -> Tensor:
    """Procedure 1 of Sabour, Frosst and Hinton 2017 as it is printed, one image after another."""
    results: list[Tensor] = []
    for votes_of_image in votes:
        logits = torch.zeros(votes.shape[1:3], dtype=votes.dtype)
        poses: list[Tensor] = []
        for _ in range(iterations):
            couplings = torch.stack([row.exp() / row.exp().sum() for row in logits])
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
    poses = DynamicRouting(iterations=iterations).route(votes, generator=None)
    expected = torch.tensor(GOLDEN[iterations], dtype=torch.float64)
    assert_close(poses.flatten(), expected, atol=6e-9, rtol=0)


@pytest.mark.parametrize("iterations", [1, 2, 3, 5])
def test_dynamic_routing_equals_the_printed_procedure(iterations: int) -> None:
    votes = some_votes(3, 6, 4, 5)
    fast = DynamicRouting(iterations=iterations).route(votes, generator=None)
    assert_close(fast, route_literally(votes, iterations), atol=1e-13, rtol=1e-12)


@pytest.mark.parametrize("iterations", [1, 2, 3, 5])
def test_gradients_flow_through_every_iteration(iterations: int) -> None:
    gradients: list[Tensor] = []
    for route in (
        lambda votes: DynamicRouting(iterations=iterations).route(votes, generator=None),
        lambda votes: route_literally(votes, iterations),
    ):
        votes = some_votes(2, 6, 4, 5).requires_grad_()
        weights = some_votes(2, 4, 5)
        gradients += torch.autograd.grad((weights * route(votes)).sum(), votes)
    assert_close(gradients[0], gradients[1], atol=1e-13, rtol=1e-11)


@pytest.mark.parametrize("routing", VECTOR_ROUTINGS, ids=lambda part: part.kind)
def test_each_input_is_shared_out_whole_over_the_outputs(routing: VectorRouting) -> None:
    # Where an input votes the same for all outputs, the unsquashed poses add up to its vote only
    # if its couplings add up to 1 over the outputs; over the inputs they would not.
    vote = some_votes(2, 7, 1, 5)
    poses = routing.route(vote.expand(-1, -1, 4, -1), generator=seeded())
    length = poses.norm(dim=-1, keepdim=True)
    unsquashed = poses / length * (length / (1 - length)).sqrt()
    assert_close(unsquashed.sum(dim=1), vote.sum(dim=(1, 2)))


@pytest.mark.parametrize("routing", VECTOR_ROUTINGS, ids=lambda part: part.kind)
def test_an_orthogonal_map_of_pose_space_maps_the_poses(routing: VectorRouting) -> None:
    votes = some_votes(2, 7, 4, 5)
    rotation = torch.linalg.qr(some_votes(5, 5)).Q
    mapped = routing.route(votes @ rotation, generator=seeded())
    assert_close(mapped, routing.route(votes, generator=seeded()) @ rotation)


def test_uniform_equals_one_dynamic_iteration_to_the_last_bit() -> None:
    results: list[Tensor] = []
    for routing in (UniformRouting(), DynamicRouting(iterations=1)):
        votes = some_votes(2, 7, 4, 5).float().requires_grad_()
        poses = routing.route(votes, generator=None)
        results += [poses.detach(), *torch.autograd.grad(poses.square().sum(), votes)]
    assert torch.equal(results[0], results[2])
    assert torch.equal(results[1], results[3])


def test_random_routing_draws_anew_from_a_generator_that_goes_on() -> None:
    generator, votes = seeded(), some_votes(1, 7, 4, 5)
    first = RandomRouting().route(votes, generator=generator)
    assert not torch.equal(first, RandomRouting().route(votes, generator=generator))


def test_random_couplings_are_shared_by_the_images_of_a_batch() -> None:
    votes = some_votes(1, 7, 4, 5).expand(3, -1, -1, -1)
    poses = RandomRouting().route(votes, generator=seeded())
    assert torch.equal(poses[0], poses[1])
    assert torch.equal(poses[0], poses[2])


def test_random_couplings_lie_between_the_ratios_of_their_bounds() -> None:
    # One-dimensional votes of one input: the unsquashed pose is the coupling itself.
    votes = torch.ones(1, 1, 50, 1, dtype=torch.float64)
    length = RandomRouting(low=0.8, high=1.2).route(votes, generator=seeded()).abs().flatten()
    couplings = (length / (1 - length)).sqrt()
    assert 0.8 / 1.2 / 50 < couplings.min() < couplings.max() < 1.2 / 0.8 / 50
    assert couplings.max() / couplings.min() > 1.3


def test_random_routing_needs_a_generator() -> None:
    with pytest.raises(ValueError, match="hand it a generator"):
        RandomRouting().route(some_votes(1, 2, 2, 2), generator=None)


def test_random_bounds_must_be_in_order() -> None:
    with pytest.raises(ValidationError, match=r"low must be below high, got low 2\.0 and high"):
        RandomRouting(low=2.0)


@pytest.mark.parametrize("iterations", [0, 101])
def test_iterations_stay_in_their_range(iterations: int) -> None:
    with pytest.raises(ValidationError):
        DynamicRouting(iterations=iterations)
