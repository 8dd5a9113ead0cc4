"""The share of images whose class is not among the few that a network believes in most."""

from typing import Annotated, Literal

from pydantic import Field

from capsmodel.data import DataSplits
from capsmodel.evaluation.base import EvaluatedSplit, Evaluation, Findings, beliefs_in
from capsmodel.metrics import Metric
from capsmodel.training.trained import Trained


class TopKError(Evaluation):
    """The share of images whose class is not among the k classes believed in most.

    With k = 1 it is the test error. Of equal beliefs the first class counts. For images of several
    classes the error of their task asks for all of them already.

    Attributes:
        k: How many classes may be named, fewer than there are.
        split: The images that are looked at.
    """

    kind: Literal["top_k_error"] = "top_k_error"
    k: Annotated[int, Field(ge=1)] = 2
    split: EvaluatedSplit = "test"

    @property
    def looks_at(self) -> EvaluatedSplit:
        """The split of the settings."""
        return self.split

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The error."""
        return (self.metric("top_k_error", words=f"top-{self.k} error"),)

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the mean error and the error of each image.

        Raises:
            ValueError: If there are no more classes than may be named.
        """
        num_classes = trained.config.data.num_classes
        if self.k >= num_classes:
            raise ValueError(
                f"k must be below the number of classes, {num_classes}, got {self.k}: nothing "
                f"could be wrong."
            )
        images = self.images_of(data)
        order = beliefs_in(trained, images).argsort(dim=1, descending=True, stable=True)
        is_named = (order[:, : self.k] == images.labels.unsqueeze(1)).any(dim=1)
        errors = (~is_named).double().cpu()
        return Findings(
            metrics={"top_k_error": errors.mean().item()}, images={"top_k_error": errors}
        )
