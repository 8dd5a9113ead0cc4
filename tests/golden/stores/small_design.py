"""A small design that has a bit of everything: a routing and a loss of its own, and divergence."""

import os
import time
from typing import Annotated, Literal

import torch
from pydantic import Field

from capsmodel.functional import squash
from capsmodel.losses import Loss, MarginLoss
from capsmodel.overrides import with_settings
from capsmodel.routing import VectorRouting
from search_spaces import (
    AblationTable,
    CurvesFigure,
    GridCell,
    GridRow,
    GridTable,
    ListedArms,
    PublishedRow,
    PublishedTable,
    Sweep,
)
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


class PacedLoss(Loss):
    """The margin loss; the environment says how long a step takes at least, which is no setting."""

    kind: Literal["paced"] = "paced"

    def loss(self, lengths, labels, progress):
        """Return the margin loss."""
        if lengths.requires_grad:
            time.sleep(float(os.environ.get("GOLDEN_SECONDS", "0")))
        return MarginLoss().loss(lengths, labels, progress)


SMALL = {
    "batch_size": 256,
    "loss": PacedLoss(),
    "model.conv_channels": 8,
    "model.primary_types": 2,
    "model.primary_dim": 4,
    "model.class_dim": 4,
    "model.reconstruction": "none",
    "optimiser.learning_rate": 0.02,
    "stopping.epochs": 3,
}

SWEEP = Sweep(
    name="small_design",
    description="Routings of a very small network on digits.",
    parts=[SharpenedRouting, PacedLoss],
    base=with_settings(SMALL_CAPSNET, SMALL),
    plan=ListedArms(
        baseline="by agreement",
        arms={
            "by agreement": {},
            "uniform": {"model.routing": "uniform"},
            "sharpness 4": {"model.routing": SharpenedRouting(sharpness=4)},
            "far too fast": {"optimiser.learning_rate": 1e30},
        },
    ),
    seeds=[0, 1],
    tables=[
        AblationTable(),
        CurvesFigure(),
        GridTable(
            name="grid",
            title="Sharp or not",
            columns=["Test error (%)", "Validation error (%)"],
            rows=[
                GridRow(
                    label=arm,
                    cells=[
                        GridCell(arm=arm, published=published),
                        GridCell(arm=arm, metric="validation_error"),
                    ],
                )
                for arm, published in (("by agreement", 0.25), ("sharpness 4", None))
            ],
        ),
        PublishedTable(
            name="published",
            title="As if it were published",
            headings=["Routing"],
            rows=[
                PublishedRow(labels=["agreement"], arm="by agreement", published=0.25, spread=0.01),
                PublishedRow(labels=["none of ours"], arm=None, published=0.5),
            ],
            spread="made up",
        ),
    ],
)
