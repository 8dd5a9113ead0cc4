"""Which capsules vote for which: the geometry of a layer, and sums along it."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from capsmodel.functional.constants import kept
from capsmodel.torch_internals import constant

_NEVER = -1e30  # a logarithm of nothing whose gradient is zero; that of -inf is not a number


@constant
@dataclass(frozen=True)
class Neighbourhood:
    """A square window that moves over the places of the children, one step a place of a parent.

    Every type of child at every place in the window votes for every type of parent at the
    window's place. In a fully connected layer all children are of different types at one place.

    An *edge* is a child seen from a place; edges are ordered by place in the window, then type. A
    *site* is a place of the parents in one image; sites are ordered by image, then row, then
    column.

    Attributes:
        height: Rows of the children's places.
        width: Columns of the children's places.
        kernel_size: Side of the window.
        stride: Its step.

    Example:
        >>> around = Neighbourhood(height=5, width=4, kernel_size=3)
        >>> around.out_height, around.out_width, around.window_size
        (3, 2, 9)
    """

    height: int = 1
    width: int = 1
    kernel_size: int = 1
    stride: int = 1

    def __post_init__(self) -> None:
        """Check that the window is not larger than the grid of children."""
        if min(self.kernel_size, self.stride) < 1:
            raise ValueError(
                f"A window has a kernel and a stride of at least 1, got {self.kernel_size} and "
                f"{self.stride}."
            )
        if self.kernel_size > min(self.height, self.width):
            raise ValueError(
                f"A kernel of {self.kernel_size} by {self.kernel_size} capsules does not fit a "
                f"layer of {self.height} by {self.width}: choose a kernel of at most "
                f"{min(self.height, self.width)}, smaller strides before it, or larger images."
            )

    @property
    def out_height(self) -> int:
        """Rows of the parents' places."""
        return (self.height - self.kernel_size) // self.stride + 1

    @property
    def out_width(self) -> int:
        """Columns of the parents' places."""
        return (self.width - self.kernel_size) // self.stride + 1

    @property
    def num_places(self) -> int:
        """Places of the parents."""
        return self.out_height * self.out_width

    @property
    def num_child_places(self) -> int:
        """Places of the children."""
        return self.height * self.width

    @property
    def window_size(self) -> int:
        """Places in the window."""
        return self.kernel_size * self.kernel_size

    def edges(
        self, children: Float[Tensor, "batch child_places types values"]
    ) -> Float[Tensor, "edges sites values"]:
        """Return the values of the children that each place of the parents sees."""
        batch, _, types, values = children.shape
        seen = children[:, self._children(children.device)]  # [batch places window types values]
        shape = (self.window_size * types, batch * self.num_places, values)
        return seen.permute(2, 3, 0, 1, 4).reshape(shape)

    def sum_over_parents(
        self, values: Float[Tensor, "edges sites"]
    ) -> Float[Tensor, "edges sites"]:
        """Return at each edge the sum over all edges of its child, at all places that see it."""
        return self._over_parents(values, 0.0, lambda edges_of_child: edges_of_child.sum(dim=-1))

    def logsumexp_over_parents(
        self, values: Float[Tensor, "edges sites"]
    ) -> Float[Tensor, "edges sites"]:
        """Return at each edge the logarithm of the summed exponentials of its child's edges."""
        never = max(_NEVER, torch.finfo(values.dtype).min)
        return self._over_parents(
            values, never, lambda edges_of_child: edges_of_child.logsumexp(dim=-1)
        )

    def num_parent_places(self, edges: int, sites: int) -> Float[Tensor, "edges sites"]:
        """Return at each edge how many places see its child, in float32 on the CPU."""
        return self.sum_over_parents(torch.ones(edges, sites, device="cpu"))

    def _over_parents(
        self, values: Tensor, filling: float, reduce: Callable[[Tensor], Tensor]
    ) -> Tensor:
        if self.num_places == 1:  # every child is seen once
            return values
        window, places = self.window_size, self.num_places
        edges, sites = values.shape
        by_edge = values.reshape(window, edges // window, sites // places, places)
        flat = by_edge.permute(1, 2, 3, 0).reshape(
            edges // window, sites // places, places * window
        )
        by_child = F.pad(flat, (0, 1), value=filling)[:, :, self._parents(values.device)]
        # A child that nothing sees has no edge that would read its row.
        read = reduce(by_child)[:, :, self._children(values.device)]
        return read.permute(3, 0, 1, 2).reshape(edges, sites)

    def _children(self, device: torch.device) -> Int[Tensor, "places window"]:
        return kept((_children, self), lambda: _children(self), device)

    def _parents(self, device: torch.device) -> Int[Tensor, "child_places most"]:
        return kept((_parents, self), lambda: _parents(self), device)


ONE_PLACE = Neighbourhood()


def _children(neighbourhood: Neighbourhood) -> list[list[int]]:
    """Return the child's place that each place of the parents sees at each place of its window."""
    window, width = range(neighbourhood.kernel_size), neighbourhood.width
    return [
        [
            (row * neighbourhood.stride + down) * width + column * neighbourhood.stride + along
            for down in window
            for along in window
        ]
        for row in range(neighbourhood.out_height)
        for column in range(neighbourhood.out_width)
    ]


def _parents(neighbourhood: Neighbourhood) -> list[list[int]]:
    """Return for each child's place its edges, flat over [places window], filled up with one more.

    The filling points behind the last edge, where a neutral value is appended.
    """
    edges_of_child: list[list[int]] = [[] for _ in range(neighbourhood.num_child_places)]
    seen = [child for window in _children(neighbourhood) for child in window]
    for edge, child in enumerate(seen):
        edges_of_child[child].append(edge)
    most = max(len(edges) for edges in edges_of_child)
    return [edges + [len(seen)] * (most - len(edges)) for edges in edges_of_child]
