"""What rays meet, against what geometry says."""

import math

import numpy as np
import pytest

from capsmodel.data.viewpoints.objects import CLASSES, solids_of
from capsmodel.data.viewpoints.rays import NOTHING, Assembly, Hits, Rays
from capsmodel.data.viewpoints.solids import Solid, ball, box, rod, spindle, wing
from capsmodel.data.viewpoints.vectors import Vector, dot, dual

SIZE = 41
FROM_FRONT = Rays((10.0, 0.0, 0.0), ((-10.0, 0.0, 0.0), (0.0, 3.0, 0.0), (0.0, 0.0, -3.0)), SIZE)
SEEDS = pytest.mark.parametrize("seed", range(3))


def solids_from(seed: int) -> list[Solid]:
    """Return a ball, box, rod, spindle and blade of random places and sizes."""
    generator = np.random.default_rng(seed)

    def vector(lowest: float, highest: float) -> Vector:
        x, y, z = generator.uniform(lowest, highest, 3).tolist()
        return (x, y, z)

    def share() -> float:
        return generator.uniform(0.3, 1.0)

    start, end = vector(-0.9, -0.1), vector(0.1, 0.9)
    return [
        ball(vector(-0.5, 0.5), vector(0.3, 2.0)),
        box(vector(-0.5, 0.5), vector(0.3, 2.0), front=share(), rear=share(), sides=share()),
        rod(start, end, share()),
        spindle(start, end, share()),
        wing(start, end, chord=share(), thickness=share(), taper=share()),
    ]


def hits_of(*solids: Solid) -> Hits:
    return Assembly(solids).cast(FROM_FRONT)


def met(assembly: Assembly, rays: Rays) -> tuple[np.ndarray, np.ndarray]:
    """Return the points that are met, and unit vectors out of the surfaces there."""
    hits = assembly.cast(rays)
    places = np.flatnonzero(hits.surfaces != NOTHING)
    points = rays.points(places, hits.distances.ravel()[places])
    outward = assembly.outward(points, hits.surfaces.ravel()[places])
    return points, outward / np.sqrt((outward * outward).sum(axis=0))


def excess(solid: Solid, point: Vector) -> float:
    """Return how far a point is outside, 0 on the surface, in the solid's own units."""
    offset = (
        point[0] - solid.centre[0],
        point[1] - solid.centre[1],
        point[2] - solid.centre[2],
    )
    x, y, z = (dot(part, offset) for part in dual(solid.axes))
    roundness = [x * x + y * y + (z * z if solid.num_round == 3 else 0)] * bool(solid.num_round)
    return max([*roundness, *(dot(plane, (x, y, z)) for plane in solid.planes)]) - 1


