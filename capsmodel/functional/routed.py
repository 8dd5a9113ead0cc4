"""What a routing makes of votes, and the weighted sum of votes that some share."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.functional.neighbourhood import Neighbourhood


class Couplings(NamedTuple):
    """How the children of a layer were shared out among their parents, detached.

    Attributes:
        values: The share of each child that goes to each parent; over all edges of a child they
            add up to at most 1, unless the routing lets others than all its parents compete.
        neighbourhood: Which edges are of one child.
    """

    values: Float[Tensor, "edges sites out_caps"]
    neighbourhood: Neighbourhood


class Routed(NamedTuple):
    """The capsules that votes came to.

    Attributes:
        poses: Where what each capsule stands for is, and how it looks.
        activations: How surely it is there, in [0, 1].
        couplings: Those of the last iteration, None where a routing tells none.
    """

    poses: Float[Tensor, "sites out_caps pose"]
    activations: Float[Tensor, "sites out_caps"]
    couplings: Couplings | None = None


def output_first(
    votes: Float[Tensor, "batch in_caps out_caps pose"],
) -> Float[Tensor, "batch out_caps in_caps pose"]:
    """Return the votes grouped by output and contiguous: a view of those a capsule layer made."""
    return votes.transpose(1, 2).contiguous()


def share_out(
    votes: Float[Tensor, "batch out_caps in_caps pose"],
    couplings: Float[Tensor, "batch out_caps in_caps"],
) -> Float[Tensor, "batch out_caps pose"]:
    """Return each output's sum of the votes for it, each times its coupling."""
    batch, out_caps, in_caps, pose = votes.shape
    rows = couplings.reshape(batch * out_caps, 1, in_caps)
    sums = torch.bmm(rows, votes.reshape(-1, in_caps, pose))
    return sums.view(batch, out_caps, pose)
