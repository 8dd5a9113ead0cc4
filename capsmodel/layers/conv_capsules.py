"""Convolutional capsules: every capsule in a window votes for the capsules at its place."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.functional.checks import check_choice, check_shape
from capsmodel.initialised import InitialisedModule, set_truncated
from capsmodel.layers.capsule_grid import CapsuleGrid
from capsmodel.layers.capsules import RoutingGiven, chosen_routing, reported
from capsmodel.layers.convolution import Padding, Window
from capsmodel.routing import (
    Fan,
    FunctionRouting,
    Neighbourhood,
    ProductVotes,
    Routed,
    Routing,
)

PoseKind = Literal["matrix", "vector"]
Patches = Literal["true", "scrambled"]


class MatrixStart(NamedTuple):
    """Initial values of the matrices.

    Attributes:
        deviation: Standard deviation of their numbers.
        at_identity: Whether they are drawn normally about the identity: votes then begin as the
            children's poses, with what is drawn added. If not, about zero.
        is_even: Whether they are drawn evenly about zero instead.
        is_truncated: Whether normal ones about zero are truncated at two deviations.
    """

    deviation: float = 0.3
    at_identity: bool = True
    is_even: bool = False
    is_truncated: bool = True


def _check_choices(kernel_size: int | str, patches: str) -> None:
    if not isinstance(kernel_size, int):
        check_choice("kernel_size", kernel_size, ("all",))
    check_choice("patches", patches, get_args(Patches))


class ConvCapsules(InitialisedModule):
    """A vote is a child's pose times a matrix of its place in the window and both types.

    With matrices a pose is square and so is its matrix, with vectors it is one row and its matrix
    has pose * pose numbers. The classes see all places at once, with the same matrices at all of
    them, where offsets distinguish the places; or with matrices of each place. Padding adds
    capsules whose poses and activations are zero. Shared matrices do not depend on the places, so
    that each call may be of other sizes.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", section 4.
    Difference: the paper does not say what matrix a vector has; here it is a full one, so that
    vectors of 16 numbers have 16 times the weights of matrices of 4 by 4. A bias of the votes, and
    matrices that all children share, are those of Heinsen 2019, arXiv:1911.00792.

    Attributes:
        weight: Matrices of shape [edges or types, inner, columns, out_caps], of one edge where they
            are shared; without poses, of no columns, and no weight.
        bias: Added to the votes, [edges or types, pose, out_caps], or None.
        router: Turns the votes into capsules.
        neighbourhood: The children that each place sees.
        all_places: Places of the children where they all are seen at once; the neighbourhood is
            then of one place. 0 elsewhere.
        offsets: Added to the votes of each edge, [edges, pose], or None; no weight.

    Example:
        >>> import torch
        >>> capsules = ConvCapsules(8, 16, size=(6, 6), kernel_size=3, stride=2, pose_dim=4)
        >>> children = CapsuleGrid(torch.rand(2, 36, 8, 4), torch.rand(2, 36, 8))
        >>> capsules.grid(capsules(children)).poses.shape, capsules.out_size()
        (torch.Size([2, 4, 16, 4]), (2, 2))
    """

    weight: Tensor
    bias: nn.Parameter | None
    offsets: Tensor | None

    def __init__(
        self,
        in_types: int,
        out_types: int,
        size: tuple[int, int],
        kernel_size: int | Literal["all"],
        *,
        routing: RoutingGiven = "em",
        stride: int = 1,
        padding: Padding | tuple[int, int] = 0,
        pose_dim: int = 16,
        pose_kind: PoseKind = "matrix",
        start: MatrixStart | None = None,
        offsets: Float[Tensor, "places pose"] | None = None,
        bias: bool = False,
        one_matrix: bool = False,
        with_poses: bool = True,
        shared: bool = True,
        patches: Patches = "true",
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Take types and places of the children, types of parents, the window and the routing.

        Args:
            in_types: Types of children.
            out_types: Types of parents.
            size: Rows and columns of the children's places, of a call that names no others.
            kernel_size: Side of the window; "all" sees all places at once, with the same matrices.
            routing: The routing, by name, as settings, or as a function of the votes of each
                site, see `Capsules`.
            stride: Step of the window.
            padding: Absent capsules on each side, of rows and of columns where two are given; or
                "same" for as many as give every step of `stride` places one place.
            pose_dim: Numbers of a pose.
            pose_kind: Whether poses are a "matrix" or a "vector".
            start: Initial values of the matrices, by default `MatrixStart()`.
            offsets: Added to the votes from each place, as by coordinate addition; only where all
                places are seen at once.
            bias: Whether a learned bias is added to the votes, at first zero.
            one_matrix: Whether all children, of whatever type and place, have one matrix, and bias,
                for each type of parent.
            with_poses: Whether its capsules have poses, or activations alone: for a routing whose
                activations do not depend on votes.
            shared: Whether all places have the same matrices where they all are seen at once; if
                not, each has its own, and the layer is for one size.
            patches: Whether each place sees the poses in its window ("true"), or numbers of poses
                at several places as one pose ("scrambled"), as in a release of Tsai and others
                2020, which reads an array of poses by places as one of places by poses.
            device: Where the weights are, by default PyTorch's own default.
            dtype: Their type, likewise.

        Raises:
            ValueError: If the window does not fit, all places are to be padded, a matrix is not
                square, there is no routing of that name, or it cannot take the pose or its absence.
        """
        super().__init__()
        _check_choices(kernel_size, patches)
        self.in_types, self.out_types, self.size = in_types, out_types, size
        self.kernel_size, self.stride, self.pose_dim = kernel_size, stride, pose_dim
        self.pose_kind: PoseKind = pose_kind
        self.rows, self.inner = pose_shape(pose_kind, pose_dim)
        self.start, self.padding = start or MatrixStart(), padding
        self.shared, self.one_matrix, self.patches = shared, one_matrix, patches
        self.all_places = size[0] * size[1] if kernel_size == "all" else 0
        self.windows = axis_windows(kernel_size, stride, padding)
        self.neighbourhood = self._neighbourhood_of(size)
        edges = in_types * (self.all_places or self.neighbourhood.window_size)
        chosen = chosen_routing(routing)
        self._add_matrices(edges, None if with_poses else chosen, bias=bias)
        self._add_offsets(edges, offsets)
        fan = Fan(edges, out_types, pose_dim, self.neighbourhood, shared=one_matrix)
        self.router = chosen.build(fan)
        self._place(device, dtype)

    def _add_matrices(
        self, edges: int, poseless: Routing | FunctionRouting | None, *, bias: bool
    ) -> None:
        """Add matrices and bias of votes; of no columns where a routing goes without poses."""
        number = self.in_types if self.all_places and self.shared else edges
        number = 1 if self.one_matrix else number
        biases = torch.empty(number, self.pose_dim, self.out_types)
        self.bias = nn.Parameter(biases) if bias and poseless is None else None
        shape = (number, self.inner, self.inner if poseless is None else 0, self.out_types)
        if poseless is None:
            self.weight = nn.Parameter(torch.empty(shape))
        elif poseless.reads_votes:
            raise ValueError(
                f"Capsules without poses need a routing whose activations do not depend on votes, "
                f"such as 'self_routing', got {poseless!r}: set with_poses=True."
            )
        else:
            self.register_buffer("weight", torch.empty(shape), persistent=False)

    def _add_offsets(self, edges: int, offsets: Tensor | None) -> None:
        """Add the offsets of each place as a buffer that files of weights leave out."""
        self._given_offsets = self._of_each_edge(offsets, edges)
        empty = None if self._given_offsets is None else torch.empty(edges, self.pose_dim)
        self.register_buffer("offsets", empty, persistent=False)
        self.register_load_state_dict_post_hook(self._after_loading)

    def _of_each_edge(self, offsets: Tensor | None, edges: int) -> Tensor | None:
        if offsets is None:
            return None
        by_edge = offsets.repeat_interleave(self.in_types, dim=0)
        if by_edge.shape[0] != edges:
            raise ValueError(
                f"offsets must be one for each place that is seen, {edges // self.in_types}, got "
                f"{offsets.shape[0]}."
            )
        return by_edge

    def _set_offsets(self) -> None:
        if self.offsets is not None and self._given_offsets is not None:
            self.offsets.copy_(self._given_offsets)

    @staticmethod
    def _after_loading(layer: Any, _: Any) -> None:
        if layer.offsets is not None and layer.offsets.is_meta:  # where weights were assigned
            layer.offsets = torch.empty_like(layer.offsets, device=layer.weight.device)
        layer._set_offsets()  # which no file of weights holds

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the matrices, then set the router."""
        if self.start.is_even:
            bound = 3**0.5 * self.start.deviation
            nn.init.uniform_(self.weight, -bound, bound, generator=generator)
        elif self.start.at_identity:
            nn.init.normal_(self.weight, std=self.start.deviation, generator=generator)
            sides = self.weight.shape[1:3]
            self.weight.data += torch.eye(*sides, device=self.weight.device).unsqueeze(-1)
        elif self.start.is_truncated:
            set_truncated(self.weight, self.start.deviation, generator)
        else:
            nn.init.normal_(self.weight, std=self.start.deviation, generator=generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        self._set_offsets()
        self.router.initialise(generator)

    def num_capsules(self, size: tuple[int, int] | None = None) -> int:
        """Return how many capsules it makes of an image, of a size where one is given."""
        return self.out_types * self._neighbourhood_of(size).num_places

    def out_size(self, size: tuple[int, int] | None = None) -> tuple[int, int]:
        """Return rows and columns of its places, above children of a size where one is given."""
        around = self._neighbourhood_of(size)
        return around.out_height, around.out_width

    def _neighbourhood_of(self, size: tuple[int, int] | None) -> Neighbourhood:
        """Return the neighbourhood of children of a size, padded."""
        if size is None:
            return self.neighbourhood
        if self.windows is None:
            return Neighbourhood()
        height, width = (
            sides + sum(window.margins(sides))
            for window, sides in zip(self.windows, size, strict=True)
        )
        return Neighbourhood(height, width, self.windows[0].kernel_size, self.stride)

    def extra_repr(self) -> str:
        """Return the settings, for the module's `repr`."""
        padding = f"padding={self.padding!r}, " if self.padding else ""
        added = ", bias=True" if self.bias is not None else ""
        one_matrix = ", one_matrix=True" if self.one_matrix else ""
        return (
            f"in_types={self.in_types}, out_types={self.out_types}, size={self.size}, "
            f"kernel_size={self.kernel_size!r}, stride={self.stride}, {padding}"
            f"pose_dim={self.pose_dim}, "
            f"pose_kind={self.pose_kind!r}{added}{one_matrix}"
        )

    def forward(
        self,
        children: CapsuleGrid | Routed,
        generator: torch.Generator | None = None,
        *,
        size: tuple[int, int] | None = None,
    ) -> Routed:
        """Return the routed capsules.

        Args:
            children: Capsules of the previous layer: its grid, or what a layer like this returns.
            generator: Source of all chance, by default PyTorch's own.
            size: Rows and columns of the children's places, by default those it was built with.

        Raises:
            ValueError: If the children are of another shape, or the window does not fit.
        """
        if isinstance(children, Routed):
            children = self._places_of(children, size or self.size)
        return reported(self, self.router(self.votes(children, size=size), generator))

    def _places_of(self, routed: Routed, size: tuple[int, int]) -> CapsuleGrid:
        poses, activations = routed.poses, routed.activations
        sites, places = len(poses), size[0] * size[1]
        if sites % places:
            raise ValueError(
                f"children must be routed at the {places} places of each image, a multiple of "
                f"sites, got {sites}: set size to the places of the layer before."
            )
        images = sites // places  # counted, as a batch may have no image
        shape = (images, places)
        return CapsuleGrid(poses.unflatten(0, shape), activations.unflatten(0, shape))

    def _check_children(self, children: CapsuleGrid, size: tuple[int, int]) -> None:
        if not self.shared and self.all_places not in {0, size[0] * size[1]}:
            raise ValueError(
                f"The layer has matrices of each of {self.size[0]} by {self.size[1]} places, got "
                f"size={size}: build it with shared=True, or for that size."
            )
        axes = {"batch": None, "places": size[0] * size[1], "types": self.in_types}
        pose = self.rows * self.inner
        check_shape("poses", children.poses, **axes, pose=pose)
        check_shape("activations", children.activations, **axes)

    def votes(self, children: CapsuleGrid, *, size: tuple[int, int] | None = None) -> ProductVotes:
        """Return the votes as products that are not multiplied out, of children of a size."""
        around, size = self._neighbourhood_of(size), size or self.size
        self._check_children(children, size)
        poses, activations = children.poses, children.activations.unsqueeze(-1)
        if self.windows is None:
            poses, activations = (
                values.flatten(1, 2).unsqueeze(1) for values in (poses, activations)
            )
        else:
            poses, activations = (self._padded(values, size) for values in (poses, activations))
        poses = around.edges(poses)
        if self.patches == "scrambled":
            by_image = poses.unflatten(1, (len(children.poses), around.num_places))
            poses = by_image.transpose(2, 3).reshape(poses.shape)
        poses = poses.unflatten(2, (self.rows, self.inner))
        activations = around.edges(activations).squeeze(-1)
        return ProductVotes(
            activations, around, poses, self._of_all_edges(self.weight, poses), self._added(poses)
        )

    def _of_all_edges(
        self, values: Float[Tensor, "some_edges *axes"], poses: Float[Tensor, "edges sites *matrix"]
    ) -> Float[Tensor, "edges *axes"]:
        """Repeat values of one place, or of one matrix, for every edge."""
        if self.one_matrix:
            return values.expand(len(poses), *values.shape[1:])
        times = len(poses) // len(values)
        return values if times == 1 else values.repeat(times, *(1,) * (values.ndim - 1))

    def _added(
        self, poses: Float[Tensor, "edges sites *matrix"]
    ) -> Float[Tensor, "edges pose some_caps"] | None:
        """Return the offsets of each edge's votes, in the number type of the poses."""
        offsets = None if self.offsets is None else self.offsets.to(poses).unsqueeze(-1)
        if self.bias is None:
            return offsets
        bias = self._of_all_edges(self.bias.to(poses), poses)
        return bias if offsets is None else bias + offsets

    def _padded(
        self, values: Float[Tensor, "batch places types values"], size: tuple[int, int]
    ) -> Float[Tensor, "batch padded_places types values"]:
        """Return the capsules' values with zeros at the places around them."""
        if not self.padding or self.windows is None:
            return values
        rows, columns = (
            window.margins(sides) for window, sides in zip(self.windows, size, strict=True)
        )
        return F.pad(values.unflatten(1, size), (0, 0, 0, 0, *columns, *rows)).flatten(1, 2)

    def grid(self, routed: Routed, *, size: tuple[int, int] | None = None) -> CapsuleGrid:
        """Return the routed capsules image by image, as children of the next layer.

        Args:
            routed: What it returned.
            size: The size that it was called with, if any.
        """
        places = self._neighbourhood_of(size).num_places
        poses = routed.poses.unflatten(0, (-1, places))
        return CapsuleGrid(poses, routed.activations.unflatten(0, (-1, places)))


