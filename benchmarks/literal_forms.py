"""Capsules as the papers' formulas are written down: what the fast forms are timed against."""

import torch
from torch import Tensor, nn

from capsmodel.functional.differentiation import plain_autograd
from capsmodel.layers import Capsules
from capsmodel.routing import GivenVotes, Routed, Router, Votes


class LiteralCapsules(nn.Module):
    """Class capsules by einsum, softmax and automatic differentiation, three rounds."""

    def __init__(self, in_caps: int, in_dim: int, out_caps: int, out_dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(0.1 * torch.randn(in_caps, out_caps, out_dim, in_dim))

    def initialise(self, generator: torch.Generator | None) -> None:
        """Leave the weights as they are."""

    def forward(self, poses: Tensor, generator: torch.Generator | None = None) -> Routed:
        """Return the capsules after three rounds."""
        del generator
        votes = torch.einsum("iodk,bik->biod", self.weight, poses)
        logits = votes.new_zeros(votes.shape[:3])
        squashed = votes.new_zeros(votes.shape[0], *votes.shape[2:])
        for iteration in range(3):
            sums = (logits.softmax(dim=2).unsqueeze(-1) * votes).sum(dim=1)
            squared = sums.square().sum(dim=-1, keepdim=True)
            squashed = squared / (1 + squared) * sums / (squared + 1e-9).sqrt()
            if iteration < 2:
                logits = logits + (votes * squashed.unsqueeze(1)).sum(dim=-1)
        return Routed(squashed, squashed.norm(dim=-1))


class HeldInFull(Router):
    """A routing whose votes are multiplied out first and differentiated automatically."""

    def __init__(self, router: Router) -> None:
        super().__init__()
        self.router = router

    def initialise(self, generator: torch.Generator | None) -> None:
        self.router.initialise(generator)

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        given = GivenVotes(votes.activations, votes.neighbourhood, votes.values)
        with plain_autograd():
            return self.router(given, generator)


def make_literal(network: nn.Module) -> None:
    """Put literal forms in the place of a network's capsules and routings."""
    for child in network.children():
        if isinstance(router := getattr(child, "router", None), Router):
            child.router = HeldInFull(router)
    if isinstance(capsules := getattr(network, "capsules", None), Capsules):
        in_caps, in_dim, _ = capsules.weight.shape
        network.capsules = LiteralCapsules(in_caps, in_dim, *capsules.out_shape)
