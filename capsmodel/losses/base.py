"""The interface of every loss, and the base of losses with class weights."""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar

from jaxtyping import Float, Shaped
from pydantic import Field
from torch import Tensor

from capsmodel.models.base import Outputs
from capsmodel.settings.parts import Part


class Loss(Part, ABC):
    """What the beliefs in the classes, lengths of capsules or probabilities, should be.

    `capsmodel.testing.LossContract` checks all that is promised here.

    Attributes:
        takes: Forms of labels that it can judge by, those of `Task.label_form`.
    """

    family: ClassVar[str] = "loss"
    takes: ClassVar[frozenset[str]] = frozenset({"class"})

    @abstractmethod
    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Shaped[Tensor, "batch ..."],
        progress: float,
    ) -> Float[Tensor, ""]:
        """Return the mean over the images, each judged on its own.

        Args:
            lengths: Belief in each class, in [0, 1].
            labels: The true class of each image; or, of a task of several, whether an image is of
                each.
            progress: Share of the training that is done, in [0, 1]: what schedules go by.
        """

    @classmethod
    def judges_logits(cls) -> bool:
        """Return whether a network's own logits are what it judges, where there are any."""
        return cls.judge is not Loss.judge

    def check_classes(self, num_classes: int) -> None:
        """Check that the settings fit the number of classes; by default any number does.

        Raises:
            ValueError: If the settings are for another number.
        """

    def judge(
        self, outputs: Outputs, labels: Shaped[Tensor, "batch ..."], progress: float
    ) -> Float[Tensor, ""]:
        """Return the loss of a network's outputs, by default the loss of the lengths.

        The losses of this package take a `reduction` here and in `loss`: "mean", "sum", or "none"
        for one value an image.
        """
        return self.loss(outputs.lengths, labels, progress)


class ClassWeightedLoss(Loss, ABC):
    """A loss that may weight images by their class.

    Attributes:
        class_weights: Multiplier of an image's loss for each class that it may have. Empty means 1
            for all. The mean over the images is not divided by the weights: if all weights double,
            so does the loss.
    """

    class_weights: tuple[Annotated[float, Field(gt=0)], ...] = ()

    def check_classes(self, num_classes: int) -> None:
        """Check that there is one weight for each class.

        Raises:
            ValueError: If there are weights, but not one for each class.
        """
        if len(self.class_weights) not in {0, num_classes}:
            raise ValueError(
                f"class_weights must be {num_classes}, one for each class of the data, got "
                f"{len(self.class_weights)}: give {num_classes}, or an empty list, [], to weigh "
                f"all alike."
            )
