"""Does it help to sharpen the couplings of routing by agreement? A routing of a user's own."""

from typing import Annotated, Literal

import torch
from pydantic import Field

from capsmodel.functional import squash
from capsmodel.routing import VectorRouting
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SMALL_CAPSNET


class SharpenedRouting(VectorRouting):
    """Routing by agreement whose softmax is made sharper."""

    kind: Literal["sharpened"] = "sharpened"
    iterations: Annotated[int, Field(ge=1)] = 3
    sharpness: Annotated[float, Field(gt=0)] = 2.0

    def route(self, votes, *, generator):
        """Turn votes [batch, in_caps, out_caps, pose] into poses [batch, out_caps, pose]."""
        logits = votes.new_zeros(votes.shape[:-1])
        for _ in range(self.iterations):
            couplings = torch.softmax(self.sharpness * logits, dim=2)  # over the outputs
            poses = squash(torch.einsum("bio,biop->bop", couplings, votes))
            logits = logits + torch.einsum("biop,bop->bio", votes, poses)
        return poses


SWEEP = Sweep(
    name="sharpness",
    parts=[SharpenedRouting],
    base=SMALL_CAPSNET,
    plan=ListedArms(
        baseline="by agreement",
        arms={
            "by agreement": {},
            "sharpness 2": {"model.routing": SharpenedRouting()},
            "sharpness 4": {"model.routing": SharpenedRouting(sharpness=4)},
        },
    ),
    seeds=[0, 1, 2],
)
