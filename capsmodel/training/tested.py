"""What the test split came to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from jaxtyping import UInt8
from torch import Tensor


@dataclass(frozen=True)
class TestResult:
    """What the test split came to.

    Attributes:
        error: Share of the test images that are classified wrongly.
        predictions: The class given to each image, in the data set's order.
        labels: The true classes.
        extra_errors: Name of an extra test -> share of its images that are classified wrongly.
    """

    __test__: ClassVar[bool] = False  # pytest would take the name for that of a class of tests
    error: float
    predictions: UInt8[Tensor, " images"]
    labels: UInt8[Tensor, " images"]
    extra_errors: Mapping[str, float] = field(default_factory=dict[str, float])
