"""The interface of every loss, its form as a module, and the base of losses with class weights."""

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar, cast

import torch
from jaxtyping import Float, Shaped
from pydantic import Field
from torch import Tensor, nn

from capsmodel.functional.checks import check_choice
from capsmodel.functional.losses import (
    REDUCTIONS,
    ClassWeights,
    Reduction,
    reduced,
    weights_of_images,
)
from capsmodel.models.base import Outputs
from capsmodel.models.outputs_of import as_outputs
from capsmodel.routing import Routed
from capsmodel.schedules import ConstantSchedule, Number
from capsmodel.settings.parts import Part, is_built_in


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
            progress: Share of the training that is done, in [0, 1]: what schedules go by. In a
                step that is captured as a CUDA graph it is a tensor with one number.
        """

    @property
    def follows_progress(self) -> bool:
        """Whether it may differ from one moment of a training to another for the same outputs.

        A loss of the user's may, as it is given the progress, unless it says otherwise.
        """
        schedule = getattr(self, "schedule", None)
        stays = schedule is None or type(schedule).at is ConstantSchedule.at
        return not (is_built_in(type(self)) and stays)

    @classmethod
    def judges_logits(cls) -> bool:
        """Return whether it judges a network's own logits, if there are any."""
        return cls.judge is not Loss.judge

    def check_classes(self, num_classes: int) -> None:
        """Check that the settings fit the number of classes; by default any number does.

        Raises:
            ValueError: If the settings are for another number.
        """

    def judge(
        self,
        outputs: Outputs,
        labels: Shaped[Tensor, "batch ..."],
        progress: Number,
        over_images: Reduction = "mean",
    ) -> Float[Tensor, "*batch"]:
        """Return the loss of a network's outputs, by default the loss of the lengths.

        Args:
            outputs: Of the network.
            labels: As of `loss`.
            progress: As of `loss`.
            over_images: "mean", as in a training; or "sum", or "none" for one value per image,
                which the losses of this package take here and in `loss`.
        """
        if over_images == "mean":
            return self.loss(outputs.lengths, labels, cast(float, progress))
        return cast(Any, self.loss)(outputs.lengths, labels, progress, over_images)

    def module(
        self,
        *,
        reduction: Reduction = "mean",
        class_weights: ClassWeights = (),
        from_logits: bool = False,
    ) -> "LossModule":
        """Return the loss as a module, to be called with beliefs and labels as PyTorch's own are.

        Args:
            reduction: Over the images: "mean", "sum", or "none" for one value per image.
            class_weights: Multiplier of an image's loss for each class that it may have, a sequence
                or a tensor; none for 1. The mean is the plain one. An image of several classes has
                their mean weight.
            from_logits: Whether tensors that are passed are logits, not lengths.

        Raises:
            ValueError: If there is no such reduction, the settings have class weights too, or the
                loss sees lengths alone.
        """
        return LossModule(self, reduction, class_weights, from_logits=from_logits)

    def __call__(
        self,
        beliefs: Float[Tensor, "batch classes"] | Routed | Outputs,
        labels: Shaped[Tensor, "batch ..."],
    ) -> Float[Tensor, ""]:
        """Return the mean over the images, as `module()` does."""
        return self.module()(beliefs, labels)


class LossModule(nn.Module):
    """A loss as a module, which its settings make: `MarginLoss().module(reduction="none")`.

    Attributes:
        loss: The settings.
        reduction: Over the images.
        class_weights: A buffer, which moves with the module; or None.
        from_logits: Whether tensors are logits.

    Example:
        >>> import torch
        >>> judge = CrossEntropy().module(class_weights=[1.0, 3.0], from_logits=True)
        >>> judge(torch.zeros(2, 2), torch.tensor([0, 1]))
        tensor(1.3863)
    """

    class_weights: Tensor | None

    def __init__(
        self, loss: Loss, reduction: Reduction, class_weights: ClassWeights, *, from_logits: bool
    ) -> None:
        super().__init__()
        check_choice("reduction", reduction, REDUCTIONS)
        if from_logits and not loss.judges_logits():
            raise ValueError(
                f"The loss '{loss.kind}' judges lengths, not logits: leave out from_logits and "
                f"pass lengths, or take cross-entropy or the sigmoid loss."
            )
        has_weights = len(class_weights) > 0
        if has_weights and getattr(loss, "class_weights", ()):
            raise ValueError(
                "class_weights are given twice, in the settings and for the module: leave out one."
            )
        self.loss, self.from_logits = loss, from_logits
        self.reduction: Reduction = reduction
        weights = torch.as_tensor(class_weights) * 1.0 if has_weights else None  # never integers
        self.register_buffer("class_weights", weights)

    def forward(
        self,
        beliefs: Float[Tensor, "batch classes"] | Routed | Outputs,
        labels: Shaped[Tensor, "batch ..."],
        progress: float = 1.0,
    ) -> Float[Tensor, "*batch"]:
        """Return the loss of the images, reduced.

        Args:
            beliefs: Lengths of class capsules, in [0, 1], or logits; or what a capsule layer or a
                network returns, whose logits then count where it has them.
            labels: The true class of each image; or, where it may be of several, whether it is of
                each, for the losses that take that.
            progress: Share of the training that is done, in [0, 1], for schedules; by default they
                are at their end.

        Raises:
            ValueError: If beliefs are none, or labels or class weights do not fit them.
        """
        outputs = self._outputs(beliefs)
        if self.reduction == "mean" and self.class_weights is None:  # which a loss of one's own can
            return self.loss.judge(outputs, labels, progress)
        losses = self.loss.judge(outputs, labels, progress, "none")
        if self.class_weights is not None:
            losses = losses * weights_of_images(self.class_weights, labels, outputs.lengths)
        return reduced(losses, self.reduction)

    def _outputs(self, beliefs: Tensor | Routed | Outputs) -> Outputs:
        start = "The beliefs must be"
        if isinstance(beliefs, Routed | Outputs):
            return as_outputs(beliefs, start=start)
        return as_outputs(beliefs, "logits" if self.from_logits else "lengths", start=start)

    def extra_repr(self) -> str:
        """Return the settings, for the module's `repr`."""
        return f"{self.loss!r}, reduction={self.reduction!r}, from_logits={self.from_logits}"


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
