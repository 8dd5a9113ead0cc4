"""The handwritten digits that come with scikit-learn."""

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import torch

from capsmodel.data.base import DataSet, DataSplits, Images
from capsmodel.data.splits import hold_out

_NUM_TEST = 360
_TEST_SEED = "digits/test"
_FILE = "datasets/data/digits.csv.gz"  # below the package: 64 pixels and the label a row


class Digits(DataSet):
    """1,797 grey images of handwritten digits, 8 by 8 pixels: 360 for the test, by class.

    Source: Alpaydin and Kaynak 1998, Optical Recognition of Handwritten Digits, UCI.
    Difference: only the UCI test part, as scikit-learn bundles it; the test split is our own,
    20 % of each class.
    """

    kind: Literal["digits"] = "digits"
    image_shape: ClassVar[tuple[int, int, int]] = (1, 8, 8)
    num_classes: ClassVar[int] = 10
    fingerprint: ClassVar[str] = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"

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
        images = torch.from_numpy(pixels).view(-1, *self.image_shape).float() / 16
        whole = Images(images, torch.from_numpy(labels).long())
        pool, tests = torch.tensor(remaining), torch.tensor(test)
        return DataSplits(
            train=_take(whole, pool[indices.train], device),
            validation=_take(whole, pool[indices.validation], device),
            test=_take(whole, tests[indices.test], device),
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


def _take(whole: Images, indices: torch.Tensor, device: str | torch.device) -> Images:
    return Images(whole.images[indices].to(device), whole.labels[indices].to(device))
