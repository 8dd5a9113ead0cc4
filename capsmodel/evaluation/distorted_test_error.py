"""The error on test images that are turned, scaled, noisy, blurred, covered or pale."""

import math
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.chance import normal, stream, uniform
from capsmodel.data import DataSplits
from capsmodel.evaluation.base import Evaluation, Findings, image_errors, shown
from capsmodel.evaluation.confidence import calibration_error
from capsmodel.metrics import Metric
from capsmodel.training.trained import EVALUATION_BATCH_SIZE, Trained

Distortion = Literal["rotation", "scale", "noise", "blur", "occlusion", "contrast"]
_BINS = 15  # of the calibration error, those of `Confidence`
_SEED = 0  # of noise and of places, the same for all trials


class DistortedTestError(Evaluation):
    """The error on the test images when all of them are distorted, as a curve over its strength.

    The distortions, each with the axis of its curve:

    - "rotation", by an angle in degrees about the centre; the error is the mean over both
      directions;
    - "scale", by a factor about the centre, above 1 for larger;
    - "noise", Gaussian of a standard deviation, which is drawn for each value by the image's number
      in the split, alike in all trials and at all points;
    - "blur", by a Gaussian of a standard deviation in pixels, cut off at three of them; the edge is
      continued;
    - "occlusion", by a black square whose side is a share of the image's shorter side, rounded to
      pixels; its place is drawn by the image's number, alike in all trials;
    - "contrast", by a factor on the distance of each value from the mean of its channel.

    Rotated and scaled images are interpolated bilinearly, without smoothing before they shrink;
    zeros come in from outside. All values are cut off at 0 and 1. At each point it also gives the
    calibration error, as `confidence` does with 15 bins; of several classes an image the winner is
    right if it is one of them.

    Attributes:
        distortion: What is done to the images.
        values: Points of the curve, ascending; empty for the distortion's own. The one that changes
            nothing, 0 or a factor of 1, is among them.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["distorted_test_error"] = "distorted_test_error"
    distortion: Distortion = "rotation"
    values: tuple[Annotated[float, Field(allow_inf_nan=False)], ...] = ()

    @model_validator(mode="after")
    def _check_values(self) -> "DistortedTestError":
        axis, values = _AXES[self.distortion], self._values
        for value in values:
            if not axis.lowest <= value <= axis.highest:
                raise ValueError(
                    f"values of '{self.distortion}' must be from {axis.lowest:g} to "
                    f"{axis.highest:g}, got {value:g}."
                )
        if axis.unchanged not in values:
            raise ValueError(
                f"values of '{self.distortion}' must include {axis.unchanged:g}, which changes "
                f"nothing, got {', '.join(f'{value:g}' for value in values)}."
            )
        self._curve("error")
        return self

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The error and the calibration error at each value."""
        return (*self._curve("error"), *self._curve("calibration_error"))

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return the errors at each value, and the images that are wrong there."""
        by_image: dict[str, Tensor] = {}
        calibration: dict[str, float] = {}
        points = zip(
            self._values, self._curve("error"), self._curve("calibration_error"), strict=True
        )
        for value, error, of_beliefs in points:
            directions = sorted({value, -value}) if self.distortion == "rotation" else [value]
            beliefs = torch.stack(
                [self._beliefs(trained, data, direction) for direction in directions]
            )
            errors = [image_errors(trained, turned, data.test.labels) for turned in beliefs]
            by_image[error.name] = torch.stack(errors).mean(dim=0)
            strongest, classes = beliefs.max(dim=2)
            is_right = torch.stack([shown(predicted, data.test.labels) for predicted in classes])
            calibration[of_beliefs.name] = calibration_error(
                strongest.flatten().cpu(), is_right.flatten().cpu(), _BINS
            )
        return Findings(
            metrics={name: row.mean().item() for name, row in by_image.items()} | calibration,
            images=by_image,
        )

    def _beliefs(
        self, trained: Trained, data: DataSplits, value: float
    ) -> Float[Tensor, "images classes"]:
        beliefs: list[Tensor] = []
        for start in range(0, len(data.test), EVALUATION_BATCH_SIZE):
            batch = data.test.take(slice(start, start + EVALUATION_BATCH_SIZE))
            indices = range(start, start + len(batch))
            images = distorted(batch.images, self.distortion, value, indices)
            beliefs.append(trained.predict(images).lengths)
        return torch.cat(beliefs)

    @property
    def _values(self) -> tuple[float, ...]:
        return self.values or _AXES[self.distortion].values

    def _curve(self, name: str) -> tuple[Metric, ...]:
        axis = _AXES[self.distortion]
        return self.curve(name, axis.name, self._values, axis.unit)


class _Axis(NamedTuple):
    """The axis of a distortion's curve: its name and unit, the values that may be and that are."""

    name: str
    unit: str
    unchanged: float
    lowest: float
    highest: float
    values: tuple[float, ...]