@pytest.mark.parametrize(
    "solid",
    [
        ball((0.0, 0.0, 0.0), (2.0, 1.0, 3.0)),
        box((0.0, 0.0, 0.0), (2.0, 1.0, 3.0)),
        rod((0.0, -1.0, 0.0), (0.0, 1.0, 0.0), 1.0),
        spindle((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0), 0.5),
        wing((0.0, -1.0, 0.0), (0.0, 1.0, 0.0), chord=2.0, thickness=0.5, taper=1.0),
    ],
)
def test_the_middle_ray_meets_a_solid_at_its_front(solid: Solid) -> None:
    points, outward = met(Assembly((solid,)), FROM_FRONT.with_size(1))
    np.testing.assert_allclose(points[:, 0], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(outward[:, 0], [1, 0, 0], atol=1e-12)


def test_a_wing_reaches_from_its_root_to_its_tip() -> None:
    blade = wing((1.0, -2.0, 3.0), (1.0, 4.0, 3.0), chord=2.0, thickness=0.5, taper=1.0)
    corners = np.array(blade.corners())
    np.testing.assert_allclose(corners.min(axis=0), [0, -2, 2.75])
    np.testing.assert_allclose(corners.max(axis=0), [2, 4, 3.25])


def test_a_box_can_be_narrower_at_its_top() -> None:
    cabin = box((0.0, 0.0, 0.0), (2.0, 2.0, 2.0), front=0.5, rear=0.0)
    ground = Rays((0.0, 0.0, 9.0), ((0.0, 0.0, -8.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), 40)
    points, _ = met(Assembly((cabin,)), ground)
    top = points[0, points[2] > 1 - 1e-9]
    assert (top.min(), top.max()) == (pytest.approx(0, abs=0.05), pytest.approx(0.5, abs=0.05))


@SEEDS
def test_points_that_are_met_lie_on_a_surface_that_faces_the_rays(seed: int) -> None:
    for solid in solids_from(seed):
        points, outward = met(Assembly((solid,)), FROM_FRONT)
        assert points.size
        for (x, y, z), normal in zip(points.T.tolist(), outward.T.tolist(), strict=True):
            assert abs(excess(solid, (x, y, z))) < 1e-9
            assert dot((x - 10.0, y, z), tuple(normal)) < 1e-6


@SEEDS
def test_the_corners_are_around_all_that_is_met(seed: int) -> None:
    for solid in solids_from(seed):
        corners = np.array(solid.corners())
        points, _ = met(Assembly((solid,)), FROM_FRONT)
        assert (points.min(axis=1) >= corners.min(axis=0) - 1e-9).all()
        assert (points.max(axis=1) <= corners.max(axis=0) + 1e-9).all()


@SEEDS
def test_of_several_solids_the_nearest_is_met(seed: int) -> None:
    solids = solids_from(seed)
    together, alone = hits_of(*solids), [hits_of(solid).distances for solid in solids]
    nearest = np.min(alone, axis=0)
    assert np.array_equal(together.distances, nearest)
    assert np.array_equal(together.surfaces == NOTHING, np.isinf(nearest))


@SEEDS
def test_a_mirrored_solid_looks_mirrored(seed: int) -> None:
    for solid in solids_from(seed):
        hits, mirrored = hits_of(solid), hits_of(solid.mirrored())
        np.testing.assert_allclose(hits.distances, mirrored.distances[:, ::-1], rtol=1e-9)


def test_the_order_of_solids_changes_nothing_that_is_seen() -> None:
    solids = solids_of(0, 3)
    forward, backward = hits_of(*solids), hits_of(*reversed(solids))
    assert np.array_equal(forward.distances, backward.distances)


def test_a_point_projects_to_the_ray_it_was_met_by() -> None:
    hits = hits_of(*solids_of(2, 1))
    places = np.flatnonzero(hits.surfaces != NOTHING)
    points = FROM_FRONT.points(places, hits.distances.ravel()[places])
    distances, columns, rows = FROM_FRONT.project(points)
    np.testing.assert_allclose(distances, hits.distances.ravel()[places])
    np.testing.assert_allclose(columns, FROM_FRONT.positions[places % SIZE], atol=1e-9)
    np.testing.assert_allclose(rows, FROM_FRONT.positions[places // SIZE], atol=1e-9)


def test_rays_meet_the_ground_at_height_0() -> None:
    from_above = Rays((0.0, 0.0, 5.0), ((1.0, 0.0, -1.0), (0.0, 1.0, 0.0), (0.2, 0.0, -0.2)), SIZE)
    ground = from_above.points_on_ground(np.arange(SIZE * SIZE))
    np.testing.assert_allclose(ground[2], 0, atol=1e-12)


@pytest.mark.parametrize("label", range(5), ids=[make.__name__ for make in CLASSES])
def test_objects_stand_on_the_ground_and_are_alike_in_size(label: int) -> None:
    for instance in range(10):
        corners = np.array(
            [corner for solid in solids_of(label, instance) for corner in solid.corners()]
        )
        lowest, highest = corners.min(axis=0), corners.max(axis=0)
        middle = (lowest + highest) / 2
        assert lowest[2] == pytest.approx(0)
        assert middle[:2] == pytest.approx([0, 0])
        assert math.sqrt(((corners - middle) ** 2).sum(axis=1).max()) == pytest.approx(1)


def test_no_two_objects_are_the_same() -> None:
    objects = {solids_of(label, instance) for label in range(5) for instance in range(10)}
    assert len(objects) == 50
