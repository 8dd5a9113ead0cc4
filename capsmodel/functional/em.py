"""EM routing: each parent is a Gaussian of the votes that it explains best."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.checks import check_choice, check_shape, check_votes
from capsmodel.functional.differentiation import (
    WrittenByHand,
    has_storage,
    is_plain,
    stops_at_last_round,
)
from capsmodel.functional.em_statistics import (
    Question,
    Statistics,
    plain_statistics,
    tiled_statistics,
)
from capsmodel.functional.neighbourhood import ONE_PLACE, Neighbourhood
from capsmodel.functional.precision import HALVES
from capsmodel.functional.votes import Couplings, GivenVotes, ProductVotes, Routed, Votes

Competition = Literal["parents", "places", "types"]
_COMPETITIONS: tuple[str, ...] = get_args(Competition)


def rising_inverse_temperature(iteration: int, final: float = 0.01, decay: float = 0.95) -> float:
    """Return final * (1 - decay^(iteration + 1)), iterations counted from 0.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", the authors' answers
    in the open review.
    Difference: none.

    Example:
        >>> [round(rising_inverse_temperature(i), 6) for i in range(3)]
        [0.0005, 0.000975, 0.001426]
    """
    return final * (1 - decay ** (iteration + 1))


def em_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    activations: Float[Tensor, "batch in_caps"],
    iterations: int = 3,
    *,
    activation_bias: float | Tensor = 0.0,
    cost_bias: float | Tensor = 0.0,
    inverse_temperature: Callable[[int], float | Tensor] = rising_inverse_temperature,
    variance_floor: float = 1e-4,
    centre_momentum: float = 1.0,
    log_variance_weight: float = 0.5,
    mass_scale: float = 1.0,
    competition: Competition = "parents",
    gradient: Literal["all", "last"] = "all",
    neighbourhood: Neighbourhood = ONE_PLACE,
) -> Routed:
    """Return the Gaussians that explain the votes best, and the activation of each.

    The logit of a parent's activation is

        lambda * (beta_a - mass * sum over the pose of (beta_u + weight * log variance)).

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", procedure 1.
    Difference: a small floor under the variance, without which a parent with one child is not a
    number; a parent whose mass is next to the smallest number has a centre of zero.

    Args:
        votes: The pose of each parent that each child predicts.
        activations: The belief that each child is present, in [0, 1].
        iterations: Rounds. One round shares every child equally.
        activation_bias: Beta_a, the worth of being present: a number, or one a type of parent.
        cost_bias: Beta_u, what describing a child costs: likewise.
        inverse_temperature: Lambda of an iteration, counted from 0.
        variance_floor: Added to each variance. With 0, a parent with one child is not a number.
        centre_momentum: Weight of a new centre; the rest is the centre of the round before, zero at
            first. The variance is around that mixture.
        log_variance_weight: Weight of the logarithm of the variance in the cost.
        mass_scale: Multiplier of the mass in the cost.
        competition: Who competes for a child: all its "parents"; in each type the "places" that
            see it; or at each place on its own the "types".
        gradient: Whether "all" rounds pass gradients on, or the "last" alone.
        neighbourhood: Which votes belong to one child; by default each belongs to its own.

    The result has the votes' type.

    Raises:
        ValueError: If there are no rounds, a shape does not fit, or an option is unknown.

    Example:
        >>> import torch
        >>> votes = torch.rand(2, 6, 3, 16)  # 2 images, 6 children, 3 parents, matrices of 4 by 4
        >>> routed = em_routing(votes, activations=torch.ones(2, 6), iterations=2)
        >>> routed.poses.shape, routed.activations.shape
        (torch.Size([2, 3, 16]), torch.Size([2, 3]))
    """
    check_votes(votes, iterations)
    batch, in_caps, out_caps, _ = votes.shape
    check_shape("activations", activations, batch=None, in_caps=in_caps)
    if activations.shape[0] != batch:
        raise ValueError(f"activations must be of {batch} images, got {activations.shape[0]}.")
    for name, bias in {"activation_bias": activation_bias, "cost_bias": cost_bias}.items():
        if isinstance(bias, Tensor) and bias.ndim:
            check_shape(name, bias, out_caps=out_caps)
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
    common = torch.promote_types(activations.dtype, votes.dtype)
    votes_in_full = GivenVotes(activations.t(), neighbourhood, votes).to(common)
    return _of_type(votes.dtype, route_by_em(votes_in_full, rounds))


def route_by_em(votes: Votes, rounds: "EMRounds") -> Routed:
    """Return the parents that the votes of a layer form, at all its places.

    In half precision and under autocast the rounds are computed in single precision: masses and
    variances span more than half precision holds. The result has the votes' type.
    """
    dtype, device = votes.activations.dtype, votes.activations.device.type
    is_half = dtype in HALVES
    has_autocast = torch.amp.is_autocast_available(device)
    if not is_half and not (has_autocast and torch.is_autocast_enabled(device)):
        return rounds.routed(votes)
    with torch.autocast(device, enabled=False) if has_autocast else nullcontext():
        routed = rounds.routed(votes.to(torch.float32 if is_half else dtype))
    return _of_type(dtype, routed)


def _of_type(dtype: torch.dtype, routed: Routed) -> Routed:
    return routed._replace(poses=routed.poses.to(dtype), activations=routed.activations.to(dtype))


@dataclass(frozen=True, kw_only=True)
class EMRounds:
    """The rounds of EM; see `em_routing`."""

    out_caps: int
    iterations: int
    activation_bias: float | Tensor
    cost_bias: float | Tensor
    inverse_temperature: Callable[[int], float | Tensor]
    variance_floor: float
    centre_momentum: float
    log_variance_weight: float
    mass_scale: float
    competition: Competition
    gradient: Literal["all", "last"]

    def __post_init__(self) -> None:
        """Check the options."""
        check_choice("gradient", self.gradient, ("all", "last"))
        check_choice("competition", self.competition, _COMPETITIONS)
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
        stops = stops_at_last_round(self.gradient)
        for iteration in range(self.iterations - 1):
            with torch.set_grad_enabled(torch.is_grad_enabled() and not stops):
                statistics = self._statistics(votes, assignment, centre, with_distances=True)
                assignment = self._shared(votes, statistics, iteration)
                centre = None if self.centre_momentum == 1 else statistics.centre
            if stops:  # forward mode looks past the mode of gradients
                assignment = assignment.detach()
                centre = None if centre is None else centre.detach()
        statistics = self._statistics(votes, assignment, centre, with_distances=False)
        activations = torch.sigmoid(self._logits(statistics, self.iterations - 1))
        shares = assignment.detach().expand(-1, -1, self.out_caps)
        couplings = Couplings(shares, votes.neighbourhood)
        return Routed(statistics.centre.transpose(1, 2), activations, couplings)

    def routed_as_shared(
        self, votes: Votes, shares: Float[Tensor, "edges sites out_caps"]
    ) -> Routed:
        """Return centres and activations of the last M-step where its shares are given."""
        statistics = self._statistics(votes, shares, None, with_distances=False)
        activations = torch.sigmoid(self._logits(statistics, self.iterations - 1))
        couplings = Couplings(shares.detach(), votes.neighbourhood)
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


def equal_assignment(
    votes: Votes, out_caps: int, competition: Competition
) -> Float[Tensor, "edges sites 1"]:
    """Return equal shares of each child for its parents.

    Where all its parents compete, the shares add up to 1 over all places that see it; elsewhere
    they add up to 1 at each place, as in the released code of Hinton, Sabour and Frosst 2018.
    """
    shares = torch.full_like(votes.activations, 1 / out_caps)
    if competition == "parents":
        seen = votes.neighbourhood.sum_over_parents(torch.ones_like(shares))
        shares = shares / seen
    return shares.unsqueeze(-1)


def share_out_children(
    scores: Float[Tensor, "sites out_caps"],
    distances: Float[Tensor, "edges sites out_caps"],
    neighbourhood: Neighbourhood,
    competition: Competition,
) -> Float[Tensor, "edges sites out_caps"]:
    """Return the share of each child that goes to each parent.

    Args:
        scores: Logarithm of each parent's activation times the height of its density.
        distances: Twice how much lower the logarithm of its density is at each vote.
        neighbourhood: Which edges belong to one child.
        competition: Who competes: all parents of a child; its parents of one type at different
            places; or its parents of different types at one place.
    """
    if is_plain():
        logits = scores - 0.5 * distances
        return (logits - _logsumexp(logits, neighbourhood, competition)).exp()
    return cast(Tensor, _ParentSoftmax.apply(scores, distances, neighbourhood, competition))


class _ParentSoftmax(WrittenByHand):
    """A softmax over a child's parents; of all that is as large, only the shares are kept.

    The gradient reads them as an output, and so can be differentiated once more.
    """

    @staticmethod
    def forward(
        scores: Tensor, distances: Tensor, neighbourhood: Neighbourhood, competition: Competition
    ) -> Tensor:
        logits = torch.sub(scores, distances, alpha=0.5)
        return logits.sub_(_logsumexp(logits, neighbourhood, competition)).exp_()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(output)
        ctx.among = inputs[2:]

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, Tensor, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (shares,) = cast(tuple[Tensor], ctx.saved_tensors)
        of_logits = shares * gradients[0]
        mean = _sum(of_logits, *ctx.among)
        if torch.is_grad_enabled() or not has_storage(
            gradients[0]
        ):  # this gradient may be differentiated, or mapped, in its turn
            of_logits = of_logits - shares * mean
        else:
            of_logits.addcmul_(shares, mean, value=-1)
        return of_logits.sum(dim=0), of_logits.mul_(-0.5), None, None


def _logsumexp(logits: Tensor, neighbourhood: Neighbourhood, competition: Competition) -> Tensor:
    if competition == "places":
        return _by_type(neighbourhood.logsumexp_over_parents(_type_in_edge(logits)), logits)
    over_types = logits.logsumexp(dim=2)
    if competition == "parents":
        over_types = neighbourhood.logsumexp_over_parents(over_types)
    return over_types.unsqueeze(-1)


def _sum(values: Tensor, neighbourhood: Neighbourhood, competition: Competition) -> Tensor:
    if competition == "places":
        return _by_type(neighbourhood.sum_over_parents(_type_in_edge(values)), values)
    over_types = values.sum(dim=2)
    if competition == "parents":
        over_types = neighbourhood.sum_over_parents(over_types)
    return over_types.unsqueeze(-1)


def _type_in_edge(values: Tensor) -> Tensor:
    """Return [edges * out_caps, sites]: as if each type of parent had children of its own."""
    edges, sites, out_caps = values.shape
    return values.transpose(1, 2).reshape(edges * out_caps, sites)


def _by_type(values: Tensor, like: Tensor) -> Tensor:
    edges, sites, out_caps = like.shape
    return values.reshape(edges, out_caps, sites).transpose(1, 2)
