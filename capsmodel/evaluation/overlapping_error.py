"""The error on pairs of overlapping images by the distance between them."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.data import DataSplits
from capsmodel.data.multi_mnist import OverlaidImages
from capsmodel.evaluation.base import Evaluation, Findings, UnsuitableNetworkError, image_errors
from capsmodel.metrics import Metric, percent
from capsmodel.training.trained import EVALUATION_BATCH_SIZE, Trained

_LITTLE = 0.001  # of all ink


class OverlappingError(Evaluation):
    """The error on the same pairs of test images at several distances, as a curve.

    Both images of a pair are moved by half of the distance between their centres, away from each
    other; along which axis is decided by the pair's number, alike at all distances. `overlap` is
    the ink that both share, the smaller of both values in each pixel, over the ink of that of the
    two with less: 1 where one covers the other, 0 where they are apart.

    With `same_class` the pairs are of two images of one class, each test original once. A label
    cannot say that there are two, nor can one capsule a class show two poses; so it is judged
    whether the one class is believed in most, `class_error`, and two reconstructions, which would
    be drawn from one pose, are not compared.

    Source: none; Sabour, Frosst and Hinton 2017, arXiv:1710.09829, sections 6 and 8, for pairs, and
    for the claim that two of one class at one place cannot be held.

    Attributes:
        distances: Points of the curve, in pixels, ascending.
        same_class: Whether pairs are of one class, in place of the test pairs of unlike classes.
    """

    takes: ClassVar[frozenset[str]] = frozenset({"classes"})
    kind: Literal["overlapping_error"] = "overlapping_error"
    distances: tuple[Annotated[int, Field(ge=0, le=32)], ...] = (0, 2, 4, 8, 12)
    same_class: bool = False

    @model_validator(mode="after")
    def _check_distances(self) -> "OverlappingError":
        self._curve("error")
        return self

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The error and the overlap of ink at each distance."""
        return (*self._errors(), *self._curve("overlap", direction=None))

    def evaluate(self, trained: Trained, data: DataSplits) -> Findings:
        """Return both at each distance; by image for the test pairs, which other figures share.

        Raises:
            UnsuitableNetworkError: If the data are no pairs that can be moved apart.
        """
        pairs = data.test
        if not isinstance(pairs, OverlaidImages):
            raise UnsuitableNetworkError(
                f"overlapping_error is for data of pairs that are laid over each other when they "
                f"are taken, multi_mnist and multi_fashion_mnist, got others of the kind "
                f"'{trained.config.data.kind}'."
            )
        if self.same_class:
            pairs = pairs.of_one_class()
        by_image: dict[str, Tensor] = {}
        notes: list[str] = []
        points = zip(
            self.distances, self._errors(), self._curve("overlap", direction=None), strict=True
        )
        for distance, error, overlap in points:
            judged = _judged(trained, pairs.apart(distance))
            by_image[error.name], by_image[overlap.name] = judged.errors, judged.overlaps
            notes += _lost(distance, judged)
        return Findings(
            metrics={metric.name: by_image[metric.name].mean().item() for metric in self.metrics},
            images={} if self.same_class else by_image,
            left_out=tuple(notes),
        )

    def _errors(self) -> tuple[Metric, ...]:
        if not self.same_class:
            return self._curve("error")
        return self._curve("class_error", words="error of the one class of a pair")

    def _curve(self, name: str, **facts: object) -> tuple[Metric, ...]:
        return self.curve(name, "distance", self.distances, "pixels", **facts)


class _Judged(NamedTuple):
    """What is found of pairs at a distance, on the CPU.

    Attributes:
        errors: Of each pair.
        overlaps: Of each pair.
        lost: The share of the ink of all originals that lies outside their images.
    """

    errors: Float[Tensor, " pairs"]
    overlaps: Float[Tensor, " pairs"]
    lost: float


def _judged(trained: Trained, pairs: OverlaidImages) -> _Judged:
    beliefs: list[Tensor] = []
    overlaps: list[Tensor] = []
    inside = 0.0
    for start in range(0, len(pairs), EVALUATION_BATCH_SIZE):
        batch = pairs.take(slice(start, start + EVALUATION_BATCH_SIZE))
        assert batch.parts is not None
        beliefs.append(trained.predict(batch.images).lengths)
        overlaps.append(overlap(batch.parts))
        inside += batch.parts.double().sum().item()
    ink = pairs.images.double().sum(dim=(1, 2, 3))[pairs.pairs.originals].sum().item()
    errors = image_errors(trained, torch.cat(beliefs), pairs.labels)
    return _Judged(errors, torch.cat(overlaps), 1 - inside / ink)


def overlap(
    parts: Float[Tensor, "pairs two channels height width"],
) -> Float[Tensor, " pairs"]:
    """Return the ink shared by the two images of each pair, as a share of the smaller ink."""
    first, second = parts.double().flatten(2).cpu().unbind(1)
    less = torch.minimum(first.sum(dim=1), second.sum(dim=1))
    return torch.minimum(first, second).sum(dim=1) / less.clamp(min=1e-12)


def _lost(distance: int, judged: _Judged) -> Iterator[str]:
    if judged.lost > _LITTLE:
        yield (
            f"At {distance} pixels {percent(judged.lost):.1f} % of the ink lies outside the images."
        )
