"""Which classes a network takes for which, and its surest mistakes."""

from typing import Annotated, Literal

import torch
from pydantic import Field

from capsmodel.data import DataSplits
from capsmodel.evaluation.base import (
    EvaluatedSplit,
    Evaluation,
    Findings,
    beliefs_in,
    encoded_names,
)
from capsmodel.metrics import Metric
from capsmodel.training.trained import Trained


class Confusion(Evaluation):
    """Which classes are taken for which, and the images that are wrong with most belief.

    The arrays are `counts` (images by true class, then by the class that is believed in most),
    `mistaken_images`, `mistaken_labels`, `mistaken_predicted`, `mistaken_beliefs` (in what they are
    taken for) and `mistaken_places` (in the split), the surest first, and `class_names`, as bytes
    with line breaks, where the data set names its classes.

    Attributes:
        split: The images that are looked at.
        mistakes: How many of the surest mistakes are recorded.
    """

    kind: Literal["confusion"] = "confusion"
    split: EvaluatedSplit = "test"
    mistakes: Annotated[int, Field(ge=1, le=100)] = 10

    @property
    def looks_at(self) -> EvaluatedSplit:
        """The split of the settings."""
        return self.split

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The mean over classes of the error on each: that of images only if all are as many."""
        return (self.metric("balanced_error"),)

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the error by class, the counts and the surest mistakes."""
        images, labels = self.images_of(data), self.images_of(data).labels.cpu()
        beliefs, predicted = beliefs_in(trained, images).cpu().max(dim=1)
        num_classes = trained.config.data.num_classes
        cells = torch.bincount(labels * num_classes + predicted, minlength=num_classes**2)
        counts = cells.view(num_classes, num_classes)
        totals = counts.sum(dim=1)
        is_there = totals > 0
        errors = 1 - counts.diagonal()[is_there].double() / totals[is_there]
        wrong = (predicted != labels).nonzero().flatten()
        order = torch.argsort(beliefs[wrong], descending=True, stable=True)[: self.mistakes]
        surest = wrong[order]
        mistaken = images.take(surest.to(images.labels.device)).images
        return Findings(
            metrics={"balanced_error": errors.mean().item()},
            arrays={
                "counts": counts,
                "mistaken_images": mistaken.cpu(),
                "mistaken_labels": labels[surest],
                "mistaken_predicted": predicted[surest],
                "mistaken_beliefs": beliefs[surest],
                "mistaken_places": surest,
                **encoded_names(trained.config.data),
            },
        )
