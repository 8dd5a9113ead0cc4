"""The error on test images that have moved."""

from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from capsmodel.data import DataSplits
from capsmodel.evaluation.base import Evaluation, Findings, beliefs_in, image_errors
from capsmodel.metrics import Metric
from capsmodel.training.trained import Trained

_DIRECTIONS = ((-1, 0), (1, 0), (0, -1), (0, 1))  # down and to the right


class ShiftedTestError(Evaluation):
    """The error on the test images when all of them are moved by whole pixels, as a curve.

    Zeros come in at the edge. The error at a distance is the mean over the four directions.

    Attributes:
        pixels: The largest distance; all from 0 on are tried.
    """

    protocol_version: ClassVar[int | str] = 2  # the first had an error for each direction
    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["shifted_test_error"] = "shifted_test_error"
    pixels: Annotated[int, Field(ge=1, le=16)] = 2

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The error at each distance, 0 included."""
        return self.curve("error", "shift", range(self.pixels + 1), "pixels")

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the error at each distance, and in how many directions each image is wrong."""
        labels = data.test.labels
        by_image = {
            metric.name: torch.stack(
                [
                    image_errors(
                        trained, _beliefs(trained, data, distance * down, distance * right), labels
                    )
                    for down, right in _DIRECTIONS[: None if distance else 1]
                ]
            ).mean(dim=0)
            for distance, metric in enumerate(self.metrics)
        }
        return Findings(
            metrics={name: values.mean().item() for name, values in by_image.items()},
            images=by_image,
        )


def _beliefs(
    trained: Trained, data: DataSplits, down: int, right: int
) -> Float[Tensor, "images classes"]:
    """Return the beliefs in the classes of each moved test image."""
    return beliefs_in(trained, data.test, lambda images: shifted(images, down, right))


def shifted(
    images: Float[Tensor, "batch channels height width"], down: int, right: int
) -> Float[Tensor, "batch channels height width"]:
    """Return images moved by whole pixels, with zeros where nothing was."""
    return F.pad(images, (right, -right, down, -down))
