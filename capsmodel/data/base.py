"""What every data set promises."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from capsmodel.data.splits import fraction_of, hold_out
from capsmodel.parts import Part


@dataclass(frozen=True)
class Images:
    """Images with their classes, on one device.

    Attributes:
        images: Values in [0, 1].
        labels: The true class of each image.
    """

    images: Float[Tensor, "images channels height width"]
    labels: Int[Tensor, " images"]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class DataSplits:
    """A data set in three parts that share no image.

    Attributes:
        train: What the weights are fitted to.
        validation: What everything that selects may look at.
        test: What is looked at once, at the end.
    """

    train: Images
    validation: Images
    test: Images


@dataclass(frozen=True)
class SplitIndices:
    """Which images belong to which split, ascending.

    Attributes:
        train: Among the training images.
        validation: Among the training images, none of them in `train`.
        test: Among the test images.
    """

    train: list[int]
    validation: list[int]
    test: list[int]


class DataSet(Part, ABC):
    """Where images come from and how they are split.

    The test split is fixed by the data set. The validation split is taken from the training
    images by `split_seed`, the same for all arms and seeds of a sweep.

    Attributes:
        image_shape: Channels, height, width; known without loading.
        num_classes: Number of classes; known without loading.
        fingerprint: Hash of the raw data, known without loading and verified on loading.
        validation_fraction: Share of the training images that is held out for validation.
        split_seed: Which images these are.
        fraction: Share of every split that is used, the test split too. Which images these are is
            fixed by the data set; a smaller fraction is a part of a larger one.
    """

    family: ClassVar[str] = "data"
    image_shape: ClassVar[tuple[int, int, int]]
    num_classes: ClassVar[int]
    fingerprint: ClassVar[str]
    validation_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.125
    split_seed: Annotated[int, Field(ge=0)] = 0

    fraction: Annotated[float, Field(gt=0, le=1)] = 1.0

    def prepare(self) -> None:
        """Make sure that the raw data are there, downloading them if need be.

        Cheap where they are. Loading does the same, so that this is for doing it beforehand.

        Raises:
            ValueError: If they are neither there nor to be had.
        """

    @abstractmethod
    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits as tensors on a device.

        Raises:
            ValueError: If the raw data do not have the declared fingerprint, or the fraction
                leaves a class without an image.
        """

    def split(self, labels: Sequence[int], test_labels: Sequence[int]) -> SplitIndices:
        """Return which images belong to which split, by the settings; classes in proportion.

        Args:
            labels: The class of each training image, in the data set's own order.
            test_labels: The class of each test image.

        Raises:
            ValueError: If the fraction leaves a class without an image.
        """
        num_validation = round(self.validation_fraction * len(labels))
        train, validation = hold_out(
            labels, num_validation, f"{self.kind}/validation/{self.split_seed}"
        )
        tests = list(range(len(test_labels)))
        if self.fraction == 1:
            return SplitIndices(train, validation, tests)
        self._check_fraction({"training": train, "validation": validation}, labels)
        self._check_fraction({"test": tests}, test_labels)
        seed = f"{self.kind}/fraction"
        return SplitIndices(
            train=fraction_of(train, labels, self.fraction, seed),
            validation=fraction_of(validation, labels, self.fraction, seed),
            test=fraction_of(tests, test_labels, self.fraction, seed),
        )

    def _check_fraction(self, splits: dict[str, list[int]], labels: Sequence[int]) -> None:
        counts = [
            (size, split, label)
            for split, indices in splits.items()
            for label, size in Counter(labels[index] for index in indices).items()
        ]
        size, split, label = min(counts)
        if round(self.fraction * size) == 0:
            raise ValueError(
                f"A fraction of {self.fraction:g} leaves no image of class {label} in the {split} "
                f"split of {self.kind}, which has {size} of it: choose at least {1 / size:.2g}."
            )
