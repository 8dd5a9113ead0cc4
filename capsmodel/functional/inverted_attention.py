"""Inverted dot-product attention: parents compete for a child by their products with its votes."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.checks import check_shape, check_votes
from capsmodel.functional.neighbourhood import ONE_PLACE, Neighbourhood
from capsmodel.functional.precision import in_single
from capsmodel.functional.sharing import Shares, shared_out
from capsmodel.functional.votes import Couplings, Routed, output_first


def inverted_attention_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    iterations: int = 2,
    *,
    scale: Float[Tensor, " pose"] | None = None,
    shift: Float[Tensor, " pose"] | None = None,
    epsilon: float = 1e-5,
    neighbourhood: Neighbourhood = ONE_PLACE,
    previous: Float[Tensor, "batch out_caps pose"] | None = None,
) -> Routed:
    """Return normalised sums of the votes, shared by their products with the poses before.

    The first round shares equally. In each later one the logit of a vote is its product with the
    parent's pose of the round before, over the root of the pose's size; nothing is added up over
    rounds. Shares are the softmax over the parents at one place, so a child counts at every place
    that sees it. Each round's poses are layer-normalised sums of the shared votes.

    Time grows with the rounds times the number of votes; gradients flow through all rounds. In half
    precision and under autocast it is computed in single precision, with the votes' type.

    Source: Tsai, Srivastava, Goh and Salakhutdinov 2020, arXiv:2002.04764, with sequential routing,
    and their released code.
    Difference: none.

    Args:
        votes: The pose of each output that each input predicts.
        iterations: Rounds in all. One round shares every vote equally.
        scale: Multiplier of each number of a normalised pose, the same for all outputs.
        shift: Added to each of them.
        epsilon: Added to the variance of a pose's numbers.
        neighbourhood: Which votes belong to one child, for the couplings that are returned.
        previous: The parents' poses of an earlier round: the first round then shares by their
            products with the votes.

    Returns:
        The poses; activations of one, as there are none; and the last shares.

    Raises:
        ValueError: If there are no rounds, or a shape does not fit.

    Example:
        >>> import torch
        >>> votes = torch.rand(2, 6, 3, 8)  # 2 images, 6 children, 3 parents, poses of 8 numbers
        >>> inverted_attention_routing(votes, iterations=2).poses.shape
        torch.Size([2, 3, 8])
    """
    check_votes(votes, iterations)
    _, _, out_caps, pose = votes.shape
    for name, tensor in {"scale": scale, "shift": shift}.items():
        if tensor is not None:
            check_shape(name, tensor, pose=pose)
    if previous is not None:
        check_shape("previous", previous, batch=len(votes), out_caps=out_caps, pose=pose)
    shares = Shares(neighbourhood, competition="types")

    def route(votes: Tensor) -> Routed:
        grouped = output_first(votes)
        affine = [None if tensor is None else tensor.to(grouped) for tensor in (scale, shift)]
        poses, couplings = previous, shares.equal(grouped)
        for _ in range(iterations):
            if poses is None:
                sums = shares.share_equally(grouped)
            else:
                queries = poses.to(grouped) * pose**-0.5
                sums, couplings = shared_out(grouped, queries, None, shares)
            poses = F.layer_norm(sums, (pose,), *affine, eps=epsilon)
        assert poses is not None
        last = couplings.detach().expand(grouped.shape[:3]).permute(2, 0, 1)
        ones = poses.new_ones(poses.shape[0], out_caps)
        return Routed(poses, ones, Couplings(last, neighbourhood))

    return in_single(route, votes)
