"""How well the poses of the class capsules tell by how much an image has moved."""

from typing import Annotated, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from capsmodel.data import DataSplits, Images
from capsmodel.evaluation.base import Evaluation, Findings, UnsuitableNetworkError
from capsmodel.evaluation.shifted_test_error import shifted
from capsmodel.metrics import Metric
from capsmodel.training.trained import EVALUATION_BATCH_SIZE, Trained


class Equivariance(Evaluation):
    """How well a linear map tells from a change of a pose by how much the image has moved.

    Each image is moved by all whole shifts up to a distance; zeros come in at the edge. For each
    class a linear map from the change of the pose of its capsule to the shift, without an offset,
    is fitted to the validation images of the class and judged on its test images. `r_squared` is 1
    minus the squared errors of all shifts of all test images over the squared shifts: 1 where poses
    change linearly with the place, 0 or less where they tell nothing. `length_spread` is the
    standard deviation of the true capsule's length over the shifts of an image, over its standard
    deviation over images: near 0 where the belief in a class does not depend on the place. Compare
    both with an untrained network's. Source: none.

    Attributes:
        pixels: The largest shift, down or up and to the right or left.
    """

    kind: Literal["equivariance"] = "equivariance"
    pixels: Annotated[int, Field(ge=1, le=16)] = 1

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The determination of the shift, and how much lengths depend on it."""
        return (
            self.metric("r_squared", unit=None, direction="larger", words="R squared of the shift"),
            self.metric("length_spread", unit=None, direction=None),
        )

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return both numbers.

        Raises:
            ValueError: If the network has no poses.
        """
        fitted, judged = (self._changes(trained, split) for split in (data.validation, data.test))
        maps = torch.stack(
            [
                _least_squares(fitted.poses[fitted.labels == label], self._shifts())
                for label in range(trained.config.data.num_classes)
            ]
        )
        errors = judged.poses @ maps[judged.labels] - self._shifts()
        squares = len(judged.labels) * self._shifts().square().sum()
        over_images = judged.lengths.std(dim=0).mean().clamp(min=1e-12)
        over_shifts = judged.lengths.var(dim=1, correction=0).mean().sqrt()
        return Findings(
            metrics={
                "r_squared": 1 - (errors.square().sum() / squares).item(),
                "length_spread": (over_shifts / over_images).item(),
            }
        )

    def _places(self) -> list[tuple[int, int]]:
        reach = range(-self.pixels, self.pixels + 1)
        return [(down, right) for down in reach for right in reach if down or right]

    def _shifts(self) -> Float[Tensor, "shifts two"]:
        return torch.tensor(self._places(), dtype=torch.float64)

    def _changes(self, trained: Trained, split: Images) -> "_Changes":
        start = _true_poses(trained, split, 0, 0)
        moved = torch.stack([_true_poses(trained, split, *by) for by in self._places()], dim=1)
        lengths = torch.linalg.vector_norm(moved, dim=2)
        return _Changes(moved - start.unsqueeze(1), lengths, split.labels.cpu().long())


class _Changes(NamedTuple):
    """How the pose of each image's true class changes with each shift, on the CPU.

    Attributes:
        poses: What is added to it.
        lengths: How long it is then.
        labels: The true classes.
    """

    poses: Float[Tensor, "images shifts pose"]
    lengths: Float[Tensor, "images shifts"]
    labels: Int[Tensor, " images"]


def _true_poses(
    trained: Trained, split: Images, down: int, right: int
) -> Float[Tensor, "images pose"]:
    """Return the pose of the true class of each image, which is moved.

    Raises:
        ValueError: If the network has no poses.
    """
    of_batches: list[Tensor] = []
    for start in range(0, len(split), EVALUATION_BATCH_SIZE):
        batch = split.take(slice(start, start + EVALUATION_BATCH_SIZE))
        with torch.no_grad():
            poses = trained.outputs(shifted(batch.images, down, right)).poses
        if poses is None:
            raise UnsuitableNetworkError(
                f"equivariance is for networks with poses of the classes, got the model "
                f"'{trained.config.model.kind}' without."
            )
        of_batches.append(poses[torch.arange(len(poses)), batch.labels.long()].double().cpu())
    return torch.cat(of_batches)


def _least_squares(
    poses: Float[Tensor, "images shifts pose"], shifts: Float[Tensor, "shifts two"]
) -> Float[Tensor, "pose two"]:
    """Return the linear map from changes of poses to shifts; zero where there are no images."""
    rows, targets = poses.flatten(0, 1), shifts.repeat(len(poses), 1)
    if not len(rows):
        return torch.zeros((poses.shape[2], 2), dtype=torch.float64)
    # Of many solutions, as where a number never changes, it takes the shortest.
    return torch.linalg.lstsq(rows, targets, driver="gelsd").solution
