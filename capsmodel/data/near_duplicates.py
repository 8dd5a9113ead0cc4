"""Copies of images in another split: saved again, with noise, mirrored, or moved by a pixel.

Such copies have other pixels, so that no hash finds them. Each image is compared with the few of
the other split that it is most alike to at 8 x 8 pixels, as it is and mirrored. It is a copy of the
nearest if that is much nearer than the others: sparse drawings lie close to each other, photographs
far apart, and a copy stands out from both.
"""

from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate, product
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from capsmodel.data.base import DataSplits, Images

_SIDE = 8  # of the small images: 16 finds no more copies and takes four times as long
_NUM_CANDIDATES = 20
_LARGEST_SIDE = 64  # at which candidates are compared
_RIVAL = 5  # the fifth nearest, as an original may itself occur a few times
_NEARER = 0.3  # a copy's share of the rival's distance
_FARTHEST = 0.25  # distance of a copy; that of images that are not alike at all is 1.4
_NEAR = 0.05  # distance of a copy, however near the others are
_MOVES = sorted(product((-1, 0, 1), repeat=2), key=lambda move: move != (0, 0))  # none first
_BLANK = 1e-4  # length of an image, its mean taken out, that shows nothing
_BLOCK = 2**24  # numbers of 4 bytes at once
_MOST_COMPARISONS = 1_000_000_000  # of two splits


class NearDuplicate(NamedTuple):
    """An image that is a changed copy.

    Attributes:
        image: Its number in its split.
        original_split: "training" or "validation", where its original is.
        original: The number of its original there.
        is_mirrored: Whether it is the mirror image.
        is_moved: Whether it is moved by a pixel.
    """

    image: int
    original_split: str
    original: int
    is_mirrored: bool
    is_moved: bool


class NearDuplicates(NamedTuple):
    """The images of one split that are changed copies of images in the splits before it.

    Attributes:
        split: Name of the split.
        num_compared: How many of its images were compared: all, or a part spread evenly over it
            where splits are large.
        pairs: The copies, ascending.
    """

    split: str
    num_compared: int
    pairs: tuple[NearDuplicate, ...]


