"""Routing by agreement: votes flow to the outputs that already agree with them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.all_rounds import RoutedRounds, rounds_at_once
from capsmodel.functional.differentiation import is_plain
from capsmodel.functional.neighbourhood import ONE_PLACE, Neighbourhood
from capsmodel.functional.poses import lengths, squash
from capsmodel.functional.refusals import (
    refuse_other_choice,
    refuse_other_rounds,
    refuse_other_shape,
)
from capsmodel.functional.routed import Couplings, Routed, output_first, share_out
from capsmodel.functional.sharing import ShareCompetition, Shares, agreement_with, shared_out

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
    inverse_temperature: Callable[[int], float] | None = None,
    gradient: Rounds = "all",
    competition: ShareCompetition = "parents",
    neighbourhood: Neighbourhood = ONE_PLACE,
) -> Routed:
    """Return the poses on which the votes agree, their lengths, and the last shares.

    Every round shares each input among the outputs by a softmax, adds up the shared votes, and
    raises the share of outputs whose pose points the way the vote does.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, procedure 1.
    Difference: the last update of the logits is left out, as nothing reads it. Logits are at all
    times the initial ones plus the products of the votes with the sum of all earlier poses: that
    sum is kept in their place.

    Args:
        votes: The pose of each output that each input predicts.
        iterations: Rounds of sharing. One round shares every vote by the initial logits.
        bias: Added to each sum of votes, in every round; None adds nothing.
        logits: Where the logits start, the same for all images; None for zero.
        squash: What makes beliefs of lengths, by default n^2 / (1 + n^2).
        inverse_temperature: What the logits of an iteration, counted from 0, are multiplied by;
            None for 1.
        gradient: Whether gradients flow through "all" rounds, or through the "last" alone, which
            takes the shares as given.
        competition: What shares add up to 1 over, see `Shares`.
        neighbourhood: Which votes are of one child; by default each is of another one.

    Under autocast it is computed in the votes' own type.

    Raises:
        ValueError: If there is no round, a shape does not fit, or an option is none.
    """
    rounds = _Rounds(
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
    inverse_temperature: Callable[[int], float] | None = None,
    gradient: Rounds = "all",
    competition: ShareCompetition = "parents",
    neighbourhood: Neighbourhood = ONE_PLACE,
) -> Routed:
    """Return what `dynamic_routing` does, where a share of each input leaks away.

    One more output, whose logit stays at zero, takes part in each softmax and is then dropped: what
    agrees with nothing need not be explained. In a convolutional layer an input has one leak.

    Source: the released code of Sabour, Frosst and Hinton 2017, arXiv:1710.09829.
    Difference: none with a bias.

    Args:
        votes: The pose of each output that each input predicts.
        iterations: Rounds of sharing.
        bias: As of `dynamic_routing`, and so are the others.
        logits: Where the logits start.
        squash: What makes beliefs of lengths.
        inverse_temperature: What the logits of an iteration are multiplied by.
        gradient: Whether gradients flow through "all" rounds, or the "last" alone.
        competition: "parents" or "types": children do not compete where they may leak away.
        neighbourhood: Which votes are of one child.

    Raises:
        ValueError: If there is no round, a shape does not fit, an option is none, or the
            competition is "children".
    """
    if competition == "children":
        raise ValueError(
            "competition must be 'parents' or 'types' in leaky routing, got 'children': the leak "
            "is one more parent."
        )
    rounds = _Rounds(
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


def _routed(votes: Tensor, rounds: "_Rounds") -> Routed:
    refuse_other_rounds(votes, rounds.iterations)
    rounds.refuse_what_does_not_fit(votes)
    device = votes.device.type
    if not torch.amp.is_autocast_available(device) or not torch.is_autocast_enabled(device):
        return rounds.routed(votes)
    with torch.autocast(device, enabled=False):
        return rounds.routed(votes)


@dataclass(frozen=True, kw_only=True)
class _Rounds:
    """The rounds of routing by agreement, on votes for each output; see `dynamic_routing`."""

    iterations: int
    has_leak: bool
    bias: Tensor | None
    logits: Tensor | None
    squash: Callable[[Tensor], Tensor]
    inverse_temperature: Callable[[int], float] | None
    gradient: Rounds
    competition: ShareCompetition
    neighbourhood: Neighbourhood

    @property
    def shares(self) -> Shares:
        """What makes shares of logits."""
        return Shares(self.neighbourhood, self.has_leak, self.competition)

    def refuse_what_does_not_fit(self, votes: Tensor) -> None:
        """Refuse options that are none, or not of the votes' sizes."""
        _, in_caps, out_caps, pose = votes.shape
        refuse_other_choice("gradient", self.gradient, _GRADIENTS)
        refuse_other_choice("competition", self.competition, _COMPETITIONS)
        if self.bias is not None:
            refuse_other_shape("bias", self.bias, out_caps=out_caps, pose=pose)
        if self.logits is not None:
            refuse_other_shape("logits", self.logits, in_caps=in_caps, out_caps=out_caps)

    def routed(self, votes: Tensor) -> Routed:
        """Return the capsules after the last round."""
        grouped = output_first(votes)
        logits = None if self.logits is None else self.logits.to(grouped).t().unsqueeze(0)
        if self._has_known_gradient(grouped):
            bias = None if self.bias is None else self.bias.to(grouped)
            rounds = rounds_at_once(grouped, bias, self.shares, self._plain)
            poses, couplings = rounds.poses, rounds.couplings[-1]
        elif self.gradient == "all" or self.iterations == 1:
            rounds, _ = self._first(grouped, logits, self.iterations)
            poses, couplings = rounds.poses, rounds.couplings[-1]
        else:
            poses, couplings = self._last(grouped, logits)
        shares = couplings.detach().expand(grouped.shape[:3]).permute(2, 0, 1)
        return Routed(poses, lengths(poses), Couplings(shares, self.neighbourhood))

    def _has_known_gradient(self, votes: Tensor) -> bool:
        """Return whether the rounds are those whose gradient is written by hand."""
        later = range(1, self.iterations)
        is_usual = self.logits is None and self.squash is squash
        is_usual = is_usual and all(self._inverse_temperature(one) == 1 for one in later)
        is_wide = votes.dtype in (torch.float32, torch.float64)
        has_more = self.iterations > 1 and self.gradient == "all"
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
        """Return what some rounds come to, and the sum of the poses of all of them."""
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
            own = None if logits is None else self._tempered(logits, iteration)
            sharp = self._tempered(agreed[-1], iteration)
            shared, coupling = shared_out(votes, sharp, own, shares)
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
        return logits if inverse_temperature == 1 else inverse_temperature * logits

    def _inverse_temperature(self, iteration: int) -> float:
        return 1.0 if self.inverse_temperature is None else self.inverse_temperature(iteration)
