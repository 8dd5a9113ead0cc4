"""What every routing promises, and the weighted sum of votes that they share."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from capsmodel.parts import Part


class Routing(Part, ABC):
    """How the votes of lower capsules become the poses of higher ones.

    A routing is a pure function of its votes and its generator. It treats each image of a batch
    on its own. `capsmodel.testing.RoutingContract` checks all that is promised here.

    Attributes:
        is_symmetric: Whether permuting the inputs changes nothing and permuting the outputs
            permutes the result. A routing that tells capsules apart by their place says False.
    """

    family: ClassVar[str] = "routing"
    is_symmetric: ClassVar[bool] = True

    @abstractmethod
    def route(
        self,
        votes: Float[Tensor, "batch in_caps out_caps pose"],
        *,
        generator: torch.Generator | None,
    ) -> Float[Tensor, "batch out_caps pose"]:
        """Return one pose an output, its length at most 1: the belief that the output is there.

        Args:
            votes: Output pose that each input capsule predicts. From a capsule layer they lie in
                memory as [batch out_caps in_caps pose]: `votes.transpose(1, 2)` is contiguous.
            generator: Source of all chance. In training it is the trial's own, which goes on from
                call to call; in evaluation each call gets a fresh one of the trial's seed. None
                is enough for a routing without chance.
        """


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
    return torch.bmm(rows, votes.view(-1, in_caps, pose)).view(batch, out_caps, pose)
