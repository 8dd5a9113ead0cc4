"""Variational-Bayes routing is that of Ribeiro and others, and stays finite."""

import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from capsmodel.functional import Neighbourhood, variational_bayes_routing
from tests.capsmodel.routing.published_votes import (
    ACTIVATIONS,
    CASES,
    VOTES,
    assert_alike,
    assert_golden,
)
from tests.capsmodel.routing.routed import some_votes


class Known(NamedTuple):
    """What is known of one parent: mean, inverse scale, and expected logarithms."""

    mean: Tensor
    scale: Tensor
    precision: Tensor
    freedom: Tensor
    log_precision: Tensor


def known_of(votes: Tensor, shares: Tensor) -> Known:
    """Return the posterior of a parent that gets shares of the votes [edges, pose]."""
    pose = votes.shape[1]
    mass = shares.sum()
    own_mean = torch.stack([share * vote for share, vote in zip(shares, votes, strict=True)]).sum(0)
    own_mean = own_mean / mass
    precision, freedom = 1 + mass, pose + 1 + mass
    scatter = torch.stack(
        [share * (vote - own_mean) ** 2 for share, vote in zip(shares, votes, strict=True)]
    ).sum(0)
    scale = 1 + scatter + mass / precision * own_mean**2
    digammas = torch.stack([torch.digamma((freedom - d) / 2) for d in range(pose)]).sum()
    log_precision = digammas + pose * math.log(2) - scale.log().sum()
    return Known(mass * own_mean / precision, scale, precision, freedom, log_precision)


def log_weights(masses: Tensor) -> Tensor:
    return torch.digamma(1 + masses) - torch.digamma((1 + masses).sum())


def log_density(vote: Tensor, known: Known) -> Tensor:
    distance = known.freedom * ((vote - known.mean) ** 2 / known.scale).sum()
    height = known.log_precision - len(vote) * math.log(2 * math.pi)
    return 0.5 * (height - len(vote) / known.precision - distance)


def all_known(votes: Tensor, shares: Tensor) -> tuple[list[list[Known]], list[Tensor]]:
    """Return the posterior of each parent at each site, and the logarithms of the weights."""
    sites, _, out_caps, _ = votes.shape
    known = [
        [known_of(votes[s, :, j], shares[s, :, j]) for j in range(out_caps)] for s in range(sites)
    ]
    return known, [log_weights(shares[s].sum(dim=0)) for s in range(sites)]


def route_literally(
    votes: Tensor, activations: Tensor, around: Neighbourhood, iterations: int
) -> tuple[Tensor, Tensor]:
    """Route site after site; return means and logits of [sites out_caps]."""
    sites, edges, out_caps, pose = votes.shape
    shares = votes.new_full((sites, edges, out_caps), 1 / out_caps)
    known, weights = all_known(votes, shares * activations.unsqueeze(2))
    for _ in range(iterations - 1):
        logarithms = [
            weights[s][j] + log_density(votes[s, i, j], known[s][j])
            for s in range(sites)
            for i in range(edges)
            for j in range(out_caps)
        ]
        densities = torch.stack(logarithms).exp().reshape(sites, edges, out_caps)
        total = around.sum_over_parents(densities.sum(dim=2).t()).t()
        shares = densities / total.unsqueeze(2)
        known, weights = all_known(votes, shares * activations.unsqueeze(2))
    entropy = 0.5 * pose * math.log(2 * math.pi * math.e)
    logits = [
        0.3 - (weights[s][j].exp() * (entropy - 0.5 * known[s][j].log_precision) + 0.7)
        for s in range(sites)
        for j in range(out_caps)
    ]
    means = torch.stack([gaussian.mean for row in known for gaussian in row])
    return means.reshape(sites, out_caps, pose), torch.stack(logits).reshape(sites, out_caps)


@pytest.mark.parametrize("iterations", [1, 2, 3])
@pytest.mark.parametrize("shape", CASES)
def test_it_equals_the_printed_formulae_and_so_do_its_gradients(
    shape: tuple[int, ...], iterations: int
) -> None:
    assert_same_in(Neighbourhood(), some_votes(*shape), iterations)


def test_in_a_convolution_all_places_that_see_a_child_compete_for_it() -> None:
    assert_same_in(Neighbourhood(2, 3, kernel_size=2), some_votes(4, 4, 2, 3), 3)


def assert_same_in(around: Neighbourhood, votes: Tensor, iterations: int) -> None:
    def ours(votes: Tensor, activations: Tensor) -> tuple[Tensor, Tensor]:
        routed = variational_bayes_routing(
            votes,
            activations,
            iterations,
            activation_bias=0.3,
            cost_bias=torch.full((votes.shape[2],), 0.7, dtype=torch.float64),
            neighbourhood=around,
        )
        return routed.poses, routed.activations

    def literal(votes: Tensor, activations: Tensor) -> tuple[Tensor, Tensor]:
        means, logits = route_literally(votes, activations, around, iterations)
        return means, logits.sigmoid()

    assert_alike(ours, literal, votes, some_votes(*votes.shape[:2]).sigmoid())


def test_it_has_the_values_of_the_released_code() -> None:
    routed = variational_bayes_routing(VOTES, ACTIVATIONS, 3)
    first = (-0.10145812, -0.32893449, -0.25399001, 0.05447171)
    second = (-0.15842484, 0.12114222, 0.28933168, 0.19151093)
    assert_golden(routed.poses, *first, *second)
    assert_golden(routed.activations.logit(), -1.91034476, -1.34650103)
    assert routed.couplings is not None
    shares = (0.8017031, 0.1982969, 0.07924054, 0.92075946, 0.95914042, 0.04085958)
    assert_golden(routed.couplings.values, *shares)


def test_without_children_a_parent_is_what_the_prior_says() -> None:
    votes = some_votes(2, 6, 3, 4).requires_grad_()
    present = torch.zeros(2, 6, dtype=torch.float64, requires_grad=True)
    routed = variational_bayes_routing(votes, present)
    assert bool((routed.poses == 0).all())
    total = routed.poses.sum() + routed.activations.sum()
    for gradient in torch.autograd.grad(total, (votes, present)):
        assert bool(gradient.isfinite().all())


def test_where_all_densities_underflow_a_child_is_still_shared_out_whole() -> None:
    votes = 1e4 * some_votes(2, 6, 3, 4)
    present = torch.full((2, 6), 1e-3, dtype=torch.float64)
    couplings = variational_bayes_routing(votes, present).couplings
    assert couplings is not None
    assert_close(couplings.values.sum(dim=2), torch.ones(6, 2).double())


def test_opposite_votes_give_opposite_means_and_equal_activations() -> None:
    votes, present = some_votes(2, 6, 3, 4), some_votes(2, 6).sigmoid()
    routed, opposite = (variational_bayes_routing(v, present) for v in (votes, -votes))
    assert_close(opposite.poses, -routed.poses)
    assert_close(opposite.activations, routed.activations)


def test_a_strong_prior_draws_means_to_zero() -> None:
    votes, present = some_votes(2, 6, 3, 4), some_votes(2, 6).sigmoid()
    weak, strong = (
        variational_bayes_routing(votes, present, 1, mean_precision=precision)
        for precision in (1.0, 1e3)
    )
    assert bool((strong.poses.norm(dim=-1) < 0.02 * weak.poses.norm(dim=-1)).all())
