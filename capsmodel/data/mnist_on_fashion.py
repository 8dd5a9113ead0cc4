"""MNIST's digits on a ground of clothing: whether a network draws what it need not know."""

import hashlib
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int, UInt8
from pydantic import Field
from torch import Tensor

from capsmodel.chance import stream
from capsmodel.data.base import WHITE, DataSet, DataSplits, Images
from capsmodel.data.fashion_mnist import FashionMnist
from capsmodel.data.idx import IdxImages
from capsmodel.data.mnist import Mnist
from capsmodel.data.splits import hashed_draws
from capsmodel.functional.images import squares_of
from capsmodel.settings.parts import kind_of

_SIDE = 28
_CROP = _SIDE // 2  # enlarged twofold
_NUM_DRAWS = 3  # which image the ground is of, and the crop's place on both axes
_AT_ONCE = 1000


@dataclass(frozen=True, kw_only=True)
class ImagesOnGrounds(Images):
    """Images that are laid over crops of other images when they are taken.

    Attributes:
        images: What is laid over.
        grounds: What crops are taken of.
        draws: Numbers in [0, 1) that decide which crop is under each image.
        contrast: What grounds are multiplied by.
    """

    grounds: UInt8[Tensor, "grounds channels height width"]
    draws: Float[Tensor, "images draws"]
    contrast: float

    def take(self, indices: Int[Tensor, " taken"] | slice) -> Images:
        """Return the selected images on their grounds, as numbers in [0, 1]."""
        above = Images(self.images, self.labels).take(indices)
        number, top, left = self.draws[indices].unbind(1)
        chosen = (number * len(self.grounds)).long().clamp(max=len(self.grounds) - 1)
        crops = squares_of(self.grounds[chosen], _CROP, top, left).float() / WHITE
        ground = F.interpolate(crops, scale_factor=2, mode="bilinear", align_corners=False)
        covered = above.images + (1 - above.images) * self.contrast * ground
        return replace(above, images=covered.clamp(max=1))

    def of_epoch(self, epoch: int, seed: int) -> Images:
        """Return the same images on other grounds."""
        draws = torch.rand(self.draws.shape, generator=stream(seed, "grounds", str(epoch)))
        return replace(self, draws=draws.to(self.draws.device))


class MnistOnFashion(DataSet):
    """MNIST's digits over crops of Fashion-MNIST's images, drawn anew in each epoch.

    Under each digit is a square of 14 by 14 pixels of a piece of clothing, enlarged twofold, which
    shows through where the digit has no ink. Training, validation and test digits are over images
    of the same split of Fashion-MNIST. The grounds of validation and test are drawn by the digit's
    number in its split and are the same for ever.

    Attributes:
        contrast: What the grounds are multiplied by; with 0 the images are those of MNIST.
    """

    kind: Literal["mnist_on_fashion"] = "mnist_on_fashion"
    image_shape: ClassVar[tuple[int, int, int]] = (1, _SIDE, _SIDE)
    num_classes: ClassVar[int] = 10
    num_unsplit: ClassVar[int | None] = Mnist.num_unsplit
    digits: ClassVar[type[IdxImages]] = Mnist
    clothing: ClassVar[type[IdxImages]] = FashionMnist
    fingerprint: ClassVar[str] = hashlib.sha256(
        f"{Mnist.fingerprint} on {FashionMnist.fingerprint}".encode()
    ).hexdigest()
    contrast: Annotated[float, Field(ge=0, le=1)] = 1.0

    @property
    def images_of(self) -> tuple[str, ...]:
        """The kinds of the digits and of their grounds."""
        return kind_of(self.digits), kind_of(self.clothing)

    def downloads(self) -> dict[str, int | None]:
        """Return the missing files of the originals."""
        sources = [self._source(source, 1.0) for source in (self.digits, self.clothing)]
        return sources[0].downloads() | sources[1].downloads()

    def prepare(self) -> None:
        """Make sure that the images of both exist; download them if necessary.

        Raises:
            ValueError: If they neither exist nor can be downloaded, or the fraction is too small.
        """
        self._source(self.digits, self.fraction).prepare()
        self._source(self.clothing, 1.0).prepare()

    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits, whose training images are laid on their grounds when they are taken.

        Raises:
            ValueError: If the images neither exist nor can be downloaded, or the fraction is too
                small.
        """
        digits, clothing = (
            self._source(source, 1.0).load("cpu") for source in (self.digits, self.clothing)
        )
        train = self._laid(digits.train, clothing.train, "training")
        return DataSplits(
            train=replace(
                train,
                images=train.images.to(device),
                labels=train.labels.to(device),
                grounds=train.grounds.to(device),
                draws=train.draws.to(device),
            ),
            validation=self._fixed(digits.validation, clothing.validation, "validation", device),
            test=self._fixed(digits.test, clothing.test, "test", device),
        )

    def _source(self, source: type[IdxImages], fraction: float) -> IdxImages:
        shared = DataSet.model_fields.keys() - {"kind", "fraction", "train_fraction"}
        return source(**{name: getattr(self, name) for name in shared}, fraction=fraction)

    def _fixed(
        self, digits: Images, clothing: Images, split: str, device: str | torch.device
    ) -> Images:
        """Return the digits of a split on the same grounds for ever."""
        laid = self._laid(digits, clothing, split)
        starts = range(0, len(laid), _AT_ONCE)
        parts = [laid.take(slice(start, start + _AT_ONCE)).images for start in starts]
        return Images(torch.cat(parts).to(device), laid.labels.to(device))

    def _laid(self, digits: Images, clothing: Images, split: str) -> ImagesOnGrounds:
        """Return a part of a split. A digit's ground depends on its number in the uncut split."""
        labels = digits.labels.tolist()
        chosen = self._test_share(split, labels)
        if split == "training":
            chosen = self._train_share([*range(len(labels))], labels)
        if split == "training":  # drawn anew in each epoch
            draws = torch.rand(len(chosen), _NUM_DRAWS, generator=stream(0, "grounds", "0"))
        else:
            seeds = (f"{self.kind}/{split}/{number}" for number in chosen)
            draws = torch.tensor([hashed_draws(seed, _NUM_DRAWS) for seed in seeds])
        taken = digits.take(torch.tensor(chosen))
        return ImagesOnGrounds(
            images=taken.images,
            labels=taken.labels,
            grounds=(WHITE * clothing.images).round().to(torch.uint8),
            draws=draws,
            contrast=self.contrast,
        )
