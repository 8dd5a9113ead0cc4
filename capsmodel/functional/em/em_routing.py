"""EM routing: each parent is a Gaussian of the votes that it explains best."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.em.competition import Competition, equal_assignment, share_out_children
from capsmodel.functional.em.statistics import Question, Statistics, plain_statistics
from capsmodel.functional.em.tiled import tiled_statistics
from capsmodel.functional.neighbourhood import ONE_PLACE
from capsmodel.functional.refusals import (
    refuse_other_choice,
    refuse_other_rounds,
    refuse_other_shape,
)
from capsmodel.functional.routed import Couplings, Routed
from capsmodel.functional.votes import GivenVotes, ProductVotes, Votes

_COMPETITIONS: tuple[str, ...] = get_args(Competition)


def rising_inverse_temperature(iteration: int, final: float = 0.01, decay: float = 0.95) -> float:
    """Return final * (1 - decay^(iteration + 1)), iterations counted from 0.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", the authors' answers
    in the open review.
    Difference: none.
    """
    return final * (1 - decay ** (iteration + 1))


def em_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    activations: Float[Tensor, "batch in_caps"],
    iterations: int = 3,
    *,
    activation_bias: float | Tensor = 0.0,
    cost_bias: float | Tensor = 0.0,
    inverse_temperature: Callable[[int], float] = rising_inverse_temperature,
    variance_floor: float = 1e-4,
    centre_momentum: float = 1.0,
    log_variance_weight: float = 0.5,
    mass_scale: float = 1.0,
    competition: Competition = "parents",
    gradient: Literal["all", "last"] = "all",
) -> Routed:
    """Return the Gaussians that explain the votes best, and how surely each is there.

    The logit of a parent's activation is

        lambda * (beta_a - mass * sum over the pose of (beta_u + weight * log variance)).

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", procedure 1.
    Difference: a small floor under the variance, without which a parent with one child is not a
    number; a parent whose mass is next to the smallest number has a centre of zero.

    Args:
        votes: The pose of each parent that each child predicts.
        activations: How surely each child is there, in [0, 1].
        iterations: Rounds. One round shares every child equally.
        activation_bias: Beta_a, what being there is worth: a number, or one a type of parent.
        cost_bias: Beta_u, what describing a child costs: likewise.
        inverse_temperature: Lambda of an iteration, counted from 0.
        variance_floor: Added to each variance. With 0, a parent with one child is not a number.
        centre_momentum: How much of a new centre is taken; the rest is that of the round before,
            zero at first. The variance is around that mixture.
        log_variance_weight: Of the logarithm of the variance in the cost.
        mass_scale: What the mass in the cost is multiplied by.
        competition: Who competes for a child: all its "parents"; in each type the "places" that
            see it; or at each place on its own the "types".
        gradient: Whether "all" rounds pass gradients on, or the "last" alone.

    Raises:
        ValueError: If there is no round, a shape does not fit, or an option is none.
    """
    refuse_other_rounds(votes, iterations)
    batch, in_caps, out_caps, _ = votes.shape
    refuse_other_shape("activations", activations, batch=None, in_caps=in_caps)
    if activations.shape[0] != batch:
        raise ValueError(f"activations must be of {batch} images, got {activations.shape[0]}.")
    for name, bias in {"activation_bias": activation_bias, "cost_bias": cost_bias}.items():
        if isinstance(bias, Tensor) and bias.ndim:
            refuse_other_shape(name, bias, out_caps=out_caps)
    rounds = EMRounds(
        out_caps=out_caps,
        iterations=iterations,
        activation_bias=activation_bias,
        cost_bias=cost_bias,
        inverse_temperature=inverse_temperature,
        variance_floor=variance_floor,
        centre_momentum=centre_momentum,
        log_variance_weight=log_variance_weight,
        mass_scale=mass_scale,
        competition=competition,
        gradient=gradient,
    )
    return route_by_em(GivenVotes(activations.t(), ONE_PLACE, votes), rounds)


def route_by_em(votes: Votes, rounds: "EMRounds") -> Routed:
    """Return the parents that the votes of a layer come to, at all its places.

    In half precision and under autocast the rounds are computed in single: masses and variances
    span more than half precision holds. What comes out is of the votes' type.
    """
    dtype, device = votes.activations.dtype, votes.activations.device.type
    is_half = dtype in {torch.bfloat16, torch.float16}
    has_autocast = torch.amp.is_autocast_available(device)
    if not is_half and not (has_autocast and torch.is_autocast_enabled(device)):
        return rounds.routed(votes)
    with torch.autocast(device, enabled=False) if has_autocast else nullcontext():
        routed = rounds.routed(votes.to(torch.float32 if is_half else dtype))
    return routed._replace(poses=routed.poses.to(dtype), activations=routed.activations.to(dtype))


@dataclass(frozen=True, kw_only=True)
class EMRounds:
    """The rounds of EM; see `em_routing`."""

    out_caps: int
    iterations: int
    activation_bias: float | Tensor
    cost_bias: float | Tensor
    inverse_temperature: Callable[[int], float]
    variance_floor: float
    centre_momentum: float
    log_variance_weight: float
    mass_scale: float
    competition: Competition
    gradient: Literal["all", "last"]

    def __post_init__(self) -> None:
        """Refuse options that are none."""
        refuse_other_choice("gradient", self.gradient, ("all", "last"))
        refuse_other_choice("competition", self.competition, _COMPETITIONS)
        if not 0 < self.centre_momentum <= 1:
            raise ValueError(
                f"centre_momentum must be above 0 and at most 1, got {self.centre_momentum}."
            )
        if self.variance_floor < 0:
            raise ValueError(f"variance_floor must be 0 or more, got {self.variance_floor}.")

    def routed(self, votes: Votes) -> Routed:
        """Return centres and activations after the last round."""
        assignment = equal_assignment(votes, self.out_caps, self.competition)
        centre: Tensor | None = None
        for iteration in range(self.iterations - 1):
            with torch.set_grad_enabled(torch.is_grad_enabled() and self.gradient == "all"):
                statistics = self._statistics(votes, assignment, centre, with_distances=True)
                assignment, centre = self._shared(votes, statistics, iteration), statistics.centre
            if self.gradient == "last":  # forward mode looks past the mode of gradients
                assignment, centre = assignment.detach(), centre.detach()
        statistics = self._statistics(votes, assignment, centre, with_distances=False)
        activations = torch.sigmoid(self._logits(statistics, self.iterations - 1))
        shares = assignment.detach().expand(-1, -1, self.out_caps)
        couplings = Couplings(shares, votes.neighbourhood)
        return Routed(statistics.centre.transpose(1, 2), activations, couplings)

    def _statistics(
        self, votes: Votes, assignment: Tensor, previous: Tensor | None, *, with_distances: bool
    ) -> Statistics:
        """Return the M-step's centres and variances."""
        momentum, floor = self.centre_momentum, self.variance_floor
        question = Question(assignment, previous, momentum, floor, with_distances)
        if isinstance(votes, ProductVotes):
            return tiled_statistics(votes, question)
        return plain_statistics(votes, question)

    def _logits(self, statistics: Statistics, iteration: int) -> Float[Tensor, "sites out_caps"]:
        """Return the logits of the parents' activations."""
        logarithms, pose = statistics.variance.log(), statistics.variance.shape[1]
        per_child = logarithms.sum(dim=1) * self.log_variance_weight
        per_child = per_child + pose * _as(per_child, self.cost_bias)
        cost = self.mass_scale * statistics.mass * per_child
        return self.inverse_temperature(iteration) * (_as(cost, self.activation_bias) - cost)

    def _shared(
        self, votes: Votes, statistics: Statistics, iteration: int
    ) -> Float[Tensor, "edges sites out_caps"]:
        """Return the E-step's assignment of the children."""
        heights = -0.5 * statistics.variance.log().sum(dim=1)
        scores = F.logsigmoid(self._logits(statistics, iteration)) + heights
        competition, around = self.competition, votes.neighbourhood
        if competition == "places" and around.num_places == 1:
            competition = "parents"
        assert statistics.distances is not None
        return share_out_children(scores, statistics.distances, around, competition)


def _as(like: Tensor, bias: float | Tensor) -> float | Tensor:
    return bias.to(like) if isinstance(bias, Tensor) else bias
