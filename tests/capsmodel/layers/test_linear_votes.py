"""Fully connected capsules route alike whether their votes are multiplied out or not."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import Routed
from capsmodel.layers import Capsules
from capsmodel.routing import (
    DynamicRouting,
    GivenVotes,
    LeakyRouting,
    LinearVotes,
    Neighbourhood,
    RandomRouting,
    Routing,
    UniformRouting,
)
from capsmodel.routing.agreement import LearnedLogits, NormalLogits
from capsmodel.squash import ExponentialSquash

ROUTINGS: dict[str, Routing] = {
    "uniform": UniformRouting(),
    "uniform with a bias": UniformRouting(bias=True),
    "random": RandomRouting(),
    "random with a bias": RandomRouting(low=0.1, high=3.0, bias=True),
    "three iterations": DynamicRouting(),
    "one iteration": DynamicRouting(iterations=1),
    "one iteration with a bias": DynamicRouting(iterations=1, bias=True),
    "one iteration of types": DynamicRouting(iterations=1, competition="types"),
    "one iteration of children": DynamicRouting(iterations=1, competition="children"),
    "one iteration, last": DynamicRouting(iterations=1, gradient="last"),
    "one iteration, other squash": DynamicRouting(iterations=1, squash=ExponentialSquash()),
    "one iteration from learned logits": DynamicRouting(
        iterations=1, initial_logits=LearnedLogits()
    ),
    "one iteration from drawn logits": DynamicRouting(iterations=1, initial_logits=NormalLogits()),
    "one leaky iteration": LeakyRouting(iterations=1),
}

BY_LOGITS = {  # which tell images apart, or are learned
    "three iterations",
    "one iteration from learned logits",
    "one iteration from drawn logits",
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def layer(routing: Routing) -> Capsules:
    capsules = Capsules(6, 3, 4, 5, routing=routing).double()
    capsules.initialise(seeded())
    return capsules


def some_poses() -> Tensor:
    return torch.randn(7, 6, 3, dtype=torch.float64, generator=seeded(1)).requires_grad_()


def gradients(routed: Routed, *of: Tensor) -> tuple[Tensor, ...]:
    weights = torch.randn(routed.poses.shape, dtype=torch.float64, generator=seeded(2))
    return torch.autograd.grad((routed.poses * weights).sum(), of)


@pytest.mark.parametrize("name", ROUTINGS)
def test_every_routing_says_of_linear_votes_what_it_says_of_all(name: str) -> None:
    capsules, poses = layer(ROUTINGS[name]), some_poses()
    actual = capsules(poses, seeded(3))
    votes_in_full = GivenVotes(poses.norm(dim=-1).t(), Neighbourhood(), capsules.votes(poses))
    expected = capsules.router(votes_in_full, seeded(3))
    assert_close(actual.poses, expected.poses)
    assert_close(actual.activations, expected.activations)
    assert actual.couplings is not None
    assert expected.couplings is not None
    assert_close(actual.couplings.values, expected.couplings.values)
    of = (poses, *capsules.parameters())
    assert_close(gradients(actual, *of), gradients(expected, *of))


@pytest.mark.parametrize("name", [name for name in ROUTINGS if name not in BY_LOGITS])
def test_shares_that_all_images_have_need_no_votes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LinearVotes, "values", property(lambda self: pytest.fail("multiplied")))
    layer(ROUTINGS[name])(some_poses(), seeded())


def test_the_sum_of_linear_votes_is_that_of_the_votes() -> None:
    votes = LinearVotes(
        torch.ones(6, 7, dtype=torch.float64),
        Neighbourhood(),
        some_poses(),
        torch.randn(6, 3, 4, 5, dtype=torch.float64, generator=seeded(4)),
    )
    literal = torch.einsum("sei,eiop->seop", votes.poses, votes.weight)
    assert_close(votes.values, literal)
    assert_close(votes.summed(), literal.sum(dim=1))
    shares = torch.rand(6, 4, dtype=torch.float64, generator=seeded(5))
    assert_close(votes.summed(shares), torch.einsum("seop,eo->sop", literal, shares))
    assert votes.to(torch.float32).summed().dtype == torch.float32
