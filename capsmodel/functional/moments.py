"""Weighted means of votes, and distances from them, with a gradient that stays in factors."""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.differentiation import WrittenByHand, has_storage, is_plain
from capsmodel.functional.sharing import agreement_with
from capsmodel.functional.votes import share_out


class Moments(NamedTuple):
    """Centre and scatter of the votes for each parent.

    Attributes:
        centre: Weighted sum of the votes, divided by a number.
        scatter: Weighted sum of the squared distances of the votes from the centre.
        squares: These distances, which only `MomentsOfVotes.distances` reads.
    """

    centre: Float[Tensor, "sites out_caps pose"]
    scatter: Float[Tensor, "sites out_caps pose"]
    squares: Float[Tensor, "sites out_caps edges pose"]


class MomentsOfVotes:
    """Votes of which weighted means and distances are computed in several rounds.

    The gradient of the votes by each moment or distance is, number by number, an outer product of
    a row over `edges` with a row over `pose`, times the vote, plus another such product. These rows
    are handed to one function as the gradient of a *slot*, which then makes the gradient of all
    rounds by two matrix products. Automatic differentiation would write five tensors as large as
    the votes for each round.

    Args:
        votes: For each output, contiguous.
        uses: How many moments and distances will be computed at most.
    """

    def __init__(self, votes: Float[Tensor, "sites out_caps edges pose"], uses: int) -> None:
        self.votes = votes
        self._is_plain = is_plain() or not torch.is_grad_enabled()
        has_slots = uses > 0 and not self._is_plain
        slots = cast(tuple[Tensor, ...], _Slots.apply(votes, uses)) if has_slots else ()
        self._slots: Iterator[Tensor] = iter(slots)

    def moments(
        self,
        weights: Float[Tensor, "sites out_caps edges"],
        divisor: Float[Tensor, "sites out_caps one"] | None = None,
    ) -> Moments:
        """Return the moments of the votes; without a divisor the centre is their weighted sum."""
        if self._is_plain:
            return Moments(*_moments(self.votes, weights, divisor))
        moments = _Moments.apply(self.votes, next(self._slots), weights, divisor)
        return Moments(*cast(tuple[Tensor, Tensor, Tensor], moments))

    def distances(
        self, moments: Moments, precision: Float[Tensor, "sites out_caps pose"]
    ) -> Float[Tensor, "sites out_caps edges"]:
        """Return each vote's squared distance from the centre, in units of a precision."""
        if self._is_plain:
            return agreement_with(moments.squares, precision)
        centre, _, squares = moments
        inputs = (self.votes, next(self._slots), centre, squares, precision)
        return cast(Tensor, _Distances.apply(*inputs))


def _squares(votes: Tensor, centre: Tensor) -> Tensor:
    return (votes - centre.unsqueeze(2)).square()


def _moments(
    votes: Tensor, weights: Tensor, divisor: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    sums = share_out(votes, weights)
    centre = sums if divisor is None else sums / divisor
    squares = _squares(votes, centre)
    return centre, share_out(squares, weights), squares


class _Slots(WrittenByHand):
    """Makes the votes' gradient of what its outputs get as gradients; the outputs hold nothing.

    A slot is [sites, out_caps, edges + 2 * pose]: a row over the edges, what it is multiplied with
    before it is multiplied with the votes, and what it is multiplied with alone.
    """

    @staticmethod
    def forward(votes: Tensor, uses: int) -> tuple[Tensor, ...]:
        sites, out_caps, edges, pose = votes.shape
        shape = (sites, out_caps, edges + 2 * pose)
        return tuple(votes.new_zeros(1, 1, 1).expand(shape) for _ in range(uses))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        del output
        ctx.save_for_backward(inputs[0])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        (votes,) = cast(tuple[Tensor], ctx.saved_tensors)
        present = [gradient for gradient in gradients if gradient is not None]
        if not present:
            return None, None
        sites, out_caps, edges, pose = votes.shape
        factors = torch.stack(present, dim=2).view(sites * out_caps, len(present), edges + 2 * pose)
        rows, scales, columns = factors.split((edges, pose, pose), dim=2)
        scaled = torch.bmm(rows.transpose(1, 2), scales)
        flat = votes.reshape(sites * out_caps, edges, pose)
        if torch.is_grad_enabled() or not has_storage(scaled):
            scaled = torch.baddbmm(scaled * flat, rows.transpose(1, 2), columns)
        else:
            scaled.mul_(flat).baddbmm_(rows.transpose(1, 2), columns)
        return scaled.view_as(votes), None


class _Moments(WrittenByHand):
    @staticmethod
    def forward(
        votes: Tensor, slot: Tensor, weights: Tensor, divisor: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        del slot
        return _moments(votes, weights, divisor)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        votes, _, weights, divisor = inputs
        centre, _, squares = output
        ctx.mark_non_differentiable(squares)
        ctx.save_for_backward(votes, weights, divisor, centre, squares)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        votes, weights, divisor, centre, squares = ctx.saved_tensors
        of_centre, of_scatter = (_or_zeros(gradient, centre) for gradient in gradients[:2])
        squares = _differentiable(squares, votes, centre, of_scatter)
        divides_by = 1 if divisor is None else divisor
        scales = 2 * of_scatter
        lag = centre * (divides_by - weights.sum(dim=2, keepdim=True))
        of_sums = (of_centre - scales * lag) / divides_by
        of_divisor = None if divisor is None else -(of_sums * centre).sum(dim=2, keepdim=True)
        of_weights = agreement_with(squares, of_scatter) + agreement_with(votes, of_sums)
        slot = torch.cat([weights, scales, of_sums - scales * centre], dim=2)
        return None, slot, of_weights, of_divisor


class _Distances(WrittenByHand):
    @staticmethod
    def forward(*inputs: Tensor) -> Tensor:
        _, _, _, squares, precision = inputs
        return agreement_with(squares, precision)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        del output
        votes, _, centre, squares, precision = inputs
        ctx.save_for_backward(votes, centre, squares, precision)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        votes, centre, squares, precision = cast(tuple[Tensor, ...], ctx.saved_tensors)
        squares = _differentiable(squares, votes, centre, gradient)
        scales = 2 * precision
        lag = share_out(votes, gradient) - centre * gradient.sum(dim=2, keepdim=True)
        slot = torch.cat([gradient, scales, -scales * centre], dim=2)
        return None, slot, -scales * lag, None, share_out(squares, gradient)


def _or_zeros(gradient: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if gradient is None else gradient


def _differentiable(squares: Tensor, votes: Tensor, centre: Tensor, gradient: Tensor) -> Tensor:
    """Return the squares, computed anew if the gradient may be differentiated itself."""
    if torch.is_grad_enabled() or not has_storage(gradient):
        return _squares(votes, centre)
    return squares
