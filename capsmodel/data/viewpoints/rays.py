"""Which solid each ray of a picture meets first, and where."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int, Int16

from capsmodel.data.viewpoints.solids import Solid
from capsmodel.data.viewpoints.vectors import Axes, Vector, add, dot, dual, scale

NOTHING = -1

Field = Float64[np.ndarray, "rows columns"]
Places = Int[np.ndarray, " points"]
Points = Float64[np.ndarray, "3 points"]
Values = Float64[np.ndarray, " points"]
Window = tuple[slice, slice]


class Rays(NamedTuple):
    """A square grid of rays from one point.

    A ray goes along `ahead` plus `across` times its column's position plus `down` times its row's.
    Positions are evenly spaced between -1 and 1.

    Attributes:
        origin: Where all of them start.
        axes: The vectors ahead, across and down.
        size: Number of rows, and of columns.
    """

    origin: Vector
    axes: Axes
    size: int

    @property
    def positions(self) -> Float64[np.ndarray, " size"]:
        """Position of each row, and of each column, ascending."""
        return (np.arange(self.size) + 0.5) / (self.size / 2) - 1.0

    def with_size(self, size: int) -> "Rays":
        """Return another grid that covers the same."""
        return self._replace(size=size)

    def points(self, places: Places, distances: Values) -> Points:
        """Return the points at some distances along some rays, counted row by row."""
        columns, rows = self.positions[places % self.size], self.positions[places // self.size]
        ahead, across, down = self.axes
        return np.stack(
            [
                self.origin[axis]
                + distances * (ahead[axis] + across[axis] * columns + down[axis] * rows)
                for axis in range(3)
            ]
        )

    def points_on_ground(self, places: Places) -> Points:
        """Return the points where some rays, counted row by row, meet the ground."""
        columns, rows = self.positions[places % self.size], self.positions[places // self.size]
        ahead, across, down = (axis[2] for axis in self.axes)
        return self.points(places, -self.origin[2] / (ahead + across * columns + down * rows))

    def project(self, points: Float64[np.ndarray, "3 *points"]) -> Float64[np.ndarray, "3 *points"]:
        """Return how far along its ray each point is, and that ray's column and row position."""
        x, y, z = (points[axis] - self.origin[axis] for axis in range(3))
        ahead, across, down = (part[0] * x + part[1] * y + part[2] * z for part in dual(self.axes))
        return np.stack([ahead, across / ahead, down / ahead])


class Hits(NamedTuple):
    """What each ray of a grid meets first.

    Attributes:
        distances: How far along the ray, in lengths of the ray's vector; infinite for nothing.
        surfaces: The number of the surface, `NOTHING` for nothing.
    """

    distances: Field
    surfaces: Int16[np.ndarray, "rows columns"]


class _Faces(NamedTuple):
    """The surfaces of one solid.

    Attributes:
        first: Number of its first surface: one for each plane, then one for what is round.
        planes: Normal of each, and its greatest scalar product with a point inside.
        round_axes: Parts of a point along the axes over which it is round.
        centre: Where these are 0.
    """

    first: int
    planes: tuple[tuple[Vector, float], ...]
    round_axes: tuple[Vector, ...]
    centre: Vector


class Assembly:
    """Solids that make one object, ready to be met by rays.

    Attributes:
        height: Of its highest point above the ground.
    """

    height: float

    def __init__(self, solids: tuple[Solid, ...]) -> None:
        """Number the surfaces of some solids."""
        self._faces: list[_Faces] = []
        gradients: list[list[float]] = []
        for solid in solids:
            faces = _faces(solid, len(gradients))
            gradients += [[0.0] * 9 + list(normal) for normal, _ in faces.planes]
            gradients += [_round_gradient(faces)] if faces.round_axes else []
            self._faces.append(faces)
        self._gradients = np.array(gradients).T
        self._corners = np.array([solid.corners() for solid in solids]).transpose(2, 0, 1)
        self.height = float(self._corners[2].max())

    def cast(self, rays: Rays) -> Hits:
        """Return what each ray meets first."""
        shape = (rays.size, rays.size)
        hits = Hits(np.full(shape, np.inf), np.full(shape, NOTHING, np.int16))
        with np.errstate(divide="ignore", invalid="ignore"):  # rays along a face never cross it
            for faces, window in zip(self._faces, self._windows(rays), strict=True):
                met = _Meeting(faces, rays, window)
                distances, surfaces = hits.distances[window], hits.surfaces[window]
                is_first = (met.enters <= met.leaves) & (met.enters < distances)
                np.copyto(distances, met.enters, where=is_first)
                np.copyto(surfaces, met.surfaces, where=is_first)
        return hits

    def outward(self, points: Points, surfaces: Int16[np.ndarray, " points"]) -> Points:
        """Return vectors of any length out of the object at points of its surfaces."""
        x, y, z = points
        gradients = self._gradients[:, surfaces]
        return np.stack(
            [
                gradients[axis] * x + gradients[3 + axis] * y + gradients[6 + axis] * z
                + gradients[9 + axis]
                for axis in range(3)
            ]
        )  # fmt: skip

    def _windows(self, rays: Rays) -> list[Window]:
        """Return which rows and columns of the grid can meet each solid, with one to spare."""
        _, columns, rows = rays.project(self._corners)
        starts_and_stops = [
            bounds.tolist()
            for positions in (rows, columns)
            for bounds in (
                np.searchsorted(rays.positions, positions.min(axis=1)) - 1,
                np.searchsorted(rays.positions, positions.max(axis=1)) + 1,
            )
        ]
        return [
            (slice(max(top, 0), bottom), slice(max(left, 0), right))
            for top, bottom, left, right in zip(*starts_and_stops, strict=True)
        ]


