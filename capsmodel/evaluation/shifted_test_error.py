"""The error on test images that have moved."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from capsmodel.data import DataSplits
from capsmodel.evaluation.base import Evaluation, Findings, beliefs_in, share_wrong, wrong
from capsmodel.metrics import Metric
from capsmodel.training.trained import Trained

_DIRECTIONS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


class ShiftedTestError(Evaluation):
    """The error on the test images when all of them have moved by whole pixels, shift by shift.

    Zeros come in at the edge. It reports one error for each distance in each of the four
    directions.

    Attributes:
        pixels: The largest distance; all from 1 on are tried.
    """

    kind: Literal["shifted_test_error"] = "shifted_test_error"
    pixels: Annotated[int, Field(ge=1, le=16)] = 2

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """One error a shift, the shortest first: `up_1`, `down_1`, `left_1`, `right_1`, `up_2`."""
        return tuple(self.metric(name) for name in self._shifts)

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the error of each shift, which images count in it, and the classes given."""
        classes = {
            name: beliefs_in(trained, data.test, lambda images, by=by: shifted(images, *by)).argmax(
                dim=1
            )
            for name, by in self._shifts.items()
        }
        return Findings(
            metrics={
                name: share_wrong(predicted, data.test.labels)
                for name, predicted in classes.items()
            },
            images={
                **{name: wrong(predicted, data.test.labels) for name, predicted in classes.items()},
                "predictions": torch.stack(list(classes.values()), dim=1).to("cpu", torch.uint8),
                "labels": data.test.labels.to("cpu", torch.uint8),
            },
        )

    @property
    def _shifts(self) -> dict[str, tuple[int, int]]:
        """Name of each shift -> pixels down and to the right."""
        return {
            f"{name}_{distance}": (distance * down, distance * right)
            for distance in range(1, self.pixels + 1)
            for name, (down, right) in _DIRECTIONS.items()
        }


def shifted(
    images: Float[Tensor, "batch channels height width"], down: int, right: int
) -> Float[Tensor, "batch channels height width"]:
    """Return images moved by whole pixels, with zeros where nothing was."""
    return F.pad(images, (right, -right, down, -down))
