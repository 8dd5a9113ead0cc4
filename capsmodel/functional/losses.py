"""Losses on the lengths of class capsules."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64, Integer, Shaped
from torch import Tensor

from capsmodel.functional.checks import check_choice, check_shape
from capsmodel.functional.constants import kept_as
from capsmodel.functional.labels import checked, multi_hot, true_classes


class Margins(NamedTuple):
    """The margins of the margin loss.

    Attributes:
        positive: Length that the true class should reach.
        negative: Length that the other classes should stay under, below `positive`.
        down_weight: Weight of the other classes.

    Example:
        >>> import torch
        >>> margin_loss(torch.tensor([[0.9, 0.1]]), torch.tensor([0]), Margins(positive=1.0))
        tensor(0.0100)
    """

    positive: float | Float[Tensor, ""] = 0.9
    negative: float | Float[Tensor, ""] = 0.1
    down_weight: float | Float[Tensor, ""] = 0.5


PAPER_MARGINS = Margins()


@runtime_checkable
class HasBeliefs(Protocol):
    """What a capsule layer or a network returns, which losses take in place of a tensor."""

    @property
    def beliefs(self) -> Float[Tensor, "batch classes"]:
        """Belief in each class, in [0, 1]."""
        ...

    @property
    def logits(self) -> Float[Tensor, "batch classes"] | None:
        """Logits whose softmax the beliefs are; None where there are none."""
        ...


ClassWeights = Sequence[float | int] | Float[Tensor, " weights"]
Reduction = Literal["mean", "sum", "none"]
"""Of the images' losses: their mean, their sum, or one value per image."""
REDUCTIONS = ("mean", "sum", "none")


def margin_loss(
    lengths: Float[Tensor, "batch classes"] | HasBeliefs,
    labels: Integer[Tensor, " batch"] | Shaped[Tensor, "batch classes"],
    margins: Margins = PAPER_MARGINS,
    *,
    over_classes: Literal["sum", "half_mean"] = "sum",
    reduction: Reduction = "mean",
    class_weights: ClassWeights = (),
) -> Float[Tensor, "*batch"]:
    """Return the squared shortfalls of the classes, reduced, mean over the images.

    The true classes should be longer than one margin, every other shorter than another.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, equation 4.
    Difference: none.

    Args:
        lengths: Belief in each class, in [0, 1]; or what a capsule layer or a network returns.
        labels: The true class of each image; or, where an image may be of several or of none,
            whether it is of each, as booleans or 0 and 1.
        margins: Both margins, and the weight of the other classes.
        over_classes: "sum" adds up the classes, as the paper does; "half_mean" takes half their
            mean, as the authors' code does.
        reduction: Over the images: "mean", "sum", or "none" for one value per image.
        class_weights: Multiplier of an image's loss for each class that it may have, a sequence or
            a tensor; none for 1. The mean is the plain one. An image of several
            classes has their mean weight.

    Raises:
        ValueError: If the lengths are none, or the labels neither one integer an image nor one
            number an image and class. In plain tensors on the CPU also if a label is no class;
            elsewhere the loss is NaN then.

    Example:
        >>> import torch
        >>> lengths = torch.tensor([[0.9, 0.1, 0.1], [0.5, 0.6, 0.1]])
        >>> margin_loss(lengths, torch.tensor([0, 1]), reduction="none")
        tensor([0.0000, 0.1700])
        >>> margin_loss(lengths, torch.tensor([[1, 0, 0], [1, 1, 0]]))  # images of several classes
        tensor(0.1250)
    """
    check_choice("over_classes", over_classes, ("sum", "half_mean"))
    lengths = _judged("lengths", lengths)
    truth = _Truth.of(labels, lengths)
    too_short = (margins.positive - lengths).relu().square()
    too_long = (lengths - margins.negative).relu().square() * margins.down_weight
    shortfalls = too_short.where(truth.is_true, too_long)
    losses = shortfalls.sum(dim=1) if over_classes == "sum" else shortfalls.mean(dim=1) / 2
    return truth.reduced(losses, reduction, class_weights)


