"""Convolutional capsules: every capsule in a window votes for the capsules at its place."""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from capsmodel.initialised import InitialisedModule
from capsmodel.layers.capsule_grid import CapsuleGrid
from capsmodel.layers.truncated_normal import set_truncated
from capsmodel.routing import Fan, Neighbourhood, ProductVotes, Routed, Routing

PoseKind = Literal["matrix", "vector"]


class MatrixStart(NamedTuple):
    """How the matrices begin.

    Attributes:
        deviation: Of their numbers.
        at_identity: Whether they are drawn normally about the identity: votes then begin as the
            children's poses, with what is drawn added. If not, truncated normally about zero.
    """

    deviation: float = 0.3
    at_identity: bool = True


class ConvCapsulesShape(NamedTuple):
    """What a layer of convolutional capsules looks like.

    Attributes:
        neighbourhood: Which children each place sees.
        in_types: Types of children.
        out_types: Types of parents.
        pose_kind: Whether poses are matrices or vectors.
        pose: Numbers of a pose.
        all_places: Places of the children where they all are seen at once, as by the classes, and
            have the same matrices; the neighbourhood is then of one place. 0 elsewhere.
    """

    neighbourhood: Neighbourhood
    in_types: int
    out_types: int
    pose_kind: PoseKind = "matrix"
    pose: int = 16
    all_places: int = 0

    @property
    def edges(self) -> int:
        """Children that a place sees."""
        return self.in_types * (self.all_places or self.neighbourhood.window_size)


class ConvCapsules(InitialisedModule):
    """A vote is a child's pose times a matrix of its place in the window and both types.

    With matrices a pose is square and so is its matrix, with vectors it is one row and its matrix
    has pose * pose numbers. The classes see all places at once, with the same matrices at all of
    them: there offsets tell the places apart.

    Source: Hinton, Sabour and Frosst 2018, "Matrix capsules with EM routing", section 4.
    Difference: the paper does not say what matrix a vector has; here it is a full one, so that
    vectors of 16 numbers have 16 times the weights of matrices of 4 by 4.

    Attributes:
        weight: Matrices of shape [edges or types, inner, columns, out_caps].
        router: What makes capsules of the votes.
        offsets: Added to the votes of each edge, [edges, pose], or None.
    """

    def __init__(
        self,
        shape: ConvCapsulesShape,
        routing: Routing,
        start: MatrixStart,
        offsets: Float[Tensor, "places pose"] | None = None,
    ) -> None:
        """Take the shape, and what is added to the votes from each place.

        Raises:
            ValueError: If a matrix is not square, or the routing cannot take the pose.
        """
        super().__init__()
        self.shape = shape
        self.rows, self.inner = pose_shape(shape.pose_kind, shape.pose)
        self.start = start
        self.offsets = offsets
        num_matrices = shape.in_types if shape.all_places else shape.edges
        size = (num_matrices, self.inner, self.inner, shape.out_types)
        self.weight = nn.Parameter(torch.empty(size))
        fan = Fan(shape.edges, shape.out_types, shape.pose, shape.neighbourhood)
        self.router = routing.build(fan)

    def initialise(self, generator: torch.Generator | None) -> None:
        """Draw the matrices, then set the router."""
        if self.start.at_identity:
            nn.init.normal_(self.weight, std=self.start.deviation, generator=generator)
            self.weight.data += torch.eye(self.inner, device=self.weight.device).unsqueeze(-1)
        else:
            set_truncated(self.weight, self.start.deviation, generator)
        self.router.initialise(generator)

    def forward(self, children: CapsuleGrid, generator: torch.Generator | None = None) -> Routed:
        """Return the routed capsules.

        Args:
            children: Of the layer before.
            generator: Source of all chance, by default PyTorch's own.
        """
        return self.router(self.votes(children), generator)

    def votes(self, children: CapsuleGrid) -> ProductVotes:
        """Return the votes as products that are not multiplied out."""
        shape, matrices, offsets = self.shape, self.weight, self.offsets
        poses, activations = children.poses, children.activations.unsqueeze(-1)
        if shape.all_places:
            matrices = matrices.repeat(shape.all_places, 1, 1, 1)
            poses, activations = (own.flatten(1, 2).unsqueeze(1) for own in (poses, activations))
        if offsets is not None:
            offsets = offsets.to(poses).repeat_interleave(shape.in_types, dim=0)
        edges_of = shape.neighbourhood.edges
        poses = edges_of(poses).unflatten(2, (self.rows, self.inner))
        activations = edges_of(activations).squeeze(-1)
        return ProductVotes(activations, shape.neighbourhood, poses, matrices, offsets)

    def grid(self, routed: Routed) -> CapsuleGrid:
        """Return the routed capsules image by image, as children of the next layer."""
        places = self.shape.neighbourhood.num_places
        poses = routed.poses.unflatten(0, (-1, places))
        return CapsuleGrid(poses, routed.activations.unflatten(0, (-1, places)))


def pose_shape(kind: PoseKind, size: int) -> tuple[int, int]:
    """Return rows and columns of a pose of so many numbers.

    Raises:
        ValueError: If a matrix of so many numbers is not square.
    """
    if kind == "vector":
        return 1, size
    side = math.isqrt(size)
    if side * side != size:
        raise ValueError(
            f"A matrix pose is square, got {size} numbers: choose 4, 9, 16 or another square, or "
            f"pose_kind 'vector'."
        )
    return side, side
