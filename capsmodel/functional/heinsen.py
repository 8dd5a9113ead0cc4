"""The routing of Heinsen 2019: Gaussians that gain by what they use and pay for the rest."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.checks import check_shape, check_votes
from capsmodel.functional.moments import MomentsOfVotes
from capsmodel.functional.neighbourhood import ONE_PLACE
from capsmodel.functional.precision import in_single
from capsmodel.functional.votes import Couplings, Routed, output_first, share_out


def heinsen_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    activations: Float[Tensor, "batch in_caps"],
    iterations: int = 3,
    *,
    use: Float[Tensor, "in_caps out_caps"] | None = None,
    ignore: Float[Tensor, "in_caps out_caps"] | None = None,
    epsilon: float = 1e-5,
) -> Routed:
    """Return the Gaussians that explain the votes best, with the score of each.

    A child is used by a parent as far as it is active times its share, and ignored as far as it is
    active otherwise. A parent's score is what it uses times what using is worth, less what it
    ignores times what ignoring costs. Shares are equal at first, then a softmax over the parents of
    the logarithm of the sigmoid of the score plus that of the density at the vote.

    Time grows with the rounds times the number of votes; gradients flow through all rounds. In half
    precision and under autocast it is computed in single precision, with the votes' type.

    Source: Heinsen 2019, arXiv:1911.00792, and the released code.
    Difference: activations are given where the code takes scores, of which they are the sigmoid.

    Args:
        votes: The pose of each output that each input predicts.
        activations: The belief that each input is present, in [0, 1].
        iterations: Rounds in all. One round shares every child equally.
        use: What using is worth, for each pair of an input and an output; None for zero.
        ignore: What ignoring costs, likewise.
        epsilon: Added to each parent's mass and to each variance.

    Returns:
        The centres; as activations the sigmoid of the scores; the last shares; and the scores as
        logits of the classes.

    Raises:
        ValueError: If there are no rounds, or a shape does not fit.

    Example:
        >>> import torch
        >>> votes = torch.rand(2, 6, 3, 8)  # 2 images, 6 children, 3 parents, poses of 8 numbers
        >>> routed = heinsen_routing(votes, torch.ones(2, 6), use=torch.ones(6, 3))
        >>> routed.logits.shape
        torch.Size([2, 3])
    """
    check_votes(votes, iterations)
    batch, in_caps, out_caps, _ = votes.shape
    check_shape("activations", activations, batch=batch, in_caps=in_caps)
    for name, worth in {"use": use, "ignore": ignore}.items():
        if worth is not None:
            check_shape(name, worth, in_caps=in_caps, out_caps=out_caps)

    def route(votes: Tensor) -> Routed:
        grouped, present = output_first(votes), activations.to(votes).unsqueeze(1)
        of_votes = MomentsOfVotes(grouped, 2 * (iterations - 1))
        nothing = votes.new_zeros(in_caps, out_caps)
        worth, cost = (
            (nothing if weights is None else weights.to(votes)).t() for weights in (use, ignore)
        )
        gain, price = worth + cost, (cost * present).sum(dim=2)

        shares = present.new_full((1, 1, 1), 1 / out_caps).expand(grouped.shape[:3])
        for _ in range(iterations - 1):
            used = present * shares
            scores = (gain * used).sum(dim=2) - price
            shares = _shares(of_votes, _weights(used, epsilon), scores, epsilon)
        used = present * shares
        scores = (gain * used).sum(dim=2) - price
        couplings = Couplings(shares.detach().permute(2, 0, 1), ONE_PLACE)
        centre = share_out(grouped, _weights(used, epsilon))
        return Routed(centre, scores.sigmoid(), couplings, scores)

    return in_single(route, votes)


def _weights(
    used: Float[Tensor, "sites out_caps edges"], epsilon: float
) -> Float[Tensor, "sites out_caps edges"]:
    """Return the weight of each child in the mean of each parent."""
    return used / (used.sum(dim=2, keepdim=True) + epsilon)


def _shares(
    votes: MomentsOfVotes,
    weights: Float[Tensor, "sites out_caps edges"],
    scores: Float[Tensor, "sites out_caps"],
    epsilon: float,
) -> Float[Tensor, "sites out_caps edges"]:
    """Return the share of each child that goes to each parent."""
    moments = votes.moments(weights)
    variance = moments.scatter + epsilon
    heights = torch.sub(F.logsigmoid(scores), variance.log().sum(dim=2), alpha=0.5)
    distances = votes.distances(moments, variance.reciprocal())
    return torch.sub(heights.unsqueeze(2), distances, alpha=0.5).softmax(dim=1)
