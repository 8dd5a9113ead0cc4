"""Routing by a function of votes, for layers that are built by hand."""

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor

from capsmodel.functional import Routed, lengths
from capsmodel.functional.votes import Votes
from capsmodel.routing.base import Fan, Router, check_routed_poses


class FunctionRouting:
    """A function of votes in the place of a routing's settings.

    It is no part of a config: nothing records a function. A routing of one's own that a sweep
    varies is a `VectorRouting`.
    """

    reads_activations: ClassVar[bool] = False
    reads_votes: ClassVar[bool] = True

    def __init__(self, function: Callable[[Tensor], Tensor | Routed]) -> None:
        """Take a function or module from votes [batch, in_caps, out_caps, pose] to poses."""
        self.function = function

    def build(self, fan: Fan) -> "FunctionRouter":
        """Return the routing for a layer, the same for each."""
        del fan
        return FunctionRouter(self.function)


class FunctionRouter(Router):
    """Routes every site by itself, by a function.

    Attributes:
        function: The function, or a module, whose weights the layer then has.
    """

    def __init__(self, function: Callable[[Tensor], Tensor | Routed]) -> None:
        super().__init__()
        self.function = function

    def initialise(self, generator: torch.Generator | None) -> None:
        """Set nothing: a module has set its own weights."""

    def forward(self, votes: Votes, generator: torch.Generator | None = None) -> Routed:
        """Return the routed poses and their lengths, or what else the function returns of them.

        Raises:
            ValueError: If the function returns no poses, or poses of another shape.
        """
        values = votes.values
        result: Any = self.function(values)
        poses = result.poses if isinstance(result, Routed) else result
        check_routed_poses("A routing that is a function", poses, values)
        return result if isinstance(result, Routed) else Routed(poses, lengths(poses))
