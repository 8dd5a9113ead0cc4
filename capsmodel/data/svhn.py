"""House numbers: digits in colour, cut out of photographs of streets."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from capsmodel.data.archive import Archive, Archives
from capsmodel.data.archived import ArchivedImages, FilePart, PixelsAndClasses
from capsmodel.data.matlab import checked_bytes, read_variables

_SIDE, _CHANNELS = 32, 3


class Svhn(ArchivedImages):
    """99,289 colour images of digits of house numbers, 32 by 32 pixels: 26,032 for the test.

    Source: Netzer, Wang, Coates, Bissacco, Wu and Ng 2011, Reading digits in natural images with
    unsupervised feature learning; the cropped digits.
    Difference: a part of the 73,257 training images is held out for validation; the 531,131 extra
    images are not used. The files label the digit 0 as 10.
    """

    kind: Literal["svhn"] = "svhn"
    image_shape: ClassVar[tuple[int, int, int]] = (_CHANNELS, _SIDE, _SIDE)
    num_classes: ClassVar[int] = 10
    num_unsplit: ClassVar[int | None] = 73_257
    archives: ClassVar[Archives] = Archives(
        "SVHN",
        (
            Archive("train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373"),
            Archive("test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"),
        ),
    )
    fingerprint: ClassVar[str] = archives.fingerprint

    @classmethod
    def mirrors(cls) -> Sequence[str]:
        """Return the address of the set's own page."""
        return ["http://ufldl.stanford.edu/housenumbers/"]

    def read(self, part: FilePart) -> PixelsAndClasses:
        """Return grey values and classes of a part.

        Raises:
            ValueError: If the file is of another form.
        """
        return _read(self.archives.path(f"{part}_32x32.mat"))


@cache
def _read(path: Path) -> PixelsAndClasses:
    images, classes = read_variables(path, "X", "y")
    pixels = checked_bytes(path, "X", images, (_SIDE, _SIDE, _CHANNELS, None))
    labels = checked_bytes(path, "y", classes, (pixels.shape[3], 1))
    return np.ascontiguousarray(pixels.transpose(3, 2, 0, 1)), labels[:, 0] % 10
