"""The front: no point of it is dominated, and every other is."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.records.fronts import area, dominates, front, fronts, spread

NUMBERS = st.integers(0, 6).map(float)
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12)


@given(POINTS)
def test_no_point_of_the_front_is_dominated_and_every_other_is(
    points: list[tuple[float, float]],
) -> None:
    on_front = front(points)
    assert len(on_front) == len(set(on_front))
    for place, point in enumerate(points):
        is_dominated = any(dominates(other, point) for other in points)
        assert is_dominated == (place not in on_front)
    assert all(
        any(dominates(points[other], point) for other in on_front)
        for place, point in enumerate(points)
        if place not in on_front
    ), "by a point of the front itself"


@given(POINTS)
def test_along_the_front_one_value_rises_and_the_other_falls(
    points: list[tuple[float, float]],
) -> None:
    for point, other in itertools.pairwise(points[place] for place in front(points)):
        assert point == other or (point[0] < other[0] and point[1] > other[1])


@given(POINTS)
def test_each_front_is_that_of_the_points_that_the_fronts_before_leave(
    points: list[tuple[float, float]],
) -> None:
    remaining = list(range(len(points)))
    for layer in fronts(points):
        assert layer == [remaining[place] for place in front([points[each] for each in remaining])]
        assert not any(
            dominates(points[other], points[place]) for place in layer for other in remaining
        )
        remaining = [place for place in remaining if place not in layer]
    assert not remaining


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=6))
def test_the_area_is_the_number_of_squares_that_some_point_dominates(
    points: list[tuple[int, int]],
) -> None:
    squares = sum(
        any(x <= across and y <= up for x, y in points)
        for across, up in itertools.product(range(5), range(5))
    )
    assert area([(float(x), float(y)) for x, y in points], (5.0, 5.0)) == squares


@given(POINTS, st.integers(0, 6))
def test_those_that_stand_for_a_front_are_of_it_and_begin_with_the_best(
    points: list[tuple[float, float]], count: int
) -> None:
    chosen, on_front = spread(points, count), front(points)
    assert len(chosen) == min(count, len(on_front))
    assert set(chosen) <= set(on_front)
    assert chosen[:1] == on_front[: min(count, 1)]


@pytest.mark.parametrize(
    ("count", "expected"), [(1, [0]), (2, [0, 2]), (3, [0, 2, 1]), (9, [0, 2, 1, 3])]
)
def test_what_adds_the_most_area_is_chosen_next(count: int, expected: list[int]) -> None:
    # beside (1, 8) the corner (10, 10) sees 6 * 6 more by (3, 2) and 1 * 6 by (9, 1)
    assert spread([(1, 8), (2, 7), (3, 2), (9, 1), (10, 10)], count) == expected
