"""Votes of a fully connected layer, routed."""

import torch
from torch import Tensor

from capsmodel.routing import Fan, GivenVotes, Neighbourhood, Routed, Router, Routing


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some_votes(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=seeded())


def router_for(
    routing: Routing, votes: Tensor, neighbourhood: Neighbourhood | None = None
) -> Router:
    router = routing.build(Fan(*votes.shape[1:], neighbourhood or Neighbourhood()))
    router.initialise(seeded(1))
    return router.to(votes.dtype)


def routed_by(router: Router, votes: Tensor, neighbourhood: Neighbourhood | None = None) -> Routed:
    activations = votes.new_ones(votes.shape[1], votes.shape[0])
    votes_in_full = GivenVotes(activations, neighbourhood or Neighbourhood(), votes)
    return router(votes_in_full, seeded())


def poses_of(routing: Routing, votes: Tensor) -> Tensor:
    return routed_by(router_for(routing, votes), votes).poses
