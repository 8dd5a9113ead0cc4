"""Which solid each ray of a picture meets first, and where."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float64, Int, Int16

from capsmodel.data.viewpoints.solids import Solid
from capsmodel.data.viewpoints.vectors import Axes, Vector, add, dot, dual, scale

NOTHING = -1

_ORIGIN = (0.0, 0.0, 0.0)

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
        """Return a grid of another size that covers the same area."""
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
        bounds: For each plane, the greatest scalar product of its normal with a point inside.
        vectors: Where the planes' normals are among all vectors of an object, and after them the
            axes of what is round.
    """

    first: int
    bounds: list[float]
    vectors: slice


class _Products(NamedTuple):
    """Scalar products of a vector with the parts of rays."""

    start: float
    ahead: float
    across: float
    down: float


class Assembly:
    """The solids of one object, at which rays can be cast.

    Attributes:
        height: Height of its highest point above the ground.
    """

    height: float

    def __init__(self, solids: tuple[Solid, ...]) -> None:
        """Number the surfaces of some solids."""
        self._faces: list[_Faces] = []
        gradients: list[list[float]] = []
        vectors: list[Vector] = []
        centres: list[Vector] = []
        for solid in solids:
            parts = dual(solid.axes)
            normals, round_axes = _normals(solid, parts), parts[: solid.num_round]
            bounds = [1.0 + dot(normal, solid.centre) for normal in normals]
            place = slice(len(vectors), len(vectors) + len(normals) + len(round_axes))
            self._faces.append(_Faces(len(gradients), bounds, place))
            vectors += [*normals, *round_axes]
            centres += [_ORIGIN] * len(normals) + [solid.centre] * len(round_axes)
            gradients += [[0.0] * 9 + list(normal) for normal in normals]
            gradients += [_round_gradient(round_axes, solid.centre)] if round_axes else []
        self._vectors, self._centres = np.array(vectors).T, np.array(centres).T
        self._gradients = np.array(gradients).T
        self._corners = np.array([solid.corners() for solid in solids]).transpose(2, 0, 1)
        self.height = float(self._corners[2].max())

    def cast(self, rays: Rays) -> Hits:
        """Return the first surface that each ray meets."""
        shape = (rays.size, rays.size)
        hits = Hits(np.full(shape, np.inf), np.full(shape, NOTHING, np.int16))
        products, positions = self._products(rays), rays.positions
        with np.errstate(divide="ignore", invalid="ignore"):  # rays along a face never cross it
            for faces, window in zip(self._faces, self._windows(rays), strict=True):
                met = _Meeting(positions[window[0], None], positions[None, window[1]], faces.first)
                met.cross(faces.bounds, products[faces.vectors])
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

    def _products(self, rays: Rays) -> list[_Products]:
        """Return the scalar products of the vectors with the rays, from each vector's centre."""
        x, y, z = self._vectors
        starts = np.array(rays.origin)[:, None] - self._centres
        parts = [x * part[0] + y * part[1] + z * part[2] for part in (starts, *rays.axes)]
        return [_Products(*numbers) for numbers in np.stack(parts, axis=1).tolist()]

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

    def __init__(
        self,
        rows: Float64[np.ndarray, "rows 1"],
        columns: Float64[np.ndarray, "1 columns"],
        first: int,
    ) -> None:
        self._rows, self._columns, self._first = rows, columns, first
        self.enters: Field = np.zeros((rows.size, columns.size))
        self.leaves = np.full_like(self.enters, np.inf)
        self.surfaces = np.full_like(self.enters, first, np.int16)

    def cross(self, bounds: list[float], products: list[_Products]) -> None:
        """Cut the rays at the planes, then at the round surfaces."""
        num_planes = len(bounds)
        for plane, (bound, product) in enumerate(zip(bounds, products[:num_planes], strict=True)):
            self._cross_plane(bound - product.start, self._speeds(product), self._first + plane)
        if products[num_planes:]:
            self._cross_round(products[num_planes:], self._first + num_planes)

    def _cross_plane(self, height: float, speeds: Field, number: int) -> None:
        times = height / speeds
        if height < 0:  # the rays start outside
            self._enter(np.where(speeds < 0, times, np.inf), number)
        else:
            np.minimum(self.leaves, times, out=self.leaves, where=speeds > 0)

    def _cross_round(self, products: list[_Products], number: int) -> None:
        """Solve for where the squares of the parts along the round axes add up to 1.

        A ray exactly along a cylinder misses it.
        """
        squares, halves, rest = np.zeros_like(self.enters), np.zeros_like(self.enters), -1.0
        for product in products:
            speeds = self._speeds(product)
            squares += speeds * speeds
            halves -= product.start * speeds
            rest += product.start * product.start
        roots = np.sqrt(halves * halves - squares * rest)  # not a number for rays that miss
        self._enter(np.where(roots >= 0, (halves - roots) / squares, np.inf), number)
        np.minimum(self.leaves, (halves + roots) / squares, out=self.leaves, where=roots >= 0)

    def _speeds(self, product: _Products) -> Field:
        """Return how fast the scalar product with the vector grows along each ray."""
        return (product.ahead + product.across * self._columns) + product.down * self._rows

    def _enter(self, times: Field, number: int) -> None:
        np.copyto(self.surfaces, number, where=times > self.enters)
        np.maximum(self.enters, times, out=self.enters)


def _normals(solid: Solid, parts: Axes) -> list[Vector]:
    """Return the normals of a solid's planes, as they are in space."""
    return [
        add(scale(parts[0], x), add(scale(parts[1], y), scale(parts[2], z)))
        for x, y, z in solid.planes
    ]


def _round_gradient(round_axes: tuple[Vector, ...], centre: Vector) -> list[float]:
    """Return the matrix and the vector of half the gradient of the sum of squares."""
    matrix, vector = [0.0] * 9, _ORIGIN
    for axis in round_axes:
        products = [component * other for component in axis for other in axis]
        matrix = [value + product for value, product in zip(matrix, products, strict=True)]
        vector = add(vector, scale(axis, -dot(axis, centre)))
    return matrix + list(vector)
