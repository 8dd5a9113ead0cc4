"""What every loss promises."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Float, Integer
from torch import Tensor

from capsmodel.models.base import Outputs
from capsmodel.settings.parts import Part


class Loss(Part, ABC):
    """What the beliefs in the classes, lengths of capsules or probabilities, should be.

    `capsmodel.testing.LossContract` checks all that is promised here.
    """

    family: ClassVar[str] = "loss"

    @abstractmethod
    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Integer[Tensor, " batch"],
        progress: float,
    ) -> Float[Tensor, ""]:
        """Return the mean over the images, each judged on its own.

        Args:
            lengths: Belief in each class, in [0, 1].
            labels: The true class of each image.
            progress: Share of the training that is done, in [0, 1]: what schedules go by.
        """

    def check_classes(self, num_classes: int) -> None:
        """Refuse a number of classes that the settings are not for; by default all are welcome.

        Raises:
            ValueError: If the settings are for another number.
        """

    def judge(
        self, outputs: Outputs, labels: Integer[Tensor, " batch"], progress: float
    ) -> Float[Tensor, ""]:
        """Return the loss of a network's outputs: that of the lengths, or of what says more."""
        return self.loss(outputs.lengths, labels, progress)