class _Originals:
    """Images of several splits, numbered through.

    Attributes:
        num_pixels: Of an image.
        small: Small images of all of them.
        scales: One over the length of each, its mean taken out.
    """

    def __init__(self, **splits: Images) -> None:
        self._splits = splits
        self._ends = list(accumulate(map(len, splits.values())))
        self._shape = next(iter(splits.values())).take(slice(1)).images.shape[1:]
        self.num_pixels = self._shape.numel()
        chunks = torch.arange(self._ends[-1]).split(max(1, _BLOCK // self.num_pixels))
        facts = [_small_and_scales(self.take(rows)) for rows in chunks]
        self.small = torch.cat([small for small, _ in facts]).T.contiguous()
        self.scales = torch.cat([scales for _, scales in facts])

    def __len__(self) -> int:
        return self._ends[-1]

    def take(self, rows: Int[Tensor, " taken"]) -> Float[Tensor, "taken channels height width"]:
        """Return images as numbers."""
        taken = torch.empty(len(rows), *self._shape)
        first = 0
        for images, end in zip(self._splits.values(), self._ends, strict=True):
            is_of_split = (rows >= first) & (rows < end)
            taken[is_of_split] = images.take(rows[is_of_split] - first).images
            first = end
        return taken

    def place(self, row: int) -> tuple[str, int]:
        """Return the split of an image, and its number there."""
        part = bisect(self._ends, row)
        name = [*self._splits][part]
        return name, row - self._ends[part] + len(self._splits[name])


def near_duplicates(splits: DataSplits) -> tuple[NearDuplicates, ...]:
    """Return the changed copies of images in the splits before; equal images are none.

    Validation images are compared with training images, those of tests with both. Takes 14 seconds
    on two cores for 70,000 images of 28 x 28, and some 200 MB in addition to the data.
    """
    if splits.train.labels.is_meta:
        return ()
    of_both = _Originals(training=splits.train, validation=splits.validation)
    tests = {"test": splits.test, **splits.extra_tests}
    return (
        _duplicates("validation", splits.validation, _Originals(training=splits.train)),
        *(_duplicates(name, images, of_both) for name, images in tests.items()),
    )


def _duplicates(split: str, images: Images, originals: _Originals) -> NearDuplicates:
    num_compared = max(1, min(len(images), _MOST_COMPARISONS // len(originals)))
    compared = torch.linspace(0, len(images) - 1, num_compared, dtype=torch.float64).long()
    size = max(1, _BLOCK // max(len(originals), _NUM_CANDIDATES * originals.num_pixels))
    pairs = (
        pair
        for rows in compared.split(size)
        for pair in _duplicates_of(rows, images.take(rows).images, originals)
    )
    return NearDuplicates(split, num_compared, tuple(pairs))


def _duplicates_of(
    rows: Int[Tensor, " block"],
    images: Float[Tensor, "block channels height width"],
    originals: _Originals,
) -> Iterator[NearDuplicate]:
    as_they_are, mirrored = _copied(images, originals), _copied(images.flip(-1), originals)
    for index, row in enumerate(rows.tolist()):
        is_mirrored = index not in as_they_are
        if copied := mirrored.get(index) if is_mirrored else as_they_are[index]:
            original, is_moved = copied
            if not torch.equal(originals.take(torch.tensor([original]))[0], images[index]):
                yield NearDuplicate(row, *originals.place(original), is_mirrored, is_moved)


def _copied(
    images: Float[Tensor, "block channels height width"],
    originals: _Originals,
) -> dict[int, tuple[int, bool]]:
    """Return which images are copies -> the number of the original, and whether it is moved."""
    num_candidates = min(_NUM_CANDIDATES, len(originals))
    candidates = (_small(images) @ originals.small).topk(num_candidates).indices
    others = _at_most_largest(originals.take(candidates.flatten())).flatten(1)
    cosines = others.view(*candidates.shape, -1) @ _moved(_at_most_largest(images))
    cosines *= originals.scales[candidates].unsqueeze(2)
    of_moves = (2 - 2 * cosines).clamp_min(0).sqrt()  # 0 to 2
    distances, moves = of_moves.min(dim=2)
    nearest, places = distances.min(dim=1)
    rivals = distances.kthvalue(min(_RIVAL, num_candidates)).values
    is_copy = (nearest <= _FARTHEST) & (nearest <= _NEARER * rivals)
    is_copy |= nearest <= _NEAR
    indices = is_copy.nonzero().flatten().tolist()
    nearest_places = {index: int(places[index]) for index in indices}
    return {
        index: (int(candidates[index, place]), int(moves[index, place]) > 0)
        for index, place in nearest_places.items()
    }


def _small(
    images: Float[Tensor, "images channels height width"],
) -> Float[Tensor, "images features"]:
    """Return grey images of 8 x 8, each of mean 0 and length 1; blank ones are 0."""
    grey = images.mean(dim=1, keepdim=True)
    return _unit(
        F.adaptive_avg_pool2d(grey, (min(_SIDE, grey.shape[2]), min(_SIDE, grey.shape[3])))
    )


def _small_and_scales(
    images: Float[Tensor, "images channels height width"],
) -> tuple[Float[Tensor, "images features"], Float[Tensor, " images"]]:
    pixels = _at_most_largest(images).flatten(1)
    lengths = (pixels - pixels.mean(dim=1, keepdim=True)).norm(dim=1)
    return _small(images), 1 / lengths.clamp_min(_BLANK)


def _moved(
    images: Float[Tensor, "images channels height width"],
) -> Float[Tensor, "images pixels moves"]:
    """Return images as `_unit`, where they are and moved by a pixel; edges are repeated."""
    height, width = images.shape[2:]
    padded = F.pad(images, (1, 1, 1, 1), mode="replicate")
    moved = [
        _unit(padded[:, :, 1 + down : 1 + down + height, 1 + right : 1 + right + width])
        for down, right in _MOVES
    ]
    return torch.stack(moved, dim=2)


def _at_most_largest(
    images: Float[Tensor, "images channels height width"],
) -> Float[Tensor, "images channels height_now width_now"]:
    size = min(_LARGEST_SIDE, images.shape[2]), min(_LARGEST_SIDE, images.shape[3])
    return images if size == images.shape[2:] else F.adaptive_avg_pool2d(images, size)


def _unit(images: Float[Tensor, "images channels height width"]) -> Float[Tensor, "images pixels"]:
    """Return images as vectors of mean 0 and length 1; blank ones are 0."""
    pixels = images.flatten(1)
    return F.normalize(pixels - pixels.mean(dim=1, keepdim=True), dim=1, eps=_BLANK)
