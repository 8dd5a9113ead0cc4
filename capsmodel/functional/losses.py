"""Losses on the lengths of class capsules."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Integer
from torch import Tensor

from capsmodel.functional.checks import check_choice
from capsmodel.functional.labels import TrueClasses, check_label_type, true_classes


class Margins(NamedTuple):
    """The margins of the margin loss.

    Attributes:
        positive: Length that the true class should reach.
        negative: Length that the other classes should stay under, below `positive`.
        down_weight: Weight of the other classes.
    """

    positive: float = 0.9
    negative: float = 0.1
    down_weight: float = 0.5


PAPER_MARGINS = Margins()


def margin_loss(
    lengths: Float[Tensor, "batch classes"],
    labels: Integer[Tensor, " batch"] | Bool[Tensor, "batch classes"],
    margins: Margins = PAPER_MARGINS,
    *,
    reduction: Literal["sum", "half_mean"] = "sum",
    class_weights: Sequence[float] = (),
) -> Float[Tensor, ""]:
    """Return the squared shortfalls of the classes, reduced, mean over the images.

    The true class should be longer than one margin, every other shorter than another.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, equation 4.
    Difference: none.

    Args:
        lengths: Belief in each class, in [0, 1].
        labels: The true class of each image; or, where an image may be of several or of none,
            whether it is of each, as booleans.
        margins: Both margins, and the weight of the other classes.
        reduction: "sum" adds up the classes, as the paper does; "half_mean" takes half their mean,
            as the authors' code does.
        class_weights: Multiplier of an image's loss for each class that it may have; none
            for 1. The mean is the plain one. Only for one class an image.

    Raises:
        ValueError: If the labels are neither one integer an image nor a boolean for each class,
            or the latter are to be weighted. In plain tensors on the CPU also if a label is no
            class; elsewhere the loss is NaN then.
    """
    check_choice("reduction", reduction, ("sum", "half_mean"))
    truth = None
    is_tensor = isinstance(labels, Tensor)  # pyright: ignore[reportUnnecessaryIsInstance]
    if is_tensor and labels.dtype is torch.bool and labels.shape == lengths.shape:
        is_true = labels
        if class_weights:  # of which class would an image have the weight?
            check_label_type(labels)
    else:
        truth = true_classes(labels, lengths)
        is_true = truth.one_hot(lengths.shape[1])
    too_short = (margins.positive - lengths).relu().square()
    too_long = (lengths - margins.negative).relu().square() * margins.down_weight
    shortfalls = too_short.where(is_true, too_long)
    losses = shortfalls.sum(dim=1) if reduction == "sum" else shortfalls.mean(dim=1) / 2
    return losses.mean() if truth is None else mean_loss(losses, truth, class_weights)


def spread_loss(
    lengths: Float[Tensor, "batch classes"],
    labels: Integer[Tensor, " batch"],
    margin: float = 0.9,
    *,
    reduction: Literal["sum", "mean"] = "sum",
    class_weights: Sequence[float] = (),
) -> Float[Tensor, ""]:
    """Return the squared shortfalls of the wrong classes, reduced, mean over the images.

    The true class should be longer than every other class by a margin.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", equation 3.
    Difference: none.

    Args:
        lengths: Belief in each class, in [0, 1].
        labels: The true class of each image.
        margin: By how much the true class should be longer.
        reduction: "sum" adds up the classes, as the paper does; "mean" divides that by their
            number, as the authors' code does.
        class_weights: Multiplier of an image's loss for each class that it may have; none
            for 1. The mean is the plain one.

    Raises:
        ValueError: If the labels are not one integer an image. In plain tensors on the CPU also if
            a label is no class; elsewhere the loss is NaN then.
    """
    check_choice("reduction", reduction, ("sum", "mean"))
    truth = true_classes(labels, lengths)
    lead = lengths.gather(1, truth.indices.unsqueeze(1)) - lengths
    shortfall = (margin - lead).relu().square()
    shortfall = shortfall.masked_fill(truth.one_hot(lengths.shape[1]), 0.0)
    losses = shortfall.sum(dim=1) if reduction == "sum" else shortfall.mean(dim=1)
    return mean_loss(losses, truth, class_weights)


def mean_loss(
    losses: Float[Tensor, " batch"], truth: TrueClasses, class_weights: Sequence[float]
) -> Float[Tensor, ""]:
    """Return the mean of the images' losses, each times the weight of its true class, if any.

    It is NaN if a label is no class.
    """
    if class_weights:
        losses = losses * losses.new_tensor(class_weights)[truth.indices]
    return truth.checked(losses.mean())
