"""Stop after a fixed number of epochs."""

from typing import Annotated, Literal

from pydantic import Field

from capsmodel.stopping.base import Stopping


class FixedEpochs(Stopping):
    """The training ends after a fixed number of epochs.

    Attributes:
        epochs: Passes over the training images.
    """

    kind: Literal["fixed_epochs"] = "fixed_epochs"
    epochs: Annotated[int, Field(ge=1, le=100_000)] = 50

    @property
    def num_epochs(self) -> int:
        """The epochs set."""
        return self.epochs
