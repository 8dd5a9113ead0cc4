"""What a space forbids is never proposed by any sampler, nor drawn for the random reference."""

from collections.abc import Mapping
from typing import Any

import pytest

from capsmodel.search_range import Choices, Floats
from search_spaces import Search, Space
from sweeps.execution.plan.definition import Changes, define
from sweeps.execution.search.measures import Measures
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.random_reference import RandomPoints
from sweeps.execution.search.unseen import identity
from sweeps.execution.search.warm_points import point_of_settings
from sweeps.execution.search.within_limits import WithinLimits
from sweeps.execution.survey.surveyed_cells import check_dropped_cells
from sweeps.records.errors import BadInput
from tests.sweeps.execution.search.examples import (
    FEW_POINTS,
    RATE,
    complete,
    expect_valid,
    search,
    searched,
    sweep,
)
from tests.sweeps.execution.search.grown import with_proposal
from tests.sweeps.execution.search.scores import falling
from tests.sweeps.execution.search.simulated import Launch, World

BATCH = "batch_size"
FREE = Space(
    {
        "loss": ("margin", "spread"),
        "optimiser.learning_rate": Floats(1e-4, 1e-2, log=True),
        BATCH: Choices(100, 200),
    }
)
PAIRS = ({"loss": "margin", BATCH: 100}, {"loss": "spread", BATCH: 200})
SPACE = FREE.forbidding(*PAIRS)


def proposals(plan: Search, count: int) -> list[Mapping[str, Any]]:
    """Return the first proposals where the forbidden points would be the best."""
    definition, params = sweep(plan=plan), list[Mapping[str, Any]]()
    proposer, went = WithinLimits(plan, definition), list[Observation]()
    while len(params) < count and (point := proposer.propose(params, went)) is not None:
        params.append(point)
        went.append(complete(float(point.get(RATE, 0.0))))
    return params


def is_forbidden(point: Mapping[str, Any]) -> bool:
    return any(pair.items() <= point.items() for pair in PAIRS)


@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize(
    ("sampler", "count"), [("tpe", 24), ("random", 24), ("qmc", 24), ("nsga2", 24), ("gp", 6)]
)
def test_no_sampler_proposes_it(sampler: str, count: int, balance: bool) -> None:
    given = {"startup": 4} if sampler == "gp" else {}
    plan = search(space=SPACE, sampler=sampler, trials=30, balance=balance, **given)
    points = proposals(plan, count)
    assert len(points) == count
    assert not any(map(is_forbidden, points))
    assert {point["loss"] for point in points} == {"margin", "spread"}
    assert proposals(plan, count) == points
    free = search(space=FREE, sampler=sampler, trials=30, balance=balance, **given)
    assert any(map(is_forbidden, proposals(free, count)))


COUNTED = Space({"loss": ("margin", "spread"), BATCH: Choices(100, 200, 300)}).forbidding(*PAIRS)


@pytest.mark.parametrize("sampler", ["tpe", "random", "qmc", "grid"])
def test_all_points_that_are_left_are_proposed_once(sampler: str) -> None:
    points = proposals(search(space=COUNTED, sampler=sampler, trials=4), 5)
    assert sorted(map(identity, points[:4])) == sorted(map(identity, COUNTED.grid()))
    assert sampler != "grid" or len(points) == 4


def test_a_sampler_with_constraints_is_told_of_it() -> None:
    plan = search(space=SPACE, trials=30)
    measures = Measures(plan, sweep(plan=plan))
    assert measures.are_used
    point = {"loss": "margin", BATCH: 100, "optimiser.learning_rate": 1e-3}
    assert set(measures.excesses(point).values()) == {1.0}
    assert set(measures.excesses({**point, BATCH: 200}).values()) == {-1.0}
    assert measures.broken_points
    assert all(map(is_forbidden, measures.broken_points))


def test_random_points_and_warm_points_keep_clear_of_it() -> None:
    plan = search(space=SPACE, trials=30)
    definition = define(sweep(plan=plan), Changes(), ())
    drawn = RandomPoints(plan, 0, Measures(plan, definition.sweep).holds)
    assert not any(is_forbidden(drawn.point(number) or {}) for number in range(20))
    for values, is_left in ((PAIRS[0], False), ({"loss": "margin", BATCH: 200}, True)):
        point = {**values, "optimiser.learning_rate": 1e-3}
        free = search(space=FREE, trials=30)
        config = free.arm(definition.sweep, "it", point).config.model_dump(mode="json")
        assert (point_of_settings(definition, config) is not None) == is_left


def test_a_search_ends_where_nothing_else_is_left_and_its_manifest_says_what_is(
    world: World,
) -> None:
    space = FEW_POINTS.forbidding({BATCH: 100, RATE: 1e-3})
    definition = searched(space=space, trials=3, scheduler="none", sampler="tpe")
    manifest = Launch(world, definition, falling).run().manifest
    assert manifest.search
    assert manifest.search.forbidden == ("batch_size = 100 with optimiser.learning_rate = 0.001",)
    assert len(manifest.search.proposals) == 3
    expect_valid(manifest)
    assert "forbidden" not in searched().manifest.model_dump_json()


def test_a_search_that_began_without_it_is_refused_by_its_name() -> None:
    begun = with_proposal(searched(space=FREE), {"loss": "margin", BATCH: 200, RATE: 1e-3}).manifest
    with pytest.raises(BadInput, match="its forbid would change"):
        check_dropped_cells(begun, searched(space=SPACE).manifest)
