"""Routings that look at nothing, which any claim about routing has to beat."""

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.chance import uniform
from capsmodel.functional.neighbourhood import ONE_PLACE, Neighbourhood
from capsmodel.functional.poses import lengths, squash
from capsmodel.functional.refusals import refuse_other_rounds
from capsmodel.functional.routed import Couplings, Routed, output_first, share_out
from capsmodel.functional.sharing import Shares


def uniform_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    *,
    bias: Float[Tensor, "out_caps pose"] | None = None,
    neighbourhood: Neighbourhood = ONE_PLACE,
) -> Routed:
    """Return the squashed equal share of all votes: what one round of dynamic routing does.

    Args:
        votes: The pose of each output that each input predicts.
        bias: Added to each sum of votes.
        neighbourhood: Which votes are of one child; by default each is of another one.

    Raises:
        ValueError: If the votes are of another shape, or the bounds are none.
    """
    refuse_other_rounds(votes, iterations=1)
    grouped, shares = output_first(votes), Shares(neighbourhood)
    poses = _squashed(shares.share_equally(grouped), bias)
    told = shares.equal(grouped).expand(grouped.shape[:3]).permute(2, 0, 1)
    return Routed(poses, lengths(poses), Couplings(told, neighbourhood))


def random_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    generator: torch.Generator | None = None,
    *,
    between: tuple[float, float] = (0.8, 1.2),
    bias: Float[Tensor, "out_caps pose"] | None = None,
    neighbourhood: Neighbourhood = ONE_PLACE,
) -> Routed:
    """Return the squashed sum of the votes in drawn shares, which all images of a batch have.

    Source: Paik, Kwak and Kim 2019, arXiv:1907.13327, the random control.
    Difference: the images of a batch share the draw, so that a prediction does not depend on
    the place in its batch.

    Args:
        votes: The pose of each output that each input predicts.
        generator: Of the draw, on the CPU; None for PyTorch's own.
        between: What shares are drawn between before they are made to add up to 1.
        bias: Added to each sum of votes.
        neighbourhood: Which votes are of one child; by default each is of another one.

    Raises:
        ValueError: If the votes are of another shape, or the bounds are none.
    """
    refuse_other_rounds(votes, iterations=1)
    low, high = between
    if not 0 < low < high:
        raise ValueError(f"between must be two numbers above 0, the lower first, got {between}.")
    grouped = output_first(votes)
    sites, out_caps, edges, _ = grouped.shape
    places = neighbourhood.num_places
    draw = uniform((edges, places, out_caps), generator, grouped.dtype)
    weights = low + (high - low) * draw
    whole = neighbourhood.sum_over_parents(weights.sum(dim=2)).unsqueeze(2)
    shares = (weights / whole).to(grouped.device)
    couplings = shares.permute(1, 2, 0).repeat(sites // places, 1, 1)
    poses = _squashed(share_out(grouped, couplings), bias)
    told = Couplings(couplings.permute(2, 0, 1), neighbourhood)
    return Routed(poses, lengths(poses), told)


def _squashed(sums: Tensor, bias: Tensor | None) -> Tensor:
    return squash(sums if bias is None else sums + bias)
