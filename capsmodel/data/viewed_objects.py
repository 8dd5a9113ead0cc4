"""Data sets of toy objects that are seen from known viewpoints."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Integer, UInt8

from capsmodel.data.base import DataSet, DataSplits, Images, SplitIndices

Objects = Literal["train", "test"]
"""Which objects an image shows: no object that is trained on is tested on."""

_NUM_PAIRS = 24_300  # of training objects
FAMILIAR_AZIMUTHS = (30, 32, 34, 0, 2, 4)
FAMILIAR_ELEVATIONS = (0, 1, 2)
_MOST_INSTANCES = 100  # of a class


@dataclass(frozen=True)
class Views:
    """The labels and viewpoints of images, without the images.

    Attributes:
        labels: The class of each image.
        codes: How each image came to be, in smallNORB's codes: instance of its class 0 to 9;
            elevation 0 to 8, 30 degrees and 5 more a step; azimuth 0, 2, ... 34 in tens of degrees;
            lighting 0 to 5.
    """

    labels: Integer[np.ndarray, " images"]
    codes: Integer[np.ndarray, "images 4"]

    @property
    def objects(self) -> Integer[np.ndarray, " images"]:
        """A number for each object: instances are numbered in each class from 0 anew."""
        return self.labels.astype(np.int64) * _MOST_INSTANCES + self.codes[:, 0]

    @property
    def elevations(self) -> Integer[np.ndarray, " images"]:
        """The code of each image's elevation."""
        return self.codes[:, 1]

    @property
    def azimuths(self) -> Integer[np.ndarray, " images"]:
        """The code of each image's azimuth."""
        return self.codes[:, 2]


class ViewedObjects(DataSet, ABC):
    """Stereo pairs of toys of five classes: animals, people, planes, trucks and cars.

    Each is seen from 9 elevations and 18 azimuths under 6 lightings. The test images show other
    objects than the training images. The validation images show other views of the training
    objects, so a validation error is lower than a test error. A member defines the views and the
    pixels. Images are selected before any pixel is read, so a member that draws its images draws
    only the selected ones.

    Source: Hinton, Sabour and Frosst 2018, Matrix capsules with EM routing, section 5.1, for the
    split by viewpoint.
    Difference: the validation images come from the training images; the paper does not mention
    them.

    Attributes:
        views: "all" for training and test from all viewpoints. "azimuth" for training and
            validation from the third of the azimuths around the front alone, "elevation" from the
            three lowest elevations alone: the test is then on the other viewpoints, and the extra
            test "familiar" on those of the training, both of the test objects.
    """

    image_shape: ClassVar[tuple[int, int, int]] = (2, 48, 48)
    num_classes: ClassVar[int] = 5
    views: Literal["all", "azimuth", "elevation"] = "all"

    @property
    def num_unsplit(self) -> int | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """24,300 pairs from all viewpoints, or a third of them."""
        return _NUM_PAIRS if self.views == "all" else _NUM_PAIRS // 3

    def prepare(self) -> None:
        """Make sure that the catalogues are available and that no class is empty.

        Raises:
            ValueError: If the raw data neither exist nor can be downloaded, or the fraction is
                too small.
        """
        self.rows()

    @abstractmethod
    def catalogue(self, objects: Objects) -> Views:
        """Return the views of the objects, in the order of the data set.

        Raises:
            ValueError: If the raw data neither exist nor can be downloaded.
        """

    @abstractmethod
    def pixels(self, objects: Objects, rows: Sequence[int]) -> UInt8[np.ndarray, "rows 2 48 48"]:
        """Return the selected images of the catalogue.

        Args:
            objects: Whose images.
            rows: Their places in the catalogue, ascending.

        Raises:
            ValueError: If the raw data neither exist nor can be downloaded.
        """

    def rows(self) -> SplitIndices:
        """Return which images belong to which split, as indices into the two catalogues.

        The rows of the test and of the extra tests are those of the test objects.

        Raises:
            ValueError: If the fraction leaves a class without an image.
        """
        train, test = self.catalogue("train"), self.catalogue("test")
        pool, familiar = self._familiar(train), self._familiar(test)
        novel = familiar if self.views == "all" else ~familiar
        extra = {} if self.views == "all" else {"familiar": np.flatnonzero(familiar)}
        pool_rows, test_rows = np.flatnonzero(pool), np.flatnonzero(novel)
        chosen = self.split(
            train.labels[pool_rows].tolist(),
            test.labels[test_rows].tolist(),
            {name: test.labels[rows].tolist() for name, rows in extra.items()},
        )
        return SplitIndices(
            train=pool_rows[chosen.train].tolist(),
            validation=pool_rows[chosen.validation].tolist(),
            test=test_rows[chosen.test].tolist(),
            extra_tests={
                name: rows[chosen.extra_tests[name]].tolist() for name, rows in extra.items()
            },
        )

    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits on a device, as grey values of one byte.

        Raises:
            ValueError: If the raw data neither exist nor can be downloaded, or the fraction is
                too small.
        """
        rows = self.rows()
        train = self._images("train", [rows.train, rows.validation], device)
        test = self._images("test", [rows.test, *rows.extra_tests.values()], device)
        return DataSplits(
            train=train[0],
            validation=train[1],
            test=test[0],
            extra_tests=dict(zip(rows.extra_tests, test[1:], strict=True)),
        )

    def _familiar(self, views: Views) -> np.ndarray:
        """Return for each image whether training may see its viewpoint."""
        if self.views == "azimuth":
            return np.isin(views.azimuths, FAMILIAR_AZIMUTHS)
        if self.views == "elevation":
            return np.isin(views.elevations, FAMILIAR_ELEVATIONS)
        return np.ones(len(views.labels), dtype=bool)

    def _images(
        self, objects: Objects, splits: Sequence[list[int]], device: str | torch.device
    ) -> list[Images]:
        """Return the images of several splits; all pixels are requested at once."""
        wanted = sorted(row for split in splits for row in split)
        views, pixels = self.catalogue(objects), self.pixels(objects, wanted)
        return [
            Images(
                torch.from_numpy(pixels[np.searchsorted(wanted, split)]).to(device),
                torch.from_numpy(views.labels[split]).long().to(device),
                torch.from_numpy(views.objects[split]).long().to(device),
            )
            for split in splits
        ]
