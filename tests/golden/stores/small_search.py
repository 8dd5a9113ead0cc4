"""A small search: proposals by TPE beyond the random ones, some pruned, the best run again."""

import os
import time
from typing import Literal

from capsmodel.losses import Loss, MarginLoss
from capsmodel.overrides import with_settings
from capsmodel.search_range import Floats, Ints
from search_spaces import Asha, Confirm, Search, Space, Sweep
from search_spaces.quickstart import SMALL_CAPSNET


class PacedLoss(Loss):
    """The margin loss; the environment says how long a step takes at least, which is no setting."""

    kind: Literal["paced"] = "paced"

    def loss(self, lengths, labels, progress):
        """Return the margin loss."""
        if lengths.requires_grad:
            time.sleep(float(os.environ.get("GOLDEN_SECONDS", "0")))
        return MarginLoss().loss(lengths, labels, progress)


SMALL = {
    "batch_size": 512,
    "loss": PacedLoss(),
    "model.conv_channels": 8,
    "model.primary_types": 2,
    "model.primary_dim": 4,
    "model.reconstruction": "none",
    "optimiser.learning_rate": 0.02,
    "stopping.epochs": 4,
}
BASE = with_settings(SMALL_CAPSNET, SMALL)

SWEEP = Sweep(
    name="small_search",
    description="Rate and routing of a very small network on digits.",
    parts=[PacedLoss],
    base=BASE,
    plan=Search(
        space=Space.of(BASE.optimiser, at="optimiser")
        .varied({"optimiser.learning_rate": Floats(1e-3, 0.1, log=True)})
        .only("optimiser.learning_rate")
        + Space.of(BASE.model, at="model")
        .varied({"model.routing": ("dynamic", "uniform"), "model.class_dim": Ints(4, 8)})
        .only("model.routing.iterations", "model.class_dim"),
        sampler="tpe",
        scheduler=Asha(grace=0.5, reduction_factor=2),
        trials=16,
        seeds=[0],
        confirm=Confirm(best=2, seeds=[101, 102]),
    ),
)
