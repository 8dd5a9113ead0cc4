"""Images under random affine maps: trained on at random places, tested where they are mapped."""

import hashlib
from abc import ABC
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.chance import stream
from capsmodel.data.base import DataSet, DataSplits, Images
from capsmodel.data.digits import Digits
from capsmodel.data.fashion_mnist import FashionMnist
from capsmodel.data.mnist import Mnist
from capsmodel.data.splits import hashed_draws
from capsmodel.functional.images import affine_matrices, mapped_by, moved_by
from capsmodel.settings.parts import kind_of

_NUM_DRAWS = 6  # rotation, shear, scale of both axes, place on both axes
_AT_ONCE = 1000


class Ranges(NamedTuple):
    """How far affine maps go.

    Attributes:
        rotation: Degrees, either way.
        shear: Pixels to the right or left a pixel down.
        scaling: Scales of each axis are from 1 minus it to 1 plus it.
    """

    rotation: float
    shear: float
    scaling: float


@dataclass(frozen=True, kw_only=True)
class PlacedImages(Images):
    """Originals on a larger black ground, mapped or only moved when they are taken.

    Attributes:
        images: The originals.
        margin: Pixels of black that are added on each side.
        draws: Numbers in [0, 1) that decide where each is and how it is mapped.
        ranges: Of the maps; None where originals are moved by whole pixels, to any place.
    """

    margin: int
    draws: Float[Tensor, "images draws"]
    ranges: Ranges | None

    def take(self, indices: Int[Tensor, " taken"] | slice) -> Images:
        """Return the selected images as they are mapped or moved, as numbers in [0, 1]."""
        originals = Images(self.images, self.labels, self.objects).take(indices)
        padded = F.pad(originals.images, [self.margin] * 4)
        draws = self.draws[indices]
        if self.ranges is None:
            places = (draws[:, 4:] * (2 * self.margin + 1)).long() - self.margin
            return replace(originals, images=moved_by(padded, places, self.margin))
        images = mapped_by(padded, *self.maps(indices)).clamp(max=1)
        return replace(originals, images=images)

    def maps(
        self, indices: Int[Tensor, " taken"] | slice
    ) -> tuple[Float[Tensor, "taken 2 2"], Float[Tensor, "taken 2"]]:
        """Return the matrix and the translation of each selected image, to the right and down."""
        assert self.ranges is not None
        draws = self.draws[indices]
        matrices = affine_matrices(draws[:, :4], *self.ranges)
        return matrices, _translations(self.images[indices], self.margin, matrices, draws[:, 4:])

    def of_epoch(self, epoch: int, seed: int) -> Images:
        """Return the same originals at other places, under other maps."""
        generator = stream(seed, "maps", str(epoch))
        draws = torch.rand(self.draws.shape, generator=generator)
        return replace(self, draws=draws.to(self.draws.device))