def axis_windows(
    kernel_size: int | Literal["all"], stride: int, padding: Padding | tuple[int, int]
) -> tuple[Window, Window] | None:
    """Return the windows along rows and columns, or None if all places are seen at once.

    Raises:
        ValueError: If padding is below zero, or there is any where all places are seen at once.
    """
    pair = padding if isinstance(padding, tuple) else (padding, padding)
    is_number = (isinstance(side, int) and side >= 0 for side in pair)
    if padding != "same" and not (len(pair) == 2 and all(is_number)):
        raise ValueError(
            f"padding must be an integer at least 0, two of them, or 'same', got {padding!r}."
        )
    if kernel_size != "all":
        rows, columns = (Window.of(kernel_size, stride, side) for side in pair)
        return rows, columns
    if padding:
        raise ValueError(
            f"kernel_size 'all' sees all places at once and pads none, got padding={padding!r}: "
            f"leave it out."
        )
    return None


def pose_shape(kind: PoseKind, size: int) -> tuple[int, int]:
    """Return rows and columns of a pose with this number of values.

    Raises:
        ValueError: If a matrix of so many numbers is not square.
    """
    check_choice("pose_kind", kind, get_args(PoseKind))
    if kind == "vector":
        return 1, size
    side = math.isqrt(size)
    if side * side != size:
        raise ValueError(
            f"A matrix pose is square, got {size} numbers: choose 4, 9, 16 or another square, or "
            f"pose_kind 'vector'."
        )
    return side, side


