"""How the parents of a child compete for it."""

from typing import Any, Literal, cast

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.differentiation import is_plain, refuse_forward_mode
from capsmodel.functional.neighbourhood import Neighbourhood
from capsmodel.functional.votes import Votes

Competition = Literal["parents", "places", "types"]


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
        neighbourhood: Which edges are of one child.
        competition: Who competes: all parents of a child; its parents of one type at different
            places; or its parents of different types at one place.
    """
    if is_plain():
        logits = scores - 0.5 * distances
        return (logits - _logsumexp(logits, neighbourhood, competition)).exp()
    return cast(Tensor, _Sharing.apply(scores, distances, neighbourhood, competition))


class _Sharing(torch.autograd.Function):
    """A softmax over a child's parents; of all that is as large, only the shares are kept.

    The gradient reads them as an output, and so can be differentiated once more.
    """

    generate_vmap_rule = True
    jvp = staticmethod(refuse_forward_mode)

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
        if torch.is_grad_enabled():  # this gradient may be differentiated, or mapped, in its turn
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