class AffineDataSet(DataSet, ABC):
    """Grey images of another data set on a larger black ground, tested on affine maps of them.

    Each test image is scaled along both axes, sheared along the rows, rotated, and moved to a
    random place where none of it is cut off; one that fits nowhere is put in the middle. Its map is
    drawn by its number in the test split and is the same for ever. The extra test "placed" has the
    same images, only moved. Training images are drawn anew in each epoch, validation images are
    made likewise, once. Between pixels images are interpolated bilinearly.

    Arms that differ in `trained_on` have other data, so that tables do not compare them image by
    image. `augmentation=steps` with a rotation, shear and scaling maps the images of placed
    training, and leaves the data as they are.

    Attributes:
        trained_on: "placed" for images that are moved by whole pixels to any place, "mapped" for
            images under such maps as those of the test.
        rotation: The largest angle of a rotation, in degrees.
        shear: The most that a pixel is moved along its row for each row.
        scaling: Scales are from 1 minus it to 1 plus it, on each axis its own.
    """

    source: ClassVar[type[DataSet]]
    margin: ClassVar[int]
    trained_on: Literal["placed", "mapped"] = "placed"
    rotation: Annotated[float, Field(ge=0, le=180)] = 20.0
    shear: Annotated[float, Field(ge=0, le=1)] = 0.2
    scaling: Annotated[float, Field(ge=0, lt=1)] = 0.2

    @property
    def images_of(self) -> tuple[str, ...]:
        """The kind of the originals."""
        return (kind_of(self.source),)

    @model_validator(mode="after")
    def _check_grey(self) -> "AffineDataSet":
        channels = self._originals(1.0).image_shape[0]
        if channels != 1:
            raise ValueError(
                f"The data '{self.kind}' map grey images on black ground, and those of "
                f"'{kind_of(self.source)}' have {channels} channels: let `source` be of one."
            )
        return self

    @property
    def image_shape(self) -> tuple[int, int, int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the originals and of the black around them."""
        channels, height, width = self._originals(1.0).image_shape
        return channels, height + 2 * self.margin, width + 2 * self.margin

    @property
    def num_classes(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Those of the originals."""
        return self._originals(1.0).num_classes

    def downloads(self) -> dict[str, int | None]:
        """Return the missing files of the originals."""
        return self._originals(1.0).downloads()

    def prepare(self) -> None:
        """Make sure that the originals exist; download them if necessary.

        Raises:
            ValueError: If they neither exist nor can be downloaded, or the fraction is too small.
        """
        self._originals(self.fraction).prepare()

    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits, whose training images are mapped or moved when they are taken.

        Raises:
            ValueError: If the originals neither exist nor can be downloaded, or the fraction is too
                small.
        """
        originals = self._originals(1.0).load("cpu")
        ranges = Ranges(self.rotation, self.shear, self.scaling)
        of_training = None if self.trained_on == "placed" else ranges
        return DataSplits(
            train=self._placed(originals.train, "training", of_training, device),
            validation=self._fixed(originals.validation, "validation", of_training, device),
            test=self._fixed(originals.test, "test", ranges, device),
            extra_tests={"placed": self._fixed(originals.test, "test", None, device)},
        )

    def _originals(self, fraction: float) -> DataSet:
        return self.source(
            kind=kind_of(self.source),
            validation_fraction=self.validation_fraction,
            split_seed=self.split_seed,
            fraction=fraction,
        )

    def _fixed(
        self, originals: Images, split: str, ranges: Ranges | None, device: str | torch.device
    ) -> Images:
        """Return the images of a split as they are mapped or moved once and for all."""
        placed = self._placed(originals, split, ranges, "cpu")
        parts = [
            placed.take(slice(start, start + _AT_ONCE)).images
            for start in range(0, len(placed), _AT_ONCE)
        ]
        return Images(torch.cat(parts).to(device), placed.labels.to(device))

    def _placed(
        self, originals: Images, split: str, ranges: Ranges | None, device: str | torch.device
    ) -> PlacedImages:
        """Return a part of a split. An image's draws depend on its number in the uncut split."""
        labels = originals.labels.tolist()
        chosen = self._test_share(split, labels)
        if split == "training":
            chosen = self._train_share([*range(len(labels))], labels)
        taken = originals.take(torch.tensor(chosen))
        if split == "training":  # drawn anew in each epoch
            draws = torch.rand(len(chosen), _NUM_DRAWS, generator=stream(0, "maps", "0"))
        else:
            draws = torch.tensor(
                [hashed_draws(f"{self.kind}/{split}/{index}", _NUM_DRAWS) for index in chosen]
            )
        return PlacedImages(
            images=taken.images.to(device),
            labels=taken.labels.to(device),
            margin=self.margin,
            draws=draws.to(device),
            ranges=ranges,
        )


def _fingerprint(source: type[DataSet]) -> str:
    """Return a hash of the originals and of the way of mapping; loading verifies the originals."""
    return hashlib.sha256(f"affine maps of {source.fingerprint}".encode()).hexdigest()


class AffineMnist(AffineDataSet):
    """MNIST's digits on 40 by 40 pixels, tested on affine maps of them.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 5.1: trained on digits at
    random places, tested on affNIST.
    Difference: the maps are our own, with ranges like affNIST's: results say nothing of affNIST,
    which is `affnist`.

    Attributes:
        trained_on: "placed" for digits that are moved by whole pixels to any place, "mapped" for
            digits under such maps as those of the test.
        rotation: The largest angle of a rotation, in degrees.
        shear: The most that a pixel is moved along its row for each row.
        scaling: Scales are from 1 minus it to 1 plus it, on each axis its own.
    """

    source: ClassVar[type[DataSet]] = Mnist
    num_unsplit: ClassVar[int | None] = Mnist.num_unsplit
    margin: ClassVar[int] = 6
    fingerprint: ClassVar[str] = _fingerprint(Mnist)
    kind: Literal["affine_mnist"] = "affine_mnist"


class AffineFashionMnist(AffineDataSet):
    """Pieces of clothing on 40 by 40 pixels, mapped as the digits of `affine_mnist`.

    Attributes:
        trained_on: "placed" for images that are moved by whole pixels to any place, "mapped" for
            images under such maps as those of the test.
        rotation: The largest angle of a rotation, in degrees.
        shear: The most that a pixel is moved along its row for each row.
        scaling: Scales are from 1 minus it to 1 plus it, on each axis its own.
    """

    source: ClassVar[type[DataSet]] = FashionMnist
    num_unsplit: ClassVar[int | None] = FashionMnist.num_unsplit
    margin: ClassVar[int] = 6
    class_names: ClassVar[tuple[str, ...]] = FashionMnist.class_names
    fingerprint: ClassVar[str] = _fingerprint(FashionMnist)
    kind: Literal["affine_fashion_mnist"] = "affine_fashion_mnist"


class AffineDigits(AffineDataSet):
    """The digits of `digits` on 14 by 14 pixels, mapped as those of `affine_mnist`.

    Attributes:
        trained_on: "placed" for digits that are moved by whole pixels to any place, "mapped" for
            digits under such maps as those of the test.
        rotation: The largest angle of a rotation, in degrees.
        shear: The most that a pixel is moved along its row for each row.
        scaling: Scales are from 1 minus it to 1 plus it, on each axis its own.
    """

    source: ClassVar[type[DataSet]] = Digits
    num_unsplit: ClassVar[int | None] = Digits.num_unsplit
    margin: ClassVar[int] = 3
    fingerprint: ClassVar[str] = _fingerprint(Digits)
    kind: Literal["affine_digits"] = "affine_digits"


def _translations(
    images: Float[Tensor, "batch channels height width"],
    margin: int,
    matrices: Float[Tensor, "batch 2 2"],
    draws: Float[Tensor, "batch 2"],
) -> Float[Tensor, "batch 2"]:
    """Return translations that let no mapped image be cut off, or put it in the middle.

    What is within the margin around the images counts as inside.
    """
    height, width = images.shape[2:]
    ink = (images > 0).any(dim=1)
    places = torch.arange(width, device=images.device) - (width - 1) / 2
    far = torch.full((), float("inf"), device=images.device)
    left = torch.where(ink, places, far).amin(dim=2)
    right = torch.where(ink, places, -far).amax(dim=2)
    is_ink = left.isfinite()
    rows = torch.arange(height, device=images.device) - (height - 1) / 2
    moved: list[Tensor] = []
    for axis, size in enumerate((width, height)):
        along, across = matrices[:, axis, :1], matrices[:, axis, 1:]
        ends = torch.stack([along * left, along * right]) + across * rows
        reach = along.abs() + across.abs()  # of a pixel, as its neighbours are interpolated with it
        lowest = torch.where(is_ink, ends.amin(dim=0), far).amin(dim=1) - reach[:, 0]
        highest = torch.where(is_ink, ends.amax(dim=0), -far).amax(dim=1) + reach[:, 0]
        edge = (size + 1) / 2 + margin  # the first pixel outside
        low, high = -edge - lowest, edge - highest
        middle = (low + high) / 2
        low, high = torch.minimum(low, middle), torch.maximum(high, middle)
        moved.append(low + draws[:, axis] * (high - low))
    return torch.stack(moved, dim=1).nan_to_num()  # an image that is all black has no bounds
