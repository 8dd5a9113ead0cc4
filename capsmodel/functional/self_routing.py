"""Self-routing: every child decides by its own pose where it goes; nothing has to agree."""

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.checks import check_shape, check_votes
from capsmodel.functional.em_statistics import least_mass
from capsmodel.functional.neighbourhood import ONE_PLACE, Neighbourhood
from capsmodel.functional.precision import in_single
from capsmodel.functional.votes import Couplings, Routed, output_first, share_out


def self_routing(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
    activations: Float[Tensor, "batch in_caps"],
    logits: Float[Tensor, "batch in_caps out_caps"],
    *,
    neighbourhood: Neighbourhood = ONE_PLACE,
) -> Routed:
    """Return the weighted means of the votes, where each child's own logits say where it goes.

    Shares are the softmax of the logits over the parents at one place. A parent's activation is the
    mean of the shares that it gets, weighted by the children's activations; so activations at a
    place add up to 1. Its pose is the mean of the votes for it, weighted by activations and shares.

    One pass over the votes. Gradients flow through votes, activations and logits. In half precision
    and under autocast it is computed in single precision, with the votes' type.

    Source: Hahn, Pyeon and Kim 2019, "Self-routing capsule networks", and their released code.
    Difference: where no child is active, or next to none (1e-31 in single precision), activations
    and poses are zero; the code divides zero by zero there.

    Args:
        votes: The pose of each output that each input predicts.
        activations: The belief that each input is present, in [0, 1].
        logits: Logits of the shares; the layer makes them of each child's pose by a matrix of its
            own.
        neighbourhood: Which votes belong to one child, for the couplings that are returned.

    Returns:
        Poses, activations, the shares; and as logits of the classes the logarithms of the
        activations, whose softmax these are.

    Raises:
        ValueError: If a shape does not fit.

    Example:
        >>> import torch
        >>> votes = torch.rand(2, 6, 3, 8)  # 2 images, 6 children, 3 parents, poses of 8 numbers
        >>> routed = self_routing(votes, activations=torch.ones(2, 6), logits=torch.zeros(2, 6, 3))
        >>> routed.activations[0]  # they add up to 1
        tensor([0.3333, 0.3333, 0.3333])
    """
    check_votes(votes, iterations=1)
    batch, in_caps, out_caps, _ = votes.shape
    check_shape("activations", activations, batch=batch, in_caps=in_caps)
    check_shape("logits", logits, batch=batch, in_caps=in_caps, out_caps=out_caps)

    def route(votes: Tensor) -> Routed:
        shares = logits.to(votes).softmax(dim=2).transpose(1, 2)
        routed = shares * activations.to(votes).unsqueeze(1)
        mass = routed.sum(dim=2, keepdim=True)
        poses = _divided(share_out(output_first(votes), routed), mass)
        beliefs = _divided(mass, mass.sum(dim=1, keepdim=True)).squeeze(2)
        couplings = Couplings(shares.detach().permute(2, 0, 1), neighbourhood)
        logarithms = mass.squeeze(2).clamp_min(torch.finfo(mass.dtype).tiny).log()
        return Routed(poses, beliefs, couplings, logarithms)

    return in_single(route, votes)


def _divided(values: Tensor, total: Tensor) -> Tensor:
    """Return the quotient, zero where the whole is next to nothing."""
    least = least_mass(total.dtype)
    return torch.where(total >= least, values / total.clamp_min(least), 0.0)
