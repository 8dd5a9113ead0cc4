"""Initial logits: where routing by agreement starts."""

from abc import ABC, abstractmethod
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from capsmodel.chance import normal
from capsmodel.search_range import Floats
from capsmodel.settings.parts import Part


class InitialLogits(Part, ABC):
    """Where routing by agreement starts: how an input is shared before anything agrees.

    All images, and all places of a convolutional layer, share the same ones.

    Attributes:
        are_learned: Whether they are a parameter of the layer, which starts at zero.
    """

    family: ClassVar[str] = "initial logits"
    are_learned: ClassVar[bool] = False

    @abstractmethod
    def draw(
        self, edges: int, out_caps: int, generator: torch.Generator | None
    ) -> Float[Tensor, "edges out_caps"] | None:
        """Return the logits of one pass, in float32 on the CPU; None are zero, or the parameter.

        Args:
            edges: Rows.
            out_caps: Columns.
            generator: Of a draw, on the CPU; None for PyTorch's own.
        """


class ZeroLogits(InitialLogits):
    """Every output starts with the same share.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, procedure 1, line 2.
    Difference: none.
    """

    kind: Literal["zero"] = "zero"

    def draw(
        self, edges: int, out_caps: int, generator: torch.Generator | None
    ) -> Float[Tensor, "edges out_caps"] | None:
        """Return None."""
        return None


class LearnedLogits(InitialLogits):
    """The shares at the start are learned.

    Source: Sabour, Frosst and Hinton 2017, arXiv:1710.09829, section 2, where the initial logits
    are log priors that may be learned with the other weights.
    Difference: none. Their released code does without.
    """

    kind: Literal["learned"] = "learned"
    are_learned: ClassVar[bool] = True

    def draw(
        self, edges: int, out_caps: int, generator: torch.Generator | None
    ) -> Float[Tensor, "edges out_caps"] | None:
        """Return None."""
        return None


class NormalLogits(InitialLogits):
    """The shares at the start are drawn anew in each pass.

    The images of a batch share the draw, so that a prediction does not depend on the place in its
    batch. Source: none.

    Attributes:
        deviation: Of the normal distribution around zero.
    """

    kind: Literal["normal"] = "normal"
    deviation: Annotated[float, Field(gt=0), Floats(0.01, 3.0, log=True)] = 1.0

    def draw(
        self, edges: int, out_caps: int, generator: torch.Generator | None
    ) -> Float[Tensor, "edges out_caps"] | None:
        """Return the drawn logits."""
        return self.deviation * normal((edges, out_caps), generator)


INITIAL_LOGITS = (ZeroLogits, LearnedLogits, NormalLogits)
