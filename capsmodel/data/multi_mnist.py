"""Two overlapping digits an image: training pairs are drawn anew, test pairs are fixed."""

import hashlib
from abc import ABC
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Int64
from pydantic import Field
from torch import Tensor

from capsmodel.chance import stream
from capsmodel.data.base import DataSet, DataSplits, Images
from capsmodel.data.fashion_mnist import FashionMnist
from capsmodel.data.idx import IdxImages
from capsmodel.data.mnist import Mnist
from capsmodel.data.splits import shuffled
from capsmodel.functional.images import moved_by
from capsmodel.settings.parts import kind_of
from capsmodel.tasks import SeveralClasses, Task

_CLASSES = 10
_GROUP = 4  # originals whose pairs are made among themselves
_ATTEMPTS = 20


@dataclass(frozen=True)
class _Pairs:
    """Which two originals an image shows, and how far each is moved.

    Attributes:
        originals: Their places in the split.
        shifts: Pixels down and to the right of each.
    """

    originals: Int64[Tensor, "images two"]
    shifts: Int64[Tensor, "images two axes"]


@dataclass(frozen=True, kw_only=True)
class OverlaidImages(Images):
    """Pairs of originals, laid over each other when they are taken.

    Attributes:
        images: The originals.
        labels: Of each pair, whether it shows each class.
        classes: The class of each original.
        pairs: Which originals each image shows.
        margin: Pixels of black that are added on each side.
        shift: Largest shift on each axis.
        are_redrawn: Whether each epoch of a training has other pairs.
    """

    images: Float[Tensor, "originals channels rows columns"]
    classes: Int64[Tensor, " originals"]
    pairs: _Pairs
    margin: int
    shift: int
    are_redrawn: bool

    def take(self, indices: Int[Tensor, " taken"] | slice) -> Images:
        """Return the selected pairs, as numbers in [0, 1], with each of the two as a part.

        A pixel of a pair is the sum of both, at most 1.
        """
        originals, shifts = self.pairs.originals[indices], self.pairs.shifts[indices]
        images, other_images = (
            self._moved(originals[:, member], shifts[:, member]) for member in range(2)
        )
        first, second = self.classes[originals].unbind(1)
        is_ascending = (first < second).view(-1, 1, 1, 1)
        parts = torch.stack(
            [images.where(is_ascending, other_images), other_images.where(is_ascending, images)],
            dim=1,
        )
        objects = None if self.objects is None else self.objects[indices]
        return Images((images + other_images).clamp(max=1), self.labels[indices], objects, parts)

    def of_epoch(self, epoch: int, seed: int) -> Images:
        """Return the pairs of one epoch: each original once, under an original of another class."""
        if not self.are_redrawn:
            return self
        generator = stream(seed, "pairs", str(epoch))
        return self.paired(_drawn_pairs(self.classes.cpu(), self.shift, generator))

    def apart(self, distance: int) -> "OverlaidImages":
        """Return the same pairs, the centres of both as many pixels apart along one axis.

        Each is moved by half of it. The axis, and which of the two is first on it, are decided by
        the pair's number.

        Args:
            distance: In pixels.
        """
        halves = torch.tensor([-(distance // 2), distance - distance // 2])
        shifts = torch.zeros((len(self), 2, 2), dtype=torch.long)
        for place in range(len(self)):
            axis, is_turned = _hashed_bits(f"apart/{place}")
            shifts[place, :, axis] = halves.flip(0) if is_turned else halves
        pairs = _Pairs(self.pairs.originals, shifts)
        return replace(self.paired(pairs), shift=distance - distance // 2)

    def of_one_class(self) -> "OverlaidImages":
        """Return pairs of unlike originals of one class, in which each original occurs once.

        One original of a class is left out where their number is odd.
        """
        originals: list[tuple[int, int]] = []
        for label in range(_CLASSES):
            members = tuple(torch.nonzero(self.classes == label).flatten().tolist())
            order = shuffled(members, f"pairs of class {label}")
            originals += zip(order[::2], order[1::2], strict=False)
        rows = torch.tensor(originals, dtype=torch.long).view(-1, 2)
        pairs = _Pairs(rows, torch.zeros((len(rows), 2, 2), dtype=torch.long))
        return replace(self, objects=None).paired(pairs)

    def paired(self, pairs: _Pairs) -> "OverlaidImages":
        """Return other pairs of the same originals."""
        device = self.images.device
        pairs = _Pairs(pairs.originals.to(device), pairs.shifts.to(device))
        return replace(self, labels=_labels(self.classes, pairs), pairs=pairs)

    def _moved(
        self, originals: Int64[Tensor, " taken"], shifts: Int64[Tensor, "taken axes"]
    ) -> Float[Tensor, "taken channels height width"]:
        return moved_by(F.pad(self.images[originals], [self.margin] * 4), shifts, self.shift)


class OverlaidDataSet(DataSet, ABC):
    """Pairs of images of unlike classes of another data set, moved apart and laid over each other.

    Each training epoch has as many pairs as there are training originals: each is once the lower
    one, under another that is drawn anew, as are both shifts. The pairs of validation and test are
    fixed: two rounds in each of which every original occurs once. Pairs are made within groups of
    four originals, so that the groups, which intervals of tables are over, are independent.

    Attributes:
        shift: The most that each of the two is moved on each axis, in pixels.
        halved: Whether originals are halved by means of 2 by 2 pixels, and 2 pixels of black added,
            for images of 18 by 18 pixels that a processor can learn.
    """

    task: ClassVar[Task] = SeveralClasses(most=2)
    num_classes: ClassVar[int] = _CLASSES
    source: ClassVar[type[IdxImages]]
    shift: Annotated[int, Field(ge=0, le=6)] = 4
    halved: bool = False

    @property
    def images_of(self) -> tuple[str, ...]:
        """The kind of the originals."""
        return (kind_of(self.source),)

    @property
    def image_shape(self) -> tuple[int, int, int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """36 by 36 grey pixels; halved, 18 by 18."""
        return (1, 18, 18) if self.halved else (1, 36, 36)

    def downloads(self) -> dict[str, int | None]:
        """Return the missing files of the originals."""
        return self._originals().downloads()

    def prepare(self) -> None:
        """Make sure that the originals exist; download them if necessary.

        Raises:
            ValueError: If they neither exist nor can be downloaded.
        """
        self._originals().prepare()

    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits, whose pairs are laid over each other when they are taken.

        Raises:
            ValueError: If the originals neither exist nor can be downloaded, or the fraction is too
                small.
        """
        splits = self._originals().load("cpu")
        return DataSplits(
            train=self._pairs(splits.train, "", device),
            validation=self._pairs(splits.validation, "validation", device),
            test=self._pairs(splits.test, "test", device),
        )

    def _originals(self) -> IdxImages:
        shared = DataSet.model_fields.keys() - {"kind"}
        return self.source(**{name: getattr(self, name) for name in shared})

    def _pairs(self, originals: Images, split: str, device: str | torch.device) -> Images:
        """Return the pairs of a split; those without a name are drawn anew in each epoch."""
        images = F.avg_pool2d(originals.images, 2) if self.halved else originals.images
        groups = None
        if split:
            seed = f"{kind_of(self.source)}/pairs/{split}"
            pairs, groups = _rounds(tuple(originals.labels.tolist()), self.shift, seed)
        else:
            pairs = _drawn_pairs(originals.labels, self.shift, stream(0, "pairs", "0"))
        return OverlaidImages(
            images=images.to(device),
            labels=_labels(originals.labels, pairs).to(device),
            objects=None if groups is None else groups.to(device),
            classes=originals.labels.to(device),
            pairs=_Pairs(pairs.originals.to(device), pairs.shifts.to(device)),
            margin=2 if self.halved else 4,
            shift=self.shift,
            are_redrawn=not split,
        )


def _fingerprint(source: type[IdxImages]) -> str:
    """Return a hash of the originals and of the way of pairing; loading verifies the originals."""
    return hashlib.sha256(f"pairs of {source.fingerprint}".encode()).hexdigest()


class MultiMnist(OverlaidDataSet):
    """Pairs of handwritten digits, moved apart and laid over each other.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 6, and its program: 4 pixels
    of black are added, both are moved by up to 4 pixels (6 in its published command) on each axis,
    and their sum is at most white.
    Difference: no stored set of 60 million pairs; 10,000 test pairs, not 10 million, which show the
    same 10,000 originals.

    Attributes:
        shift: The most that each of the two is moved on each axis, in pixels.
        halved: Whether originals are halved by means of 2 by 2 pixels, and 2 pixels of black added.
    """

    source: ClassVar[type[IdxImages]] = Mnist
    num_unsplit: ClassVar[int | None] = Mnist.num_unsplit
    fingerprint: ClassVar[str] = _fingerprint(Mnist)
    kind: Literal["multi_mnist"] = "multi_mnist"


class MultiFashionMnist(OverlaidDataSet):
    """Pairs of pieces of clothing, made as those of `multi_mnist`.

    Attributes:
        shift: The most that each of the two is moved on each axis, in pixels.
        halved: Whether originals are halved by means of 2 by 2 pixels, and 2 pixels of black added.
    """

    source: ClassVar[type[IdxImages]] = FashionMnist
    num_unsplit: ClassVar[int | None] = FashionMnist.num_unsplit
    class_names: ClassVar[tuple[str, ...]] = FashionMnist.class_names
    fingerprint: ClassVar[str] = _fingerprint(FashionMnist)
    kind: Literal["multi_fashion_mnist"] = "multi_fashion_mnist"


def _labels(classes: Int64[Tensor, " originals"], pairs: _Pairs) -> Bool[Tensor, "images classes"]:
    """Return of each pair whether it shows each class."""
    shown = classes[pairs.originals].unsqueeze(2)
    return (shown == torch.arange(_CLASSES, device=classes.device)).any(dim=1)


def _drawn_pairs(
    classes: Int64[Tensor, " originals"], shift: int, generator: torch.Generator
) -> _Pairs:
    """Return a pair for each original: a second original of another class over it, both moved."""
    below = torch.arange(len(classes))
    above = torch.randint(len(classes), (len(classes),), generator=generator)
    while bool((is_like := classes[above] == classes[below]).any()):
        redrawn = torch.randint(len(classes), (int(is_like.sum()),), generator=generator)
        above[is_like] = redrawn
    shifts = torch.randint(-shift, shift + 1, (len(classes), 2, 2), generator=generator)
    return _Pairs(torch.stack([below, above], dim=1), shifts)


@lru_cache(maxsize=16)
def _rounds(
    classes: Sequence[int], shift: int, seed: str
) -> tuple[_Pairs, Int64[Tensor, " images"]]:
    """Return two rounds of pairs of unlike classes, and the group that each pair belongs to.

    Of four originals a, b, c, d the pairs are ab, cd, ac and bd: in each round every one occurs
    once. If not all can be grouped so, other orders are tried; the best leaves some out.
    """
    orders = (
        shuffled(tuple(range(len(classes))), f"{seed}/{attempt}") for attempt in range(_ATTEMPTS)
    )
    groups: list[tuple[int, int, int, int]] = []
    for order in orders:
        groups = max(groups, _groups(classes, order), key=len)
        if len(groups) == len(classes) // _GROUP:
            break
    originals = [pair for a, b, c, d in groups for pair in ((a, b), (c, d), (a, c), (b, d))]
    number = torch.arange(len(groups)).repeat_interleave(_GROUP)
    shifts = [
        [_hashed_shift(f"{seed}/{place}/{member}", shift) for member in range(2)]
        for place in range(len(originals))
    ]
    pairs = _Pairs(torch.tensor(originals).view(-1, 2), torch.tensor(shifts).view(-1, 2, 2))
    return pairs, number


def _groups(classes: Sequence[int], order: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Return groups of four whose classes allow their four pairs, from originals in a given order.

    Each group takes the first original that is left, then the first ones that fit.
    """
    remaining, groups = list(order), list[tuple[int, int, int, int]]()
    while remaining:
        a = remaining.pop(0)
        b = _first(remaining, lambda original, a=a: classes[original] != classes[a])
        c = _first(remaining, lambda original, a=a: classes[original] != classes[a])
        if b is None or c is None:
            break
        unlike = {classes[b], classes[c]}
        d = _first(remaining, lambda original, unlike=unlike: classes[original] not in unlike)
        if d is None:
            break
        groups.append((a, b, c, d))
    return groups


def _first(remaining: list[int], fits: Callable[[int], bool]) -> int | None:
    """Remove and return the first remaining original that fits, or None."""
    place = next((place for place, original in enumerate(remaining) if fits(original)), None)
    return None if place is None else remaining.pop(place)


def _hashed_bits(seed: str) -> tuple[int, int]:
    digest = hashlib.sha256(seed.encode()).digest()
    return digest[0] % 2, digest[1] % 2


def _hashed_shift(seed: str, most: int) -> list[int]:
    digest = hashlib.sha256(seed.encode()).digest()
    draws = (int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:16], "big"))
    return [draw % (2 * most + 1) - most for draw in draws]
