"""Should the margins be soft? A loss of a user's own, with a helper and a constant beside it."""

from typing import Annotated, Literal

import torch
from pydantic import Field

from capsmodel import TrainingConfig
from capsmodel.losses import Loss, MarginLoss
from capsmodel.models import CapsNet
from capsmodel.reconstruction import NoReconstruction
from capsmodel.search_range import Floats
from capsmodel.stopping import FixedEpochs
from search_spaces import AblationTable, CurvesFigure, ListedArms, Sweep

HARDEST = 50.0


def signs(lengths, labels):
    """Return 1 for the true class of each image and -1 for every other."""
    classes = torch.arange(lengths.shape[1], device=lengths.device)
    return 2.0 * (labels.unsqueeze(1) == classes) - 1.0


class SoftMargin(Loss):
    """The softplus of how far each length is on the wrong side of one half."""

    kind: Literal["soft_margin"] = "soft_margin"
    hardness: Annotated[float, Field(gt=0, le=HARDEST), Floats(1.0, 20.0, log=True)] = 5.0

    def loss(self, lengths, labels, progress):
        """Return the mean over images and classes."""
        wrong = self.hardness * signs(lengths, labels) * (0.5 - lengths)
        return torch.nn.functional.softplus(wrong).mean()


SWEEP = Sweep(
    name="soft_margin",
    description="A loss of one's own beside the margin loss.",
    base=TrainingConfig(
        model=CapsNet(
            conv_channels=16, conv_kernel=3, primary_types=4, primary_kernel=3
        ).model_copy(update={"reconstruction": NoReconstruction()}),
        loss=MarginLoss(),
        stopping=FixedEpochs(epochs=4),
    ),
    plan=ListedArms(
        baseline="margin",
        arms={
            "margin": {},
            "soft": {"loss": SoftMargin()},
            "hard": {"loss": SoftMargin(hardness=20)},
        },
    ),
    tables=[AblationTable(), CurvesFigure()],
    seeds=[0, 1],
    parts=[SoftMargin],
)
