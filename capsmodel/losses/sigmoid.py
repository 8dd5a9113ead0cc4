"""The sigmoid loss: each class is a question of its own."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from jaxtyping import Float, Shaped
from torch import Tensor

from capsmodel.functional import sigmoid_loss
from capsmodel.functional.losses import Reduction
from capsmodel.losses.base import ClassWeightedLoss
from capsmodel.models.base import Outputs
from capsmodel.schedules import Number


class Sigmoid(ClassWeightedLoss):
    """The binary cross-entropy of each class, added up: for images of several classes.

    A network with logits is judged by their sigmoids, another one by its lengths, which are taken
    for probabilities; a logarithm is taken as -100 at least.

    Source: the program published with Sabour, Frosst and Hinton 2017, arXiv:1710.09829, which
    trains the baseline for pairs of digits with it.
    Difference: none in the profile "official", which takes the mean over the classes and halves the
    labels, so that the network is trained towards one half. By default labels are not halved.

    Attributes:
        class_weights: Multiplier of an image's loss for each class that it may have; empty
            for 1. The mean over the images is not divided by them.
        halved_labels: Whether a class of the image is to be believed in by one half.
        reduction: "sum" adds up the classes, "mean" takes their mean.

    Example:
        >>> import torch
        >>> judge = Sigmoid().module(from_logits=True, reduction="none")
        >>> judge(torch.tensor([[9.0, -9.0], [0.0, 0.0]]), torch.tensor([[1, 0], [1, 1]]))
        tensor([2.4643e-04, 1.3863e+00])
    """

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"official": {"halved_labels": True, "reduction": "mean"}}
    )
    takes: ClassVar[frozenset[str]] = frozenset({"class", "classes"})
    kind: Literal["sigmoid"] = "sigmoid"
    halved_labels: bool = False
    reduction: Literal["sum", "mean"] = "sum"

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Shaped[Tensor, "batch ..."],
        progress: Number,
        over_images: Reduction = "mean",
    ) -> Float[Tensor, "*batch"]:
        """Return the loss of lengths as probabilities, mean over the images."""
        return self._of(lengths, labels, over_images, from_logits=False)

    def judge(
        self,
        outputs: Outputs,
        labels: Shaped[Tensor, "batch ..."],
        progress: Number,
        over_images: Reduction = "mean",
    ) -> Float[Tensor, "*batch"]:
        """Return the loss of the network's own logits, or else of the lengths."""
        if outputs.logits is None:
            return self.loss(outputs.lengths, labels, progress, over_images)
        return self._of(outputs.logits, labels, over_images, from_logits=True)

    def _of(
        self,
        beliefs: Float[Tensor, "batch classes"],
        labels: Shaped[Tensor, "batch ..."],
        over_images: Reduction,
        *,
        from_logits: bool,
    ) -> Float[Tensor, "*batch"]:
        return sigmoid_loss(
            beliefs,
            labels,
            from_logits=from_logits,
            halved_labels=self.halved_labels,
            over_classes=self.reduction,
            reduction=over_images,
            class_weights=self.class_weights,
        )
