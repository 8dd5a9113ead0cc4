"""The handwritten digits that come with scikit-learn."""

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import Field

from capsmodel.data.base import DataSet, DataSplits, Images
from capsmodel.data.splits import hold_out
from capsmodel.settings.parts import later

_SIDE = 8
_NUM_TEST = 360
_TEST_SEED = "digits/test"
_FILE = "datasets/data/digits.csv.gz"  # below the package: 64 pixels and the label a row


class Digits(DataSet):
    """1,797 grey images of handwritten digits, 8 by 8 pixels: 360 for the test, by class.

    Source: Alpaydin and Kaynak 1998, Optical Recognition of Handwritten Digits, UCI.
    Difference: only the UCI test part, as scikit-learn bundles it; the test split is our own,
    20 % of each class.

    Attributes:
        padding: Pixels of black around each image, so that a digit can move and lose no ink.
    """

    kind: Literal["digits"] = "digits"
    padding: Annotated[int, Field(ge=0, le=64)] = later(0)
    num_classes: ClassVar[int] = 10
    num_unsplit: ClassVar[int | None] = 1_437
    fingerprint: ClassVar[str] = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"

    @property
    def image_shape(self) -> tuple[int, int, int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """8 by 8 grey pixels and the padding around them."""
        side = _SIDE + 2 * self.padding
        return 1, side, side

    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits as tensors on a device.

        Raises:
            ValueError: If scikit-learn has other digits than those this class was written for,
                or the fraction leaves a class without an image.
        """
        pixels, labels = _raw()
        fingerprint = hashlib.sha256(pixels.tobytes() + labels.tobytes()).hexdigest()
        if fingerprint != self.fingerprint:
            raise ValueError(
                f"The digits of the installed scikit-learn have the fingerprint {fingerprint}, "
                f"expected {self.fingerprint}: install the version that requirements.txt names."
            )
        remaining, test = hold_out(labels.tolist(), _NUM_TEST, _TEST_SEED)
        indices = self.split(labels[remaining].tolist(), labels[test].tolist())
        images = torch.from_numpy(pixels).view(-1, 1, _SIDE, _SIDE).float() / 16
        images = F.pad(images, [self.padding] * 4)
        all_images = Images(images, torch.from_numpy(labels).long())
        pool, tests = torch.tensor(remaining), torch.tensor(test)
        return DataSplits(
            train=_take(all_images, pool[indices.train], device),
            validation=_take(all_images, pool[indices.validation], device),
            test=_take(all_images, tests[indices.test], device),
        )


@cache
def _raw() -> tuple[np.ndarray, np.ndarray]:
    """Read the pixels, whole numbers from 0 to 16, and the labels once a process."""
    package = find_spec("sklearn")  # not imported, as that takes a second
    assert package is not None
    assert package.submodule_search_locations is not None
    (folder,) = package.submodule_search_locations
    rows = np.loadtxt(Path(folder) / _FILE, delimiter=",", dtype=np.uint8)
    return np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])


def _take(images: Images, indices: torch.Tensor, device: str | torch.device) -> Images:
    return Images(images.images[indices].to(device), images.labels[indices].to(device))