_AXES: dict[Distortion, _Axis] = {
    "rotation": _Axis("angle", "degrees", 0.0, 0.0, 180.0, (0.0, 10.0, 20.0, 30.0, 45.0, 60.0)),
    "scale": _Axis("factor", "", 1.0, 0.01, 100.0, (0.5, 0.625, 0.75, 0.875, 1.0, 1.25, 1.5, 2.0)),
    "noise": _Axis("deviation", "", 0.0, 0.0, 10.0, (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)),
    "blur": _Axis("deviation", "pixels", 0.0, 0.0, 100.0, (0.0, 0.5, 1.0, 1.5, 2.0)),
    "occlusion": _Axis("side", "of the image", 0.0, 0.0, 1.0, (0.0, 0.125, 0.25, 0.375, 0.5)),
    "contrast": _Axis("factor", "", 1.0, 0.0, 10.0, (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)),
}


def distorted(
    images: Float[Tensor, "batch channels height width"],
    distortion: Distortion,
    value: float,
    indices: range,
) -> Float[Tensor, "batch channels height width"]:
    """Return distorted images; the value that changes nothing returns them as they are.

    Args:
        images: Values in [0, 1].
        distortion: What is done.
        value: How much; a rotation may go either way, counter-clockwise above 0.
        indices: The images' numbers in their split, which decide what is drawn.
    """
    if value == _AXES[distortion].unchanged:
        return images
    return _DISTORT[distortion](images, value, indices).clamp(0, 1)


def _rotated(images: Tensor, degrees: float, indices: range) -> Tensor:
    del indices
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    height, width = images.shape[2:]
    # Places are in halves of the image's width and height, angles in pixels.
    rows = [[cosine, -sine * height / width, 0.0], [sine * width / height, cosine, 0.0]]
    return _sampled(images, rows)


def _scaled(images: Tensor, factor: float, indices: range) -> Tensor:
    del indices
    return _sampled(images, [[1 / factor, 0.0, 0.0], [0.0, 1 / factor, 0.0]])


def _sampled(images: Tensor, rows: list[list[float]]) -> Tensor:
    """Return images whose pixels are taken where a matrix of the coordinates says."""
    matrix = torch.tensor([rows], device=images.device).expand(len(images), 2, 3)
    grid = F.affine_grid(matrix, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, mode="bilinear", align_corners=False)


def _noisy(images: Tensor, deviation: float, indices: range) -> Tensor:
    shape = tuple(images.shape[1:])
    draws = [normal(shape, stream(_SEED, "noise", str(index))) for index in indices]
    return images + deviation * torch.stack(draws).to(images.device)


def _blurred(images: Tensor, deviation: float, indices: range) -> Tensor:
    del indices
    radius = math.ceil(3 * deviation)
    places = torch.arange(-radius, radius + 1, device=images.device)
    weights = torch.exp(-0.5 * (places / deviation).square())
    weights = (weights / weights.sum()).expand(images.shape[1], 1, 1, -1)
    padded = F.pad(images, [radius] * 4, mode="replicate")
    along_rows = F.conv2d(padded, weights, groups=images.shape[1])
    return F.conv2d(along_rows, weights.transpose(2, 3), groups=images.shape[1])


def _occluded(images: Tensor, share: float, indices: range) -> Tensor:
    height, width = images.shape[2:]
    side = round(share * min(height, width))
    draws = [uniform((2,), stream(_SEED, "occlusion", str(index))) for index in indices]
    return images.masked_fill(squares(torch.stack(draws).to(images.device), side, height, width), 0)


def squares(
    corners: Float[Tensor, "images two"], side: int, height: int, width: int
) -> Bool[Tensor, "images 1 height width"]:
    """Return which pixels lie in a square; a corner in [0, 1) is its place among all."""
    tops = (corners[:, 0] * (height - side + 1)).long().view(-1, 1, 1, 1)
    lefts = (corners[:, 1] * (width - side + 1)).long().view(-1, 1, 1, 1)
    rows = torch.arange(height, device=corners.device).view(-1, 1)
    columns = torch.arange(width, device=corners.device)
    is_row = (rows >= tops) & (rows < tops + side)
    return is_row & (columns >= lefts) & (columns < lefts + side)


def _with_contrast(images: Tensor, factor: float, indices: range) -> Tensor:
    del indices
    mean = images.mean(dim=(2, 3), keepdim=True)
    return mean + factor * (images - mean)


_DISTORT: dict[Distortion, Callable[[Tensor, float, range], Tensor]] = {
    "rotation": _rotated,
    "scale": _scaled,
    "noise": _noisy,
    "blur": _blurred,
    "occlusion": _occluded,
    "contrast": _with_contrast,
}