def spread_loss(
    lengths: Float[Tensor, "batch classes"] | HasBeliefs,
    labels: Integer[Tensor, " batch"] | Shaped[Tensor, "batch classes"],
    margin: float | Float[Tensor, ""] = 0.9,
    *,
    over_classes: Literal["sum", "mean"] = "sum",
    reduction: Reduction = "mean",
    class_weights: ClassWeights = (),
) -> Float[Tensor, "*batch"]:
    """Return the squared shortfalls of the wrong classes, reduced, mean over the images.

    The true class should be longer than every other class by a margin.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", equation 3.
    Difference: none for one class an image. For several, which the paper does not have, each true
    class is compared with every wrong one, and the mean over the true ones is taken.

    Args:
        lengths: Belief in each class, in [0, 1]; or what a capsule layer or a network returns.
        labels: The true class of each image; or, where an image may be of several, whether it is of
            each, as booleans or 0 and 1. An image of none has no loss.
        margin: By how much the true class should be longer.
        over_classes: "sum" adds up the classes, as the paper does; "mean" divides that by their
            number, as the authors' code does.
        reduction: Over the images: "mean", "sum", or "none" for one value per image.
        class_weights: As of `margin_loss`.

    Raises:
        ValueError: As of `margin_loss`.

    Example:
        >>> import torch
        >>> lengths = torch.tensor([[0.9, 0.1, 0.1], [0.5, 0.6, 0.1]])
        >>> spread_loss(lengths, torch.tensor([0, 1]), margin=0.5, reduction="none")
        tensor([0.0000, 0.1600])
    """
    check_choice("over_classes", over_classes, ("sum", "mean"))
    lengths = _judged("lengths", lengths)
    truth = _Truth.of(labels, lengths)
    if truth.indices is None:
        lead = lengths.unsqueeze(2) - lengths.unsqueeze(1)  # of true classes, over wrong ones
        is_pair = truth.is_true.unsqueeze(2) & ~truth.is_true.unsqueeze(1)
        shortfall = (margin - lead).relu().square().masked_fill(~is_pair, 0.0)
        shortfall = shortfall.sum(dim=1) / truth.is_true.sum(dim=1, keepdim=True).clamp(min=1)
    else:
        lead = lengths.gather(1, truth.indices.unsqueeze(1)) - lengths
        shortfall = (margin - lead).relu().square().masked_fill(truth.is_true, 0.0)
    losses = shortfall.sum(dim=1) if over_classes == "sum" else shortfall.mean(dim=1)
    return truth.reduced(losses, reduction, class_weights)


def sigmoid_loss(
    beliefs: Float[Tensor, "batch classes"] | HasBeliefs,
    labels: Integer[Tensor, " batch"] | Shaped[Tensor, "batch classes"],
    *,
    from_logits: bool,
    halved_labels: bool = False,
    over_classes: Literal["sum", "mean"] = "sum",
    reduction: Reduction = "mean",
    class_weights: ClassWeights = (),
) -> Float[Tensor, "*batch"]:
    """Return the binary cross-entropy of each class, reduced, mean over the images.

    Source: the program published with Sabour, Frosst and Hinton 2017, arXiv:1710.09829.
    Difference: none with halved labels and the mean over classes.

    Args:
        beliefs: Logits; or probabilities, whose logarithm is taken as -100 at least; or what a
            capsule layer or a network returns, which has one or both.
        labels: As of `margin_loss`.
        from_logits: Whether beliefs are logits.
        halved_labels: Whether a class of the image is to be believed in by one half.
        over_classes: "sum" adds up the classes, "mean" takes their mean.
        reduction: Over the images: "mean", "sum", or "none" for one value per image.
        class_weights: As of `margin_loss`.

    Raises:
        ValueError: As of `margin_loss`; or if there are no logits.

    Example:
        >>> import torch
        >>> logits = torch.tensor([[9.0, -9.0], [0.0, 0.0]])
        >>> sigmoid_loss(logits, torch.tensor([0, 1]), from_logits=True, reduction="none")
        tensor([2.4643e-04, 1.3863e+00])
    """
    check_choice("over_classes", over_classes, ("sum", "mean"))
    beliefs = _judged("beliefs", beliefs, from_logits=from_logits)
    truth = _Truth.of(labels, beliefs)
    targets = truth.is_true.to(beliefs.dtype) / (2 if halved_labels else 1)
    of_class = F.binary_cross_entropy_with_logits if from_logits else F.binary_cross_entropy
    by_class = of_class(beliefs, targets, reduction="none")
    losses = by_class.sum(dim=1) if over_classes == "sum" else by_class.mean(dim=1)
    return truth.reduced(losses, reduction, class_weights)


