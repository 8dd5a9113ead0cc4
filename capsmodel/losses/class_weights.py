"""What losses with a weight for each class share."""

from abc import ABC
from typing import Annotated

from pydantic import Field

from capsmodel.losses.base import Loss


class ClassWeightedLoss(Loss, ABC):
    """A loss that may count an image of one class for more than one of another.

    Attributes:
        class_weights: What the loss of an image is multiplied by, one weight for each class that
            it may truly be of. None stands for a weight of 1 for all. The mean over the images is
            the plain one, whatever weights a batch has: all weights doubled double the loss.
    """

    class_weights: tuple[Annotated[float, Field(gt=0)], ...] = ()

    def check_classes(self, num_classes: int) -> None:
        """Refuse weights that are not one for each class.

        Raises:
            ValueError: If there are some, and they are fewer or more.
        """
        if len(self.class_weights) not in {0, num_classes}:
            raise ValueError(
                f"class_weights must be {num_classes}, one for each class of the data, got "
                f"{len(self.class_weights)}: give {num_classes}, or an empty list, [], to weigh "
                f"all alike."
            )
