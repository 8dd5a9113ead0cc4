"""How well a network's beliefs are calibrated."""

from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from capsmodel.data import DataSplits
from capsmodel.evaluation.base import EvaluatedSplit, Evaluation, Findings, beliefs_in
from capsmodel.metrics import Metric
from capsmodel.training.trained import Trained


class Confidence(Evaluation):
    """How strong the belief in the winning class is, and how far from the share that is right.

    Source: Guo, Pleiss, Sun and Weinberger 2017, arXiv:1706.04599, equation 3.
    Difference: their confidences are those of a softmax, ours the lengths of capsules, which need
    not add up to 1; a belief on the edge of two bins enters the upper one.

    Attributes:
        split: The images that are looked at.
        bins: Number of bins of equal width over [0, 1]; in each, beliefs are compared with the
            share right.
    """

    kind: Literal["confidence"] = "confidence"
    split: EvaluatedSplit = "validation"
    bins: Annotated[int, Field(ge=1, le=1000)] = 15

    @property
    def looks_at(self) -> EvaluatedSplit:
        """The split of the settings."""
        return self.split

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The mean belief in the winner, and its mean distance from the share right in its bin."""
        return (
            self.metric("mean_belief", direction=None),
            self.metric("calibration_error"),
        )

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return both numbers, and the belief in the winner and whether it is right by image."""
        images = self.images_of(data)
        beliefs, classes = beliefs_in(trained, images).cpu().max(dim=1)
        is_right = classes == images.labels.cpu()
        return Findings(
            metrics={
                "mean_belief": beliefs.double().mean().item(),
                "calibration_error": calibration_error(beliefs, is_right, self.bins),
            },
            images={"beliefs": beliefs, "is_right": is_right.to(torch.uint8)},
        )


def calibration_error(
    beliefs: Float[Tensor, " images"], is_right: Bool[Tensor, " images"], bins: int
) -> float:
    """Return the mean distance of beliefs in the winner from the share right in their bin.

    Args:
        beliefs: In [0, 1], on the CPU.
        is_right: Whether each winner is the true class.
        bins: Number of bins of equal width over [0, 1].
    """
    places = (beliefs * bins).long().clamp(max=bins - 1)
    # A bin's distance times its share of the images is its summed difference over all images.
    differences = torch.zeros(bins, dtype=torch.float64)
    differences.index_add_(0, places, beliefs.double() - is_right.double())
    return differences.abs().sum().item() / len(beliefs)
