"""The margin loss of the first capsule network."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal

from jaxtyping import Float, Integer
from pydantic import Field, model_validator
from torch import Tensor

from capsmodel.functional import margin_loss
from capsmodel.functional.labels import check_label_type
from capsmodel.losses.class_weights import ClassWeightedLoss
from capsmodel.losses.margin_schedule import (
    MARGIN_SCHEDULES,
    ConstantMargins,
    Margins,
    MarginSchedule,
)
from capsmodel.search_range import Floats
from capsmodel.settings.parts import OneOf


class MarginLoss(ClassWeightedLoss):
    """The true class should be longer than one margin, every other shorter than another.

    Health: with ten classes and default settings a loss that stays at 3.645 means that every
    capsule is saturated, one that stays at 0.81 that every capsule is dead.

    The activations of matrix capsules are lengths as well: with these defaults it is the margin
    loss of table 1 in Hinton, Sabour and Frosst 2018.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, equation 4.
    Difference: none. The authors' code takes the mean over the classes too and halves it, which
    with ten classes weighs the reconstruction 20 times as much against it: the profile "official".

    Attributes:
        class_weights: What the loss of an image is multiplied by, one weight for each class that
            it may truly be of, or none. The mean over the images is the plain one.
        positive_margin: Length that the true class should reach.
        negative_margin: Length that the other classes should stay under, below
            `positive_margin`.
        down_weight: Weight of the other classes.
        schedule: How margins and weight move to those above.
        reduction: "sum" adds up the classes, as the paper does; "half_mean" takes half their mean,
            as the authors' code does.
    """

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
        {"paper": {"reduction": "sum"}, "official": {"reduction": "half_mean"}}
    )
    kind: Literal["margin"] = "margin"
    positive_margin: Annotated[float, Field(gt=0, le=1), Floats(0.7, 0.95)] = 0.9
    negative_margin: Annotated[float, Field(ge=0, lt=1), Floats(0.05, 0.3)] = 0.1
    down_weight: Annotated[float, Field(gt=0), Floats(0.25, 1.0)] = 0.5
    schedule: Annotated[MarginSchedule, OneOf(MARGIN_SCHEDULES)] = ConstantMargins()
    reduction: Literal["sum", "half_mean"] = "sum"

    @model_validator(mode="after")
    def _check_order(self) -> "MarginLoss":
        if self.negative_margin >= self.positive_margin:
            raise ValueError(
                f"negative_margin must be below positive_margin, got {self.negative_margin} "
                f"and {self.positive_margin}."
            )
        return self

    def loss(
        self,
        lengths: Float[Tensor, "batch classes"],
        labels: Integer[Tensor, " batch"],
        progress: float,
    ) -> Float[Tensor, ""]:
        """Return the squared shortfalls of the classes, reduced, mean over the images."""
        check_label_type(labels)
        final = Margins(self.positive_margin, self.negative_margin, self.down_weight)
        margins = self.schedule.margins(final, progress)
        return margin_loss(
            lengths, labels, margins, reduction=self.reduction, class_weights=self.class_weights
        )
