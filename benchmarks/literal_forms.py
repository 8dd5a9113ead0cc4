"""Capsules as the papers' formulas are written down: what the fast forms are timed against."""

import math

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
        votes_in_full = GivenVotes(votes.activations, votes.neighbourhood, votes.values)
        with plain_autograd():
            return self.router(votes_in_full, generator)


def make_literal(network: nn.Module) -> None:
    """Put literal forms in the place of a network's capsules and routings."""
    for child in network.children():
        if isinstance(router := getattr(child, "router", None), Router):
            child.router = HeldInFull(router)
    if isinstance(capsules := getattr(network, "capsules", None), Capsules):
        in_caps, in_dim, _ = capsules.weight.shape
        network.capsules = LiteralCapsules(in_caps, in_dim, *capsules.out_shape)


def self_attention(votes: Tensor, activations: Tensor, logits: Tensor) -> Tensor:
    """Return poses by one step of self-attention, as Mazzia, Salvetti and Chiaberge 2021."""
    del activations, logits
    alike = torch.einsum("bijp,bkjp->bikj", votes, votes) / votes.shape[3] ** 0.5
    shares = alike.sum(dim=2).softmax(dim=2)
    sums = (shares.unsqueeze(3) * votes).sum(dim=1)
    length = sums.norm(dim=2, keepdim=True) + 1e-20
    return (1 - (-length).exp()) * sums / length


def inverted_attention(votes: Tensor, activations: Tensor, logits: Tensor) -> Tensor:
    """Return poses by two passes of inverted dot-product attention, as Tsai and others 2020."""
    del activations, logits
    size = votes.shape[3:]
    poses = nn.functional.layer_norm(votes.sum(dim=1) / votes.shape[2], size)
    shares = (torch.einsum("bijp,bjp->bij", votes, poses) / size[0] ** 0.5).softmax(dim=2)
    return nn.functional.layer_norm(torch.einsum("bij,bijp->bjp", shares, votes), size)


def self_routing(votes: Tensor, activations: Tensor, logits: Tensor) -> Tensor:
    """Return poses by self-routing, as Hahn, Pyeon and Kim 2019."""
    routed = activations.unsqueeze(2) * logits.softmax(dim=2)
    beliefs = routed.sum(dim=1) / activations.sum(dim=1, keepdim=True)
    shares = routed / routed.sum(dim=1, keepdim=True)
    return (shares.unsqueeze(3) * votes).sum(dim=1) * beliefs.unsqueeze(2)


def heinsen(votes: Tensor, activations: Tensor, logits: Tensor) -> Tensor:
    """Return centres times beliefs by three rounds, as Heinsen 2019; using is worth 1."""
    del logits
    shares = torch.full_like(votes[..., 0], 1 / votes.shape[2])
    centres, variances, scores = _gaussians(votes, activations, shares)
    for _ in range(2):
        distances = (votes - centres.unsqueeze(1)) ** 2 / (2 * variances.unsqueeze(1))
        heights = nn.functional.logsigmoid(scores) - 0.5 * variances.log().sum(dim=2)
        shares = (heights.unsqueeze(1) - distances.sum(dim=3)).softmax(dim=2)
        centres, variances, scores = _gaussians(votes, activations, shares)
    return centres * scores.sigmoid().unsqueeze(2)


def _gaussians(votes: Tensor, activations: Tensor, shares: Tensor) -> tuple[Tensor, ...]:
    used = activations.unsqueeze(2) * shares
    mass = used.sum(dim=1).unsqueeze(2) + 1e-5
    centres = (used.unsqueeze(3) * votes).sum(dim=1) / mass
    squares = (votes - centres.unsqueeze(1)) ** 2
    return centres, (used.unsqueeze(3) * squares).sum(dim=1) / mass + 1e-5, used.sum(dim=1)


def variational_bayes(votes: Tensor, activations: Tensor, logits: Tensor) -> Tensor:
    """Return means times beliefs by three rounds, as Ribeiro, Leontidis and Kollias 2020."""
    del logits
    pose = votes.shape[3]
    shares = torch.full_like(votes[..., 0], 1 / votes.shape[2])
    means, scale, mass, log_weights, log_precision = _posterior(votes, activations, shares)
    for _ in range(2):
        squares = (votes - means.unsqueeze(1)) ** 2 / scale.unsqueeze(1)
        distances = (pose + 1 + mass).unsqueeze(1) * squares.sum(dim=3)
        heights = log_weights + 0.5 * (log_precision - pose / (1 + mass))
        shares = (heights.unsqueeze(1) - 0.5 * distances).softmax(dim=2)  # densities underflow
        means, scale, mass, log_weights, log_precision = _posterior(votes, activations, shares)
    entropy = 0.5 * (pose * math.log(2 * math.pi * math.e) - log_precision)
    return means * (-log_weights.exp() * entropy).sigmoid().unsqueeze(2)


def _posterior(votes: Tensor, activations: Tensor, shares: Tensor) -> tuple[Tensor, ...]:
    pose = votes.shape[3]
    routed = (activations.unsqueeze(2) * shares).unsqueeze(3)
    mass = routed.sum(dim=1)
    centres = (routed * votes).sum(dim=1) / mass
    scatter = (routed * (votes - centres.unsqueeze(1)) ** 2).sum(dim=1)
    scale = 1 + scatter + mass / (1 + mass) * centres**2
    digammas = ((pose + 1 + mass - torch.arange(pose)) / 2).digamma().sum(dim=2)
    counts = (1 + mass).squeeze(2)
    log_weights = counts.digamma() - counts.sum(dim=1, keepdim=True).digamma()
    log_precision = digammas + pose * math.log(2) - scale.log().sum(dim=2)
    return mass * centres / (1 + mass), scale, mass.squeeze(2), log_weights, log_precision
