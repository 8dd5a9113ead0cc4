"""Several contrasts at once, against single ones, rotations and analysis of variance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeps.aggregation.statistics.covariances import mean_covariances, over_seeds
from sweeps.aggregation.statistics.joint_test import joint_test
from sweeps.aggregation.statistics.two_way import two_way

shapes = st.tuples(st.integers(0, 2**32 - 1), st.integers(3, 6), st.integers(6, 40))
with_objects = st.booleans()


def drawn(shape: tuple[int, int, int], rows: int) -> np.ndarray:
    seed, seeds, images = shape
    chance = np.random.default_rng(seed)
    values = chance.normal(size=(rows, seeds, images)) + chance.normal(size=(rows, 1, images))
    return values + chance.normal(size=(rows, seeds, 1)) / 4


def objects_of(shape: tuple[int, int, int], has_objects: bool) -> np.ndarray | None:
    return np.arange(shape[2]) % 4 if has_objects else None


@settings(max_examples=30, deadline=None)
@given(shapes, with_objects)
def test_of_one_contrast_it_is_the_two_way_test(shape: tuple[int, int, int], has_objects: bool):
    values, objects = drawn(shape, 1), objects_of(shape, has_objects)
    way, joint = two_way(values[0], objects), joint_test(values, objects)

    assert joint.p_value == pytest.approx(float(way.p_value), abs=1e-9)
    for error, (standard_error, degrees) in zip(joint.errors, way.errors, strict=True):
        assert error.variance == pytest.approx(float(standard_error) ** 2)
        assert error.below == pytest.approx(float(degrees))
        assert error.above == pytest.approx(1)


@settings(max_examples=20, deadline=None)
@given(shapes, with_objects)
def test_it_does_not_matter_along_which_axes_contrasts_lie(
    shape: tuple[int, int, int], has_objects: bool
):
    values, objects = drawn(shape, 3), objects_of(shape, has_objects)
    turn, _ = np.linalg.qr(np.random.default_rng(shape[0]).normal(size=(3, 3)))
    turned = np.tensordot(turn, values, axes=1)

    expected = float(joint_test(values, objects).p_value)
    assert joint_test(turned, objects).p_value == pytest.approx(expected, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(shapes, with_objects)
def test_covariances_hold_the_parts_of_every_contrast(
    shape: tuple[int, int, int], has_objects: bool
):
    values, objects = drawn(shape, 4), objects_of(shape, has_objects)
    weights = np.random.default_rng(shape[0]).normal(size=4)
    spread = mean_covariances(values, objects)
    way = two_way(np.tensordot(weights, values, axes=1), objects)

    parts = (spread.over_seeds, spread.over_images, spread.residual)
    variances = [weights @ part @ weights for part in parts]
    assert variances == pytest.approx(
        [float(part) for part in (way.over_seeds, way.over_images, way.residual)], rel=1e-8
    )
    alone = weights @ over_seeds(values.mean(axis=-1)) @ weights
    assert alone == pytest.approx(float(way.over_seeds), rel=1e-8)


def test_many_tables_at_once_are_each_by_itself():
    tables = np.stack([drawn((seed, 4, 20), 2) for seed in range(5)])
    together = joint_test(tables).p_value
    assert together == pytest.approx([float(joint_test(table).p_value) for table in tables])


def test_contrasts_that_spread_alike_have_all_their_degrees_of_freedom():
    apart = np.array([[1, 1, -1, -1], [1, -1, 1, -1]], dtype=float)  # alike, at right angles
    values = apart[:, :, None] + np.tile(apart, 3)[:, None, :]
    both, seeds, images = joint_test(values).errors
    assert [float(error.above) for error in (both, seeds, images)] == pytest.approx([2, 2, 2])
    assert [float(error.below) for error in (seeds, images)] == pytest.approx([2 * 3, 2 * 11])

    lopsided = values * np.array([1.0, 1e-6])[:, None, None]
    assert float(joint_test(lopsided).errors[1].above) == pytest.approx(1)


def test_where_all_seeds_agree_nothing_is_shown():
    values = np.tile(np.random.default_rng(0).normal(size=(2, 1, 50)) + 9, (1, 3, 1))
    assert joint_test(values).p_value == 1
