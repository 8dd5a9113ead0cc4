"""What every data set promises."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

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
    """

    family: ClassVar[str] = "data"
    image_shape: ClassVar[tuple[int, int, int]]
    num_classes: ClassVar[int]
    fingerprint: ClassVar[str]
    validation_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.125
    split_seed: Annotated[int, Field(ge=0)] = 0

    @abstractmethod
    def load(self, device: str | torch.device) -> DataSplits:
        """Return the splits as tensors on a device.

        Raises:
            ValueError: If the raw data do not have the declared fingerprint.
        """