def _judged(
    argument: str,
    given: Float[Tensor, "batch classes"] | HasBeliefs,
    *,
    from_logits: bool = False,
) -> Float[Tensor, "batch classes"]:
    """Return beliefs or logits as a tensor.

    Raises:
        ValueError: If they are none, or there are no logits.
    """
    if isinstance(given, Tensor):
        check_shape(argument, given, batch=None, classes=None)
        return given
    if not (hasattr(given, "beliefs") and hasattr(given, "logits")):  # which torch.compile can ask
        raise ValueError(
            f"{argument} must be a tensor of shape [batch, classes], or what a capsule layer or a "
            f"network returns, got {type(given).__name__}."
        )
    judged = given.logits if from_logits else given.beliefs
    if judged is None:
        raise ValueError(
            f"{argument} must have logits where from_logits is true, got {type(given).__name__} "
            f"without: leave it false, for the lengths."
        )
    return judged


class _Truth(NamedTuple):
    """The classes that each image has.

    Attributes:
        is_true: Whether an image is of each class.
        is_class: Whether each image's label names classes; None where all are known to.
        indices: The one class of each image; None where an image may have several.
    """

    is_true: Bool[Tensor, "batch classes"]
    is_class: Bool[Tensor, " batch"] | None
    indices: Int64[Tensor, " batch"] | None

    @classmethod
    def of(
        cls,
        labels: Integer[Tensor, " batch"] | Shaped[Tensor, "batch classes"],
        lengths: Float[Tensor, "batch classes"],
    ) -> "_Truth":
        if isinstance(labels, Tensor) and labels.shape == lengths.shape:  # pyright: ignore[reportUnnecessaryIsInstance]
            return cls(*multi_hot(labels, lengths), indices=None)
        classes = true_classes(labels, lengths)
        return cls(classes.is_true(lengths.shape[1]), classes.is_class, classes.indices)

    def reduced(
        self, losses: Float[Tensor, " batch"], reduction: Reduction, class_weights: ClassWeights
    ) -> Float[Tensor, "*batch"]:
        by_class = weights_as(class_weights, losses, self.is_true.shape[1])
        if by_class is not None:
            losses = self.weighted(losses, by_class)
        return reduced(losses, reduction, self.is_class)

    def weighted(
        self, values: Float[Tensor, " batch"], by_class: Float[Tensor, " classes"]
    ) -> Float[Tensor, " batch"]:
        if self.indices is not None:
            return values * by_class[self.indices]
        num_true = self.is_true.sum(dim=1).clamp(min=1)
        return values * (self.is_true * by_class).sum(dim=1) / num_true


def weights_of_images(
    class_weights: ClassWeights,
    labels: Integer[Tensor, " batch"] | Shaped[Tensor, "batch classes"],
    beliefs: Float[Tensor, "batch classes"],
) -> Float[Tensor, " batch"]:
    """Return the weight of each image's class, or the mean weight of its classes.

    Raises:
        ValueError: If labels or weights do not fit the beliefs.
    """
    truth = _Truth.of(labels, beliefs)
    by_class = weights_as(class_weights, beliefs, beliefs.shape[1])
    ones = torch.ones_like(beliefs[:, 0])
    return ones if by_class is None else truth.weighted(ones, by_class)


def weights_as(
    class_weights: ClassWeights, like: Tensor, num_classes: int
) -> Float[Tensor, " classes"] | None:
    """Return the class weights with the type and device of `like`, or None without weights.

    Raises:
        ValueError: If there is not one weight for each class.
    """
    if len(class_weights) == 0:
        return None
    if isinstance(class_weights, Tensor):
        weights = class_weights.to(like)
    elif isinstance(class_weights, tuple) and all(
        isinstance(weight, float) for weight in class_weights
    ):
        weights = kept_as(class_weights, like.device, like.dtype)  # those of a training's settings
    else:
        weights = like.new_tensor(class_weights)
    check_shape("class_weights", weights, classes=num_classes)
    return weights


def reduced(
    losses: Float[Tensor, " batch"],
    reduction: Reduction,
    is_class: Bool[Tensor, " batch"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Return the mean or sum of the images' losses, or each; NaN if a label is no class.

    Args:
        losses: The loss of each image.
        reduction: "mean", "sum", or "none" for one value per image.
        is_class: Whether each image's label is a class; None where all are known to be.
    """
    check_choice("reduction", reduction, REDUCTIONS)
    if reduction != "none":
        losses = losses.mean() if reduction == "mean" else losses.sum()
    return checked(losses, is_class)
