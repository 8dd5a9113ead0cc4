"""Variational-Bayes routing: parents are Gaussians of which nothing is known for certain."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.checks import check_shape, check_votes
from capsmodel.functional.moments import Moments, MomentsOfVotes
from capsmodel.functional.neighbourhood import ONE_PLACE, Neighbourhood
from capsmodel.functional.precision import in_single
from capsmodel.functional.sharing import Shares
from capsmodel.functional.votes import Couplings, Routed, output_first


def variational_bayes_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    activations: Float[Tensor, "batch in_caps"],
    iterations: int = 3,
    *,
    activation_bias: float | Tensor = 0.0,
    cost_bias: float | Tensor = 0.0,
    concentration: float = 1.0,
    mean_precision: float = 1.0,
    neighbourhood: Neighbourhood = ONE_PLACE,
) -> Routed:
    """Return the means of the Gaussians that explain the votes, and the activation of each.

    The parents at a place are a mixture of Gaussians with diagonal precisions, under a Dirichlet
    prior of their weights and a Gaussian-Wishart prior of means and precisions, with pose + 1
    degrees of freedom and the identity as scale. Each round updates the posterior, and shares each
    child among all its parents, at all places that see it, by their expected log-densities. The
    logit of an activation is

        activation_bias - (exp(expected log-weight) * expected entropy + cost_bias).

    It is computed with logarithms, and the mean without a division by the mass, so that densities
    that underflow and parents without children stay finite. Time grows with the rounds times the
    number of votes; gradients flow through all rounds. In half precision and under autocast it is
    computed in single precision, with the votes' type.

    Source: Ribeiro, Leontidis and Kollias 2020, arXiv:1905.11455, with diagonal precisions, and the
    released code.
    Difference: the code normalises densities with a floor of 1e-11 and divides by the mass. It
    normalises logits and means over the batch, which is not done here.

    Args:
        votes: The pose of each parent that each child predicts.
        activations: The belief that each child is present, in [0, 1].
        iterations: Rounds. One round shares every child equally among the types at each place.
        activation_bias: A number, or one a type of parent.
        cost_bias: Likewise.
        concentration: Of the Dirichlet prior: how many children each parent has before any comes.
        mean_precision: How many children the prior's mean of zero counts for.
        neighbourhood: Which votes belong to one child; by default each belongs to its own.

    Raises:
        ValueError: If there are no rounds, a shape does not fit, or a prior is not above 0.

    Example:
        >>> import torch
        >>> votes = torch.rand(2, 6, 3, 8)  # 2 images, 6 children, 3 parents, poses of 8 numbers
        >>> variational_bayes_routing(votes, torch.ones(2, 6)).activations.shape
        torch.Size([2, 3])
    """
    check_votes(votes, iterations)
    batch, in_caps, out_caps, _ = votes.shape
    check_shape("activations", activations, batch=batch, in_caps=in_caps)
    for name, bias in {"activation_bias": activation_bias, "cost_bias": cost_bias}.items():
        if isinstance(bias, Tensor) and bias.ndim:
            check_shape(name, bias, out_caps=out_caps)
    for name, value in {"concentration": concentration, "mean_precision": mean_precision}.items():
        if value <= 0:
            raise ValueError(f"{name} must be above 0, got {value}.")
    prior = _Prior(concentration, mean_precision)
    competing = Shares(neighbourhood)

    def route(votes: Tensor) -> Routed:
        grouped, present = output_first(votes), activations.to(votes).unsqueeze(1)
        of_votes = MomentsOfVotes(grouped, 2 * iterations - 1)
        shares = present.new_full((1, 1, 1), 1 / out_caps).expand(grouped.shape[:3])
        posterior = prior.updated(of_votes, present * shares)
        for _ in range(iterations - 1):
            shares = competing.of(posterior.log_densities(of_votes))
            posterior = prior.updated(of_votes, present * shares)
        worth, price = _as(votes, activation_bias), _as(votes, cost_bias)
        logits = worth - (posterior.log_weight.exp() * posterior.entropy + price)
        couplings = Couplings(shares.detach().permute(2, 0, 1), neighbourhood)
        return Routed(posterior.moments.centre, logits.sigmoid(), couplings)

    return in_single(route, votes)


def _as(like: Tensor, bias: float | Tensor) -> float | Tensor:
    return bias.to(like) if isinstance(bias, Tensor) else bias


class _Posterior(NamedTuple):
    """What is known of the parents at each site.

    Attributes:
        moments: Of the votes; the centre is the expected mean of each Gaussian.
        scale: Of the diagonal of the inverse of the Wishart distribution's scale.
        mean_precision: How many children the mean counts for.
        freedom: Degrees of freedom of the Wishart distribution.
        log_weight: Expected logarithm of the weight in the mixture.
    """

    moments: Moments
    scale: Float[Tensor, "sites out_caps pose"]
    mean_precision: Float[Tensor, "sites out_caps"]
    freedom: Float[Tensor, "sites out_caps"]
    log_weight: Float[Tensor, "sites out_caps"]

    @property
    def log_precision(self) -> Float[Tensor, "sites out_caps"]:
        """Expected logarithm of the determinant of the precision."""
        pose = self.scale.shape[2]
        numbers = torch.arange(pose, device=self.scale.device)
        halves = (self.freedom.unsqueeze(2) - numbers) / 2
        return halves.digamma().sum(dim=2) + pose * math.log(2) - self.scale.log().sum(dim=2)

    @property
    def entropy(self) -> Float[Tensor, "sites out_caps"]:
        """Expected entropy of each Gaussian."""
        pose = self.scale.shape[2]
        return 0.5 * (pose * math.log(2 * math.pi * math.e) - self.log_precision)

    def log_densities(self, votes: MomentsOfVotes) -> Float[Tensor, "sites out_caps edges"]:
        """Expected log-density of each vote, times the weight, up to one number for all of them."""
        pose = self.scale.shape[2]
        heights = self.log_weight + 0.5 * (self.log_precision - pose / self.mean_precision)
        distances = votes.distances(self.moments, self.freedom.unsqueeze(2) / self.scale)
        return heights.unsqueeze(2) - 0.5 * distances


class _Prior(NamedTuple):
    """What is known of the parents before any votes; see `variational_bayes_routing`."""

    concentration: float
    mean_precision: float

    def updated(
        self, votes: MomentsOfVotes, shares: Float[Tensor, "sites out_caps edges"]
    ) -> _Posterior:
        """Return the posterior after the children are assigned to the parents.

        With the posterior's mean m, the scatter about the votes' own mean and the term of the
        distance of the two add up to the scatter about m and the prior's precision times m^2.
        """
        mass = shares.sum(dim=2)
        mean_precision = self.mean_precision + mass
        moments = votes.moments(shares, mean_precision.unsqueeze(2))
        mean = moments.centre
        scale = 1 + moments.scatter + self.mean_precision * mean.square()
        counts = self.concentration + mass
        log_weight = counts.digamma() - counts.sum(dim=1, keepdim=True).digamma()
        freedom = mean.shape[2] + 1 + mass
        return _Posterior(moments, scale, mean_precision, freedom, log_weight)