Coordinates = Literal["none", "paper", "official", "tenths", "constant"]


def coordinate_offsets(
    kind: Coordinates, windows: Sequence[Window], size: tuple[int, int], pose: tuple[int, int]
) -> Float[Tensor, "places pose"] | None:
    """Return the offsets of the votes at each place, row after row.

    "paper" adds row and column of the place, scaled to (0, 1), to the first two elements of the
    right-hand column of a matrix. "tenths" adds them there too, counted from 1 and scaled to
    (0, 0.1]. "constant" adds 0.1 there at every place. "official", which is what the authors' code
    does, adds the pixel that the capsule looks at the centre of, from the middle of the image in
    hundreds of pixels, to the first two elements of the first row. All take the first two elements
    of a vector.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", section 4.
    Difference: the paper does not state the scale; (place + 0.5) / places is taken. The authors'
    code swaps the two elements with each convolution, which only renames two columns of weights.
    "constant" is what the released code of Ribeiro, Leontidis and Kollias 2020 adds: it holds
    "tenths" too, in a branch that its class capsules never take.

    Args:
        kind: Which; "none" adds nothing.
        windows: All windows from the image to the capsules.
        size: Rows and columns of the image in pixels.
        pose: Rows and columns of a pose.

    Raises:
        ValueError: If a pose has fewer than two elements to add to.
    """
    if kind == "none":
        return None
    rows, columns = pose
    first, second = (0, 1) if kind == "official" or rows == 1 else (columns - 1, 2 * columns - 1)
    if second >= rows * columns:
        raise ValueError(
            f"Coordinate addition needs a pose of at least 2 numbers, got {rows * columns}: choose "
            f"a larger pose or coordinates 'none'."
        )
    places = [_places(kind, windows, pixels) for pixels in size]
    offsets = torch.zeros(len(places[0]), len(places[1]), rows * columns, device="cpu")
    offsets[:, :, first] = torch.tensor(places[0], device="cpu").unsqueeze(1)
    offsets[:, :, second] = torch.tensor(places[1], device="cpu")
    return offsets.flatten(0, 1)


def _places(kind: Coordinates, windows: Sequence[Window], pixels: int) -> list[float]:
    """Return the coordinate of each place along an axis of the image."""
    centres = [float(pixel) for pixel in range(pixels)]
    for window in windows:
        middle = (window.kernel_size - 1) / 2 - window.padding
        positions = window.positions(len(centres))
        step = centres[1] - centres[0] if len(centres) > 1 else 1.0
        start = centres[0] + middle * step
        centres = [start + place * window.stride * step for place in range(positions)]
    if kind == "official":
        return [(centre - pixels // 2) / 100 for centre in centres]
    if kind == "constant":
        return [0.1] * len(centres)
    if kind == "tenths":
        return [(place + 1) / (10 * len(centres)) for place in range(len(centres))]
    return [(place + 0.5) / len(centres) for place in range(len(centres))]
