"""What breaks the limits of a search is never trained: another point is proposed in its place."""

from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.search_range import Choices
from search_spaces import Limit, Search
from search_spaces.space import limits as limits_module
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.search.observation import Observation
from sweeps.execution.search.within_limits import MOST_REDRAWN, WithinLimits
from sweeps.records.errors import BadInput
from tests.sweeps.execution.search.examples import (
    BATCH,
    RATE,
    SPACE,
    complete,
    expect_valid,
    search,
    searched,
    sweep,
)
from tests.sweeps.execution.search.scores import falling
from tests.sweeps.execution.search.simulated import Launch, World

COUNTED = SPACE.varied({RATE: Choices(1e-3, 2e-3, 3e-3, 4e-3), BATCH: Choices(100, 200)})


@pytest.fixture(autouse=True)
def _parameters_by_the_learning_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a configuration have a million parameters for each thousandth of its learning rate."""

    def counted(config: TrainingConfig) -> int:
        return round(config.model_dump()["optimiser"]["learning_rate"] * 1e9)

    monkeypatch.setattr(limits_module, "num_parameters", counted)
    monkeypatch.setattr(Search, "num_startup", 4)


def limited(at_most: int = 1_000_000, **changes: Any) -> SweepDefinition:
    return searched(limits=Limit("num_parameters", at_most=at_most), **changes)


def proposals(definition: SweepDefinition, count: int = 12) -> list[dict[str, Any]]:
    """Return what is proposed where the error is the learning rate's."""
    plan = definition.sweep.plan
    assert isinstance(plan, Search)
    proposer, params, went = WithinLimits(plan, definition.sweep), [], list[Observation]()
    for _ in range(count):
        point = proposer.propose(params, went)
        if point is None:
            break
        params.append(point)
        went.append(complete(1.0 - float(point[RATE])))
    return params


@pytest.mark.parametrize(
    ("sampler", "count"),
    [
        ("tpe", 12),
        ("random", 12),
        pytest.param("gp", 7, marks=pytest.mark.nightly),  # which takes longer than the others
        ("qmc", 12),
    ],
)
def test_no_proposal_breaks_a_limit(sampler: str, count: int) -> None:
    points = proposals(limited(sampler=sampler, trials=12), count)
    rates = [point[RATE] for point in points]
    assert len({tuple(point.items()) for point in points}) == count
    assert max(rates) <= 1e-3
    assert max(point[RATE] for point in proposals(searched(sampler=sampler), count)) > 1e-3
    second = proposals(limited(sampler=sampler, trials=12), count)
    assert second == points


@pytest.mark.parametrize("sampler", ["tpe", "random", "grid", "qmc"])
def test_of_a_space_that_can_be_counted_each_point_within_is_proposed_once(sampler: str) -> None:
    definition = limited(2_000_000, sampler=sampler, space=COUNTED, trials=8)
    points = proposals(definition)
    if sampler != "qmc":
        assert sorted((point[RATE], point[BATCH]) for point in points) == [
            (rate, batch) for rate in (1e-3, 2e-3) for batch in (100, 200)
        ]
    assert {point[RATE] for point in points} == {1e-3, 2e-3}


def test_a_rare_point_is_found_where_the_sampler_finds_none() -> None:
    points = proposals(limited(105_000, sampler="random", trials=3), 3)
    assert len(points) == 3
    assert MOST_REDRAWN < 1000
    assert all(1e-4 <= point[RATE] <= 1.05e-4 for point in points)


def test_a_search_ends_where_no_point_is_left(world: World) -> None:
    definition = limited(2_000_000, sampler="tpe", space=COUNTED, trials=8, scheduler="none")
    launch = Launch(world, definition, falling).run()
    assert launch.manifest.search
    assert launch.manifest.search.ending == (
        "ended after 4 of 8 proposals: no other point was found within the limits "
        "(num_parameters at most 2000000)"
    )
    assert not launch.manifest.is_growing
    expect_valid(launch.manifest)
    second = Launch(world, definition, falling).run()
    assert (second.started, second.manifest) == ([], launch.manifest)


def test_limits_decide_what_is_proposed_and_their_absence_changes_nothing() -> None:
    without, at_one, at_two = (
        definition.manifest.search
        for definition in (searched(), limited(1_000_000), limited(2_000_000))
    )
    assert without
    assert at_one
    assert at_two
    assert len({without.definition, at_one.definition, at_two.definition}) == 3
    assert "limits" not in without.model_dump_json()
    assert at_one.limits == ("num_parameters at most 1000000",)


def test_limits_that_nothing_keeps_are_refused() -> None:
    with pytest.raises(BadInput) as caught:
        define(sweep(plan=search(limits=Limit("num_parameters", at_most=7))), Changes(), ())
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.startswith(
        "No point of the space keeps the limits, of 64 that were tried (num_parameters at most 7, "
        "where the least is 1"
    )
