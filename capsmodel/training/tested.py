"""What a trained network says of each image of a split, and what the test split came to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from jaxtyping import Int, UInt8
from torch import Tensor


@dataclass(frozen=True)
class SplitResult:
    """What a trained network says of each image of a split.

    Attributes:
        error: Share of the images that are classified wrongly.
        predictions: The class given to each image, in the data set's order.
        labels: The true classes.
        objects: Which object each image shows; None where each image is its own.
    """

    error: float
    predictions: UInt8[Tensor, " images"]
    labels: UInt8[Tensor, " images"]
    objects: Int[Tensor, " images"] | None = None

    def tensors(self) -> dict[str, Tensor]:
        """Return what it holds of each image by name, on the processor."""
        named = {"predictions": self.predictions, "labels": self.labels}
        if self.objects is not None:
            named["objects"] = self.objects
        return {name: tensor.cpu() for name, tensor in named.items()}


@dataclass(frozen=True)
class TestResult(SplitResult):
    """What the test split came to.

    Attributes:
        extra_errors: Name of an extra test -> share of its images that are classified wrongly.
    """

    __test__: ClassVar[bool] = False  # pytest would take the name for that of a class of tests
    extra_errors: Mapping[str, float] = field(default_factory=dict[str, float])
