"""Whatever a space proposes is a valid config, and each point can be proposed."""

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsmodel import TrainingConfig
from capsmodel.search_range import Choices, Floats, Ints
from search_spaces import Dimension, Space
from search_spaces.space.proposal import point_of
from tests.search_spaces.spaces import BASE, COUNTED, ROUTING, SMALL, WHOLE

units = st.floats(0, 1)


spaces = st.sampled_from([WHOLE, SMALL, COUNTED])


@st.composite
def points(draw: st.DrawFn) -> tuple[Space, dict[str, Any]]:
    space = draw(spaces)
    size = len(space.dimensions)
    return space, space.at(draw(st.lists(units, min_size=size, max_size=size)))


# Points.


@given(points())
def test_every_proposal_is_a_valid_config_with_the_values_proposed(
    point: tuple[Space, dict[str, Any]],
) -> None:
    space, params = point
    config = space.config(BASE, params)
    for path, value in space.changes(params).items():
        node: Any = config
        for field in path.split("."):
            node = getattr(node, field)
        assert getattr(node, "kind", node) == value


@given(points())
def test_the_point_of_a_config_is_the_one_that_makes_it(
    point: tuple[Space, dict[str, Any]],
) -> None:
    space, params = point
    assert point_of(space.dimensions, space.config(BASE, params)) == params


def test_a_config_beside_the_space_has_no_point() -> None:
    space = Space.of(TrainingConfig).only("batch_size").varied({"batch_size": Choices(32, 64)})
    assert point_of(space.dimensions, BASE.model_copy(update={"batch_size": 64})) == {
        "batch_size": 64
    }
    assert point_of(space.dimensions, BASE.model_copy(update={"batch_size": 63})) is None
    steps = space.varied({"batch_size": Ints(10, 30, step=10)})
    assert point_of(steps.dimensions, BASE.model_copy(update={"batch_size": 20})) is not None
    assert point_of(steps.dimensions, BASE.model_copy(update={"batch_size": 25})) is None


@given(points())
def test_a_dimension_is_there_exactly_where_its_conditions_hold(
    point: tuple[Space, dict[str, Any]],
) -> None:
    space, params = point
    for dimension in space.dimensions:
        assert (dimension.name in params) == all(
            params.get(n) == kind for n, kind in dimension.conditions
        )


@given(st.sampled_from(WHOLE.dimensions), units, units)
def test_numbers_rise_with_their_coordinate_and_stay_between_their_ends(
    dimension: Dimension, first: float, second: float
) -> None:
    low, high = (dimension.at(unit) for unit in sorted((first, second)))
    if isinstance(dimension.range, Choices):
        assert {low, high} <= set(dimension.range.values)
    else:
        assert dimension.range.low <= low <= high <= dimension.range.high  # pyright: ignore[reportOperatorIssue]
        assert (dimension.at(0.0), dimension.at(1.0)) == dimension.extremes()


@given(units)
def test_a_range_with_log_is_spread_evenly_in_the_logarithm(unit: float) -> None:
    dimension = Dimension("a", "a", Floats(1e-4, 1e-2, log=True))
    assert math.log10(float(dimension.at(unit))) == pytest.approx(-4 + 2 * unit)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (Ints(1, 9, step=4), {1: 1 / 3, 5: 1 / 3, 9: 1 / 3}),
        (Choices("a", "b"), {"a": 1 / 2, "b": 1 / 2}),
        (Ints(1, 2, log=True), {1: math.log(3) / math.log(5), 2: 1 - math.log(3) / math.log(5)}),
    ],
)
def test_values_that_can_be_counted_have_their_share_of_the_coordinates(
    values: Any, expected: dict[Any, float]
) -> None:
    dimension = Dimension("a", "a", values)
    drawn = [dimension.at((number + 0.5) / 3000) for number in range(3000)]
    shares = {value: drawn.count(value) / len(drawn) for value in dict.fromkeys(drawn)}
    assert shares == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("unit", [[], [0.5] * 4, [0.5, 0.5, 1.5], [-0.1, 0.5, 0.5]])
def test_a_point_of_the_unit_cube_has_one_coordinate_a_dimension(unit: list[float]) -> None:
    with pytest.raises(ValueError, match="has 3 coordinates from 0 to 1"):
        SMALL.at(unit)


def test_the_grid_has_each_point_once() -> None:
    points = list(COUNTED.grid())
    assert len(points) == COUNTED.num_points == (5 + 2) * 3
    assert len({tuple(sorted(point.items())) for point in points}) == len(points)
    for point in points:
        COUNTED.config(BASE, point)


@given(st.lists(units, min_size=3, max_size=3))
def test_the_grid_has_every_point_that_can_be_proposed(unit: list[float]) -> None:
    assert COUNTED.at(unit) in list(COUNTED.grid())


def test_an_endless_space_has_no_grid() -> None:
    assert SMALL.num_points is None
    with pytest.raises(ValueError, match=r"'optimiser\.learning_rate' has no end of values"):
        SMALL.grid()


def test_names_lead_to_paths_a_part_before_what_is_below_it() -> None:
    params = {"model.routing": "dynamic", "model.routing[dynamic].iterations": 2}
    changes = ROUTING.changes(dict(reversed(params.items())))
    assert list(changes.items()) == [("model.routing", "dynamic"), ("model.routing.iterations", 2)]


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        ({"model.routng": "dynamic"}, "Unknown dimension 'model.routng'. Did you mean 'model.rout"),
        ({"model.routing": "dynamic"}, "lacks 'model.routing[dynamic].iterations'"),
        (
            {"model.routing": "uniform", "model.routing[dynamic].iterations": 2},
            "has no place for 'model.routing[dynamic].iterations'",
        ),
        ({}, "lacks 'model.routing'"),
    ],
)
def test_what_is_no_point_of_the_space_is_refused(params: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        ROUTING.changes(params)
