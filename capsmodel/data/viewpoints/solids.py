"""Solids that objects are built of: boxes, blades, balls, spindles and rods."""

from typing import Literal, NamedTuple

from capsmodel.data.viewpoints.vectors import Axes, Vector, add, cross, scale, with_length

_FLAT, _TUBE, _BALL = 0, 2, 3


class Solid(NamedTuple):
    """A convex solid: a box, cylinder or ball of size 1 about the origin, drawn out and moved.

    Attributes:
        centre: Where its middle is; x to the object's front, y to its left, z up.
        axes: Half its extent along each of its three own axes, which need not be at right angles.
        num_round: Over how many of the first axes it is round: 3 a ball, 2 a cylinder, 0 flat.
        planes: The normals of its flat faces in units of its own axes, each at distance 1: points
            with a scalar product of at most 1 are inside.
    """

    centre: Vector
    axes: Axes
    num_round: Literal[0, 2, 3]
    planes: tuple[Vector, ...]

    def corners(self) -> list[Vector]:
        """Return the eight corners of a box around it."""
        return [
            add(self.centre, add(scale(self.axes[0], x), add(scale(self.axes[1], y), up)))
            for x in (-1.0, 1.0)
            for y in (-1.0, 1.0)
            for up in (self.axes[2], scale(self.axes[2], -1.0))
        ]

    def placed(self, offset: Vector, factor: float) -> "Solid":
        """Return it moved, then scaled about the origin."""
        axes = (
            scale(self.axes[0], factor),
            scale(self.axes[1], factor),
            scale(self.axes[2], factor),
        )
        return self._replace(centre=scale(add(self.centre, offset), factor), axes=axes)

    def mirrored(self) -> "Solid":
        """Return it on the object's other side."""
        across, along, up = self.axes
        return self._replace(
            centre=_mirror(self.centre), axes=(_mirror(across), _mirror(along), _mirror(up))
        )


def box(
    centre: Vector, size: Vector, *, front: float = 1.0, rear: float = 1.0, sides: float = 1.0
) -> Solid:
    """Return a box that may be narrower at its top.

    Args:
        centre: Its middle.
        size: Length, width and height; with a negative height it stands on its top.
        front: How far it reaches forward at its top, as a share of that at its bottom.
        rear: The same backward.
        sides: The same to each side.
    """
    length, width, height = (extent / 2 for extent in size)
    axes = ((length, 0.0, 0.0), (0.0, width, 0.0), (0.0, 0.0, height))
    return Solid(centre, axes, _FLAT, _tapered(front, rear, sides))


def wing(root: Vector, tip: Vector, *, chord: float, thickness: float, taper: float) -> Solid:
    """Return a flat blade from a root to a tip, upright where the tip is above the root.

    Args:
        root: Middle of the end at the body.
        tip: Middle of the other end.
        chord: Its extent in x at the root.
        thickness: Its extent across the blade.
        taper: Extent at the tip as a share of that at the root.
    """
    span = scale(add(tip, scale(root, -1.0)), 0.5)
    is_upright = abs(span[2]) > abs(span[1])
    across = (0.0, thickness / 2, 0.0) if is_upright else (0.0, 0.0, thickness / 2)
    axes = ((chord / 2, 0.0, 0.0), across, span)
    return Solid(add(root, span), axes, _FLAT, _tapered(taper, taper, 1.0))


def ball(centre: Vector, size: Vector) -> Solid:
    """Return an ellipsoid of a given length, width and height."""
    length, width, height = (extent / 2 for extent in size)
    axes = ((length, 0.0, 0.0), (0.0, width, 0.0), (0.0, 0.0, height))
    return Solid(centre, axes, _BALL, ())


def spindle(start: Vector, end: Vector, radius: float) -> Solid:
    """Return an ellipsoid from one point to another."""
    centre, axes = _frame_between(start, end, radius)
    return Solid(centre, axes, _BALL, ())


def rod(start: Vector, end: Vector, radius: float) -> Solid:
    """Return a cylinder from one point to another."""
    centre, axes = _frame_between(start, end, radius)
    return Solid(centre, axes, _TUBE, ((0.0, 0.0, 1.0), (0.0, 0.0, -1.0)))


def _mirror(vector: Vector) -> Vector:
    return (vector[0], -vector[1], vector[2])


def _frame_between(start: Vector, end: Vector, radius: float) -> tuple[Vector, Axes]:
    along = scale(add(end, scale(start, -1.0)), 0.5)
    aside = (0.0, 1.0, 0.0) if abs(along[1]) < abs(along[0]) + abs(along[2]) else (1.0, 0.0, 0.0)
    across = with_length(cross(along, aside), radius)
    return add(start, along), (across, with_length(cross(along, across), radius), along)


def _tapered(front: float, rear: float, sides: float) -> tuple[Vector, ...]:
    """Return a box's faces; the first two axes shrink towards the end of the third."""
    slants = [(1 - share) / 2 for share in (front, rear, sides)]
    ahead, behind, aside = ((1 / (1 - slant), slant / (1 - slant)) for slant in slants)
    return (
        (ahead[0], 0.0, ahead[1]),
        (-behind[0], 0.0, behind[1]),
        (0.0, aside[0], aside[1]),
        (0.0, -aside[0], aside[1]),
        (0.0, 0.0, 1.0),
        (0.0, 0.0, -1.0),
    )