class _Meeting:
    """Where the rays of a window enter and leave one solid, and by which surface they enter."""

    def __init__(self, faces: _Faces, rays: Rays, window: Window) -> None:
        self._rays = rays
        self._rows = rays.positions[window[0], None]
        self._columns = rays.positions[None, window[1]]
        shape = (self._rows.size, self._columns.size)
        self.enters: Field = np.zeros(shape)
        self.leaves: Field = np.full(shape, np.inf)
        self.surfaces = np.full(shape, faces.first, np.int16)
        for number, (normal, most) in enumerate(faces.planes, start=faces.first):
            self._cross_plane(normal, most, number)
        if faces.round_axes:
            self._cross_round(faces, faces.first + len(faces.planes))

    def _cross_plane(self, normal: Vector, most: float, number: int) -> None:
        height = most - dot(normal, self._rays.origin)
        speeds = self._products_with(normal)
        times = height / speeds
        if height < 0:  # the rays start outside
            self._enter(np.where(speeds < 0, times, np.inf), number)
        else:
            np.minimum(self.leaves, times, out=self.leaves, where=speeds > 0)

    def _cross_round(self, faces: _Faces, number: int) -> None:
        """Solve for where the squares of the parts along the round axes add up to 1."""
        start = add(self._rays.origin, scale(faces.centre, -1.0))
        squares, halves, rest = np.zeros_like(self.enters), np.zeros_like(self.enters), -1.0
        for axis in faces.round_axes:
            part, speeds = dot(axis, start), self._products_with(axis)
            squares += speeds * speeds
            halves -= part * speeds
            rest += part * part
        roots = np.sqrt(halves * halves - squares * rest)  # not a number for rays that miss
        self._enter(np.where(roots >= 0, (halves - roots) / squares, np.inf), number)
        np.minimum(self.leaves, (halves + roots) / squares, out=self.leaves, where=roots >= 0)

    def _products_with(self, vector: Vector) -> Field:
        ahead, across, down = (dot(vector, axis) for axis in self._rays.axes)
        return (ahead + across * self._columns) + down * self._rows

    def _enter(self, times: Field, number: int) -> None:
        np.copyto(self.surfaces, number, where=times > self.enters)
        np.maximum(self.enters, times, out=self.enters)


def _faces(solid: Solid, first: int) -> _Faces:
    parts = dual(solid.axes)
    planes: list[tuple[Vector, float]] = []
    for plane in solid.planes:
        normal = add(
            scale(parts[0], plane[0]), add(scale(parts[1], plane[1]), scale(parts[2], plane[2]))
        )
        planes.append((normal, 1.0 + dot(normal, solid.centre)))
    return _Faces(first, tuple(planes), parts[: solid.num_round], solid.centre)


def _round_gradient(faces: _Faces) -> list[float]:
    """Return half the gradient of the sum of squares that is 1 on the round surface."""
    matrix = [0.0] * 9
    vector = (0.0, 0.0, 0.0)
    for axis in faces.round_axes:
        matrix = [
            value + one * other
            for value, (one, other) in zip(
                matrix, ((one, other) for one in axis for other in axis), strict=True
            )
        ]
        vector = add(vector, scale(axis, -dot(axis, faces.centre)))
    return matrix + list(vector)
