"""Routing by agreement: votes flow to the outputs that already agree with them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.agreement_rounds import (
    RoutedRounds,
    needs_tiles,
    rounds_at_once,
    rounds_in_tiles,
)
from capsmodel.functional.checks import check_choice, check_shape, check_votes
from capsmodel.functional.differentiation import is_plain, stops_at_last_round
from capsmodel.functional.neighbourhood import ONE_PLACE, Neighbourhood
from capsmodel.functional.poses import lengths, squash
from capsmodel.functional.precision import in_own_type, is_cast
from capsmodel.functional.sharing import ShareCompetition, Shares, agreement_with, shared_out
from capsmodel.functional.votes import (
    Couplings,
    LinearVotes,
    Routed,
    Votes,
    output_first,
    share_out,
)

Rounds = Literal["all", "last"]
_GRADIENTS: tuple[str, ...] = get_args(Rounds)
_COMPETITIONS: tuple[str, ...] = get_args(ShareCompetition)


def dynamic_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    iterations: int = 3,
    *,
    bias: Float[Tensor, "out_caps pose"] | None = None,
    logits: Float[Tensor, "in_caps out_caps"] | None = None,
    squash: Callable[[Tensor], Tensor] = squash,
    inverse_temperature: Callable[[int], float | Tensor] | None = None,
    gradient: Rounds = "all",
    competition: ShareCompetition = "parents",
    neighbourhood: Neighbourhood = ONE_PLACE,
) -> Routed:
    """Return the poses on which the votes agree, their lengths, and the last shares.

    Every round shares each input among the outputs by a softmax, adds up the shared votes, and
    raises the share of outputs whose pose points the way the vote does.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, procedure 1.
    Difference: the last update of the logits is left out, as nothing reads it. The logits always
    equal the initial ones plus the products of the votes with the sum of all earlier poses, so only
    that sum is stored.

    Args:
        votes: The pose of each output that each input predicts.
        iterations: Rounds of sharing. One round shares every vote by the initial logits.
        bias: Added to each sum of votes, in every round; None adds nothing.
        logits: Where the logits start, the same for all images; None for zero.
        squash: Turns lengths into beliefs, by default n^2 / (1 + n^2).
        inverse_temperature: Multiplier of the logits by iteration, counted from 0; None for
            1. It may be a tensor, which is then differentiated too.
        gradient: Whether gradients flow through "all" rounds, or through the "last" alone, which
            takes the shares as given.
        competition: The group over which shares add up to 1, see `Shares`.
        neighbourhood: Which votes belong to one child; by default each belongs to its own.

    Under autocast it is computed in the votes' own type.

    Raises:
        ValueError: If there are no rounds, a shape does not fit, or an option is unknown.

    Example:
        >>> import torch
        >>> votes = torch.rand(2, 6, 3, 8)  # 2 images, 6 children, 3 parents, poses of 8 numbers
        >>> routed = dynamic_routing(votes, iterations=2)
        >>> routed.poses.shape, routed.activations.shape
        (torch.Size([2, 3, 8]), torch.Size([2, 3]))
    """
    rounds = AgreementRounds(
        iterations=iterations,
        has_leak=False,
        bias=bias,
        logits=logits,
        squash=squash,
        inverse_temperature=inverse_temperature,
        gradient=gradient,
        competition=competition,
        neighbourhood=neighbourhood,
    )
    return _routed(votes, rounds)


def leaky_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    iterations: int = 3,
    *,
    bias: Float[Tensor, "out_caps pose"] | None = None,
    logits: Float[Tensor, "in_caps out_caps"] | None = None,
    squash: Callable[[Tensor], Tensor] = squash,
    inverse_temperature: Callable[[int], float | Tensor] | None = None,
    gradient: Rounds = "all",
    competition: ShareCompetition = "parents",
    neighbourhood: Neighbourhood = ONE_PLACE,
) -> Routed:
    """Route as `dynamic_routing` does, where a share of each input leaks away.

    One more output, whose logit stays at zero, takes part in each softmax and is then dropped: an
    input that agrees with nothing need not be explained. In a convolutional layer an input has one
    leak.

    Source: the released code of Sabour, Frosst and Hinton 2017, arXiv:1710.09829.
    Difference: none with a bias.

    Args:
        votes: The pose of each output that each input predicts.
        iterations: Rounds of sharing.
        bias: As in `dynamic_routing`, like all other arguments.
        logits: Where the logits start.
        squash: Turns lengths into beliefs.
        inverse_temperature: Multiplier of an iteration's logits.
        gradient: Whether gradients flow through "all" rounds, or the "last" alone.
        competition: "parents" or "types": children do not compete where they may leak away.
        neighbourhood: Which votes belong to one child.

    Raises:
        ValueError: If there are no rounds, a shape does not fit, an option is unknown, or the
            competition is "children".

    Example:
        >>> import torch
        >>> votes = torch.zeros(1, 6, 3, 8)
        >>> leaky_routing(votes).couplings.values[0, 0]  # a fourth leaks
        tensor([0.2500, 0.2500, 0.2500])
    """
    rounds = AgreementRounds(
        iterations=iterations,
        has_leak=True,
        bias=bias,
        logits=logits,
        squash=squash,
        inverse_temperature=inverse_temperature,
        gradient=gradient,
        competition=competition,
        neighbourhood=neighbourhood,
    )
    return _routed(votes, rounds)


def _routed(votes: Tensor, rounds: "AgreementRounds") -> Routed:
    check_votes(votes, rounds.iterations)
    rounds.check_options(*votes.shape[1:])
    with in_own_type(votes.device.type):
        return rounds.routed(votes)


def route_by_agreement(votes: Votes, rounds: "AgreementRounds") -> Routed:
    """Return the parents that the votes of a layer form, at all its places."""
    is_linear = isinstance(votes, LinearVotes)
    if not is_linear or is_cast(votes.poses.device.type) or not rounds.go_in_tiles(votes):
        return _routed(votes.values, rounds)
    edges, _, out_caps, pose = votes.weight.shape
    rounds.check_options(edges, out_caps, pose)
    return rounds.routed_in_tiles(votes)


@dataclass(frozen=True, kw_only=True)
class AgreementRounds:
    """The rounds of routing by agreement, on votes for each output; see `dynamic_routing`."""

    iterations: int
    has_leak: bool
    bias: Tensor | None
    logits: Tensor | None
    squash: Callable[[Tensor], Tensor]
    inverse_temperature: Callable[[int], float | Tensor] | None
    gradient: Rounds
    competition: ShareCompetition
    neighbourhood: Neighbourhood

    @property
    def shares(self) -> Shares:
        """How logits become shares."""
        return Shares(self.neighbourhood, self.has_leak, self.competition)

    def check_options(self, in_caps: int, out_caps: int, pose: int) -> None:
        """Check that the options are valid and fit the sizes of the votes."""
        check_choice("gradient", self.gradient, _GRADIENTS)
        check_choice("competition", self.competition, _COMPETITIONS)
        if self.has_leak and self.competition == "children":
            raise ValueError(
                "competition must be 'parents' or 'types' in leaky routing, got 'children': the "
                "leak is one more parent."
            )
        if self.bias is not None:
            check_shape("bias", self.bias, out_caps=out_caps, pose=pose)
        if self.logits is not None:
            check_shape("logits", self.logits, in_caps=in_caps, out_caps=out_caps)

    def routed(self, votes: Tensor) -> Routed:
        """Return the capsules after the last round."""
        grouped = output_first(votes)
        logits = None if self.logits is None else self.logits.to(grouped).t().unsqueeze(0)
        if self._has_known_gradient(grouped.dtype):
            bias = None if self.bias is None else self.bias.to(grouped)
            rounds = rounds_at_once(grouped, bias, self.shares, self._plain)
            poses, couplings = rounds.poses, rounds.couplings[-1]
        elif self.iterations == 1 or not stops_at_last_round(self.gradient):
            rounds, _ = self._first(grouped, logits, self.iterations)
            poses, couplings = rounds.poses, rounds.couplings[-1]
        else:
            poses, couplings = self._last(grouped, logits)
        return self._capsules(poses, couplings.expand(grouped.shape[:3]))

    def go_in_tiles(self, votes: LinearVotes) -> bool:
        """Return whether the votes are to be multiplied out a few sites at a time."""
        # in this order: an export must not ask how many images there are
        return self._has_known_gradient(votes.poses.dtype) and needs_tiles(votes)

    def routed_in_tiles(self, votes: LinearVotes) -> Routed:
        """Route as `routed` does, with votes that are not multiplied out."""
        bias = None if self.bias is None else self.bias.to(votes.poses)
        rounds = rounds_in_tiles(votes, bias, self.shares, self._plain)
        return self._capsules(rounds.poses, rounds.couplings[-1])

    def _capsules(self, poses: Tensor, couplings: Float[Tensor, "sites out_caps edges"]) -> Routed:
        shares = couplings.detach().permute(2, 0, 1)
        return Routed(poses, lengths(poses), Couplings(shares, self.neighbourhood))

    def _has_known_gradient(self, dtype: torch.dtype) -> bool:
        """Return whether the rounds are those whose gradient is written by hand."""
        later = range(1, self.iterations)
        is_usual = self.logits is None and self.squash is squash
        is_usual = is_usual and all(
            _is_one(self._inverse_temperature(iteration)) for iteration in later
        )
        is_wide = dtype in (torch.float32, torch.float64)
        has_more = self.iterations > 1 and not stops_at_last_round(self.gradient)
        return is_usual and is_wide and has_more and not is_plain()

    def _plain(self, votes: Tensor, bias: Tensor | None) -> RoutedRounds:
        rounds, _ = replace(self, bias=bias)._first(votes, None, self.iterations)
        return rounds

    def _last(
        self, votes: Float[Tensor, "sites out_caps edges pose"], logits: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return poses and shares of the last round, with gradients through its sum alone.

        Learned logits have theirs through the last shares, where else could they come from.
        """
        iterations = self.iterations
        with torch.no_grad():
            _, agreed = self._first(votes, logits, iterations - 1)
            agreement = agreement_with(votes, self._tempered(agreed, iterations - 1))
        agreement = agreement.detach()  # forward mode looks past no_grad
        if logits is not None:
            agreement = agreement + self._tempered(logits, iterations - 1)
        couplings = self.shares.of(agreement)
        return self.squash(self._biased(share_out(votes, couplings))), couplings

    def _first(
        self, votes: Tensor, logits: Tensor | None, iterations: int
    ) -> tuple[RoutedRounds, Tensor]:
        """Return the results of some rounds, and the sum of all their poses."""
        shares = self.shares
        if logits is None:
            shared, coupling = shares.share_equally(votes), shares.equal(votes)
        else:
            nothing = votes.new_zeros(votes.shape[0], votes.shape[1], votes.shape[3])
            shared, coupling = shared_out(votes, nothing, self._tempered(logits, 0), shares)
        sums, couplings = [self._biased(shared)], [coupling]
        poses = self.squash(sums[-1])
        agreed = [poses]
        for iteration in range(1, iterations):
            initial_logits = None if logits is None else self._tempered(logits, iteration)
            sharp = self._tempered(agreed[-1], iteration)
            shared, coupling = shared_out(votes, sharp, initial_logits, shares)
            sums.append(self._biased(shared))
            couplings.append(coupling)
            poses = self.squash(sums[-1])
            agreed.append(agreed[-1] + poses)
        *before, last = agreed
        return RoutedRounds(poses, tuple(sums), tuple(couplings), tuple(before)), last

    def _biased(self, sums: Tensor) -> Tensor:
        return sums if self.bias is None else sums + self.bias.to(sums)

    def _tempered(self, logits: Tensor, iteration: int) -> Tensor:
        inverse_temperature = self._inverse_temperature(iteration)
        return logits if _is_one(inverse_temperature) else inverse_temperature * logits

    def _inverse_temperature(self, iteration: int) -> float | Tensor:
        return 1.0 if self.inverse_temperature is None else self.inverse_temperature(iteration)


def _is_one(multiplier: float | Tensor) -> bool:
    """Return whether a multiplier changes nothing; a tensor may need its gradient."""
    return not isinstance(multiplier, Tensor) and multiplier == 1
