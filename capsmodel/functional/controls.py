"""Routings that ignore the votes' agreement: controls for any claim about routing."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.chance import uniform
from capsmodel.functional.checks import check_votes
from capsmodel.functional.neighbourhood import ONE_PLACE, Neighbourhood
from capsmodel.functional.poses import lengths, squash
from capsmodel.functional.sharing import Shares
from capsmodel.functional.votes import Couplings, LinearVotes, Routed, output_first, share_out


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
        neighbourhood: Which votes belong to one child; by default each belongs to its own.

    Raises:
        ValueError: If the votes are of another shape, or the bounds are none.

    Example:
        >>> import torch
        >>> votes = torch.rand(2, 6, 3, 8)  # 2 images, 6 children, 3 parents, poses of 8 numbers
        >>> uniform_routing(votes).poses.shape
        torch.Size([2, 3, 8])
    """
    check_votes(votes, iterations=1)
    grouped, shares = output_first(votes), Shares(neighbourhood)
    poses = _squashed(shares.share_equally(grouped), bias)
    couplings = shares.equal(grouped).expand(grouped.shape[:3]).permute(2, 0, 1)
    return Routed(poses, lengths(poses), Couplings(couplings, neighbourhood))


def equal_routing(
    votes: LinearVotes,
    shares: Shares,
    *,
    bias: Float[Tensor, "out_caps pose"] | None = None,
    squash: Callable[[Tensor], Tensor] = squash,
) -> Routed:
    """Return the squashed equal share of all votes, which are not multiplied out.

    Args:
        votes: Votes of fully connected capsules.
        shares: Says who competes.
        bias: Added to each sum of votes.
        squash: Turns lengths into beliefs.
    """
    sites, edges, _ = votes.poses.shape
    out_caps = votes.weight.shape[2]
    share = 1 / shares.num_competing(out_caps, edges)
    poses = _squashed(votes.summed() * share, bias, squash)
    couplings = poses.new_full((1, 1, 1), share).expand(edges, sites, out_caps)
    return Routed(poses, lengths(poses), Couplings(couplings, votes.neighbourhood))


def random_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    generator: torch.Generator | None = None,
    *,
    between: tuple[float, float] = (0.8, 1.2),
    bias: Float[Tensor, "out_caps pose"] | None = None,
    neighbourhood: Neighbourhood = ONE_PLACE,
) -> Routed:
    """Return the squashed sum of the votes in drawn shares, the same for all images of a batch.

    Source: Paik, Kwak and Kim 2019, arXiv:1907.13327, the random control.
    Difference: the images of a batch share the draw, so that a prediction does not depend on
    the place in its batch.

    Args:
        votes: The pose of each output that each input predicts.
        generator: Generator of the draw, on the CPU; None for PyTorch's own.
        between: Limits between which shares are drawn, before they are scaled to add up to 1.
        bias: Added to each sum of votes.
        neighbourhood: Which votes belong to one child; by default each belongs to its own.

    Raises:
        ValueError: If the votes are of another shape, or the bounds are none.

    Example:
        >>> import torch
        >>> votes = torch.rand(2, 6, 3, 8)  # 2 images, 6 children, 3 parents, poses of 8 numbers
        >>> random_routing(votes, torch.Generator().manual_seed(0)).poses.shape
        torch.Size([2, 3, 8])
    """
    check_votes(votes, iterations=1)
    grouped = output_first(votes)
    sites, out_caps, edges, _ = grouped.shape
    shares = _drawn(grouped, (edges, out_caps), neighbourhood, between, generator=generator)
    couplings = shares.permute(1, 2, 0).repeat(sites // neighbourhood.num_places, 1, 1)
    poses = _squashed(share_out(grouped, couplings), bias)
    result = Couplings(couplings.permute(2, 0, 1), neighbourhood)
    return Routed(poses, lengths(poses), result)


def random_linear_routing(
    votes: LinearVotes,
    generator: torch.Generator | None = None,
    *,
    between: tuple[float, float] = (0.8, 1.2),
    bias: Float[Tensor, "out_caps pose"] | None = None,
) -> Routed:
    """Route as `random_routing` does, with votes that are not multiplied out.

    Args:
        votes: Votes of fully connected capsules.
        generator: Generator of the draw, on the CPU; None for PyTorch's own.
        between: Limits between which shares are drawn, before they are scaled to add up to 1.
        bias: Added to each sum of votes.

    Raises:
        ValueError: If the bounds are none.
    """
    edges, _, out_caps, _ = votes.weight.shape
    shares = _drawn(
        votes.poses, (edges, out_caps), votes.neighbourhood, between, generator=generator
    )
    poses = _squashed(votes.summed(shares.squeeze(1)), bias)
    couplings = shares.expand(edges, poses.shape[0], out_caps)
    return Routed(poses, lengths(poses), Couplings(couplings, votes.neighbourhood))


def _drawn(
    like: Tensor,
    sizes: tuple[int, int],
    neighbourhood: Neighbourhood,
    between: tuple[float, float],
    *,
    generator: torch.Generator | None,
) -> Float[Tensor, "edges places out_caps"]:
    """Draw shares that add up to 1 over the parents of a child, as numbers like others."""
    low, high = between
    if not 0 < low < high:
        raise ValueError(f"between must be two numbers above 0, the lower first, got {between}.")
    edges, out_caps = sizes
    draw = uniform((edges, neighbourhood.num_places, out_caps), generator, like.dtype)
    weights = low + (high - low) * draw
    total = neighbourhood.sum_over_parents(weights.sum(dim=2)).unsqueeze(2)
    return (weights / total).to(like.device)


def _squashed(
    sums: Tensor, bias: Tensor | None, squash: Callable[[Tensor], Tensor] = squash
) -> Tensor:
    return squash(sums if bias is None else sums + bias)
