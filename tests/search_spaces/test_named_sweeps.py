"""The named sweeps are what their docstrings say."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsmodel.config import num_parameters
from search_spaces import Asha, NoScheduler, PublishedTable, Search, Sweep
from search_spaces.catalogue import named_sweep
from sweeps.aggregation.sensitivity.sample import FEWEST_TRIALS

SEARCHES = ("quickstart_search", "capsule_search")


def plan_of(sweep: Sweep) -> Search:
    assert isinstance(sweep.plan, Search)
    return sweep.plan


@pytest.mark.parametrize("name", SEARCHES)
@settings(max_examples=20, deadline=None)  # each builds a network, the first one slowly
@given(data=st.data())
def test_whatever_a_named_search_proposes_can_be_built(name: str, data: st.DataObject) -> None:
    sweep = named_sweep(name)
    space = plan_of(sweep).space
    size = len(space.dimensions)
    unit = data.draw(st.lists(st.floats(0, 1), min_size=size, max_size=size))
    assert num_parameters(sweep.proposed("a", space.at(unit)).config) > 0


def test_the_first_search_is_random_and_runs_all_to_the_end() -> None:
    plan = plan_of(named_sweep("quickstart_search"))
    assert (plan.sampler, plan.trials, plan.scheduler) == ("random", 44, NoScheduler())
    assert plan.confirm is None


def test_the_capsule_search_varies_what_is_disputed_about_capsules() -> None:
    ranges = {
        dimension.name: dimension.range
        for dimension in plan_of(named_sweep("capsule_search")).space.dimensions
    }
    kinds: dict[str, Any] = {
        "loss": {"margin", "cross_entropy"},
        "loss[margin].schedule": {"constant", "linear", "sigmoid"},
    }
    for name, expected in kinds.items():
        assert set(getattr(ranges.pop(name), "values")) == expected  # noqa: B009
    assert set(ranges) == {
        "model.routing.iterations",
        "model.primary_types",
        "model.primary_dim",
        "model.class_dim",
        "model.reconstruction.weight",
        "optimiser.learning_rate",
    }


def test_the_capsule_search_stops_the_worse_half_half_way_and_confirms_the_best() -> None:
    sweep = named_sweep("capsule_search")
    plan = plan_of(sweep)
    epochs = sweep.base.stopping.num_epochs
    assert plan.scheduler == Asha(grace=0.5, reduction_factor=2, rivals=10)
    assert plan.scheduler.rungs(epochs) == (epochs // 2,)
    assert plan.confirm is not None
    assert (plan.trials, plan.confirm.best, len(plan.confirm.seeds)) == (60, 3, 5)


@pytest.mark.parametrize("name", SEARCHES)
def test_each_setting_of_a_search_has_enough_random_proposals_for_a_verdict(name: str) -> None:
    plan = plan_of(named_sweep(name))
    num_random = plan.trials if plan.sampler == "random" else plan.startup
    for dimension in plan.space.dimensions:
        ranges = {other.name: other.range for other in plan.space.dimensions}
        kinds = [len(getattr(ranges[other], "values")) for other, _ in dimension.conditions]  # noqa: B009
        assert num_random // math.prod(kinds) >= FEWEST_TRIALS, dimension.name


def test_margin_schedules_end_at_the_margins_of_the_baseline() -> None:
    arms = named_sweep("margin_schedules").arms()
    margins = {arm.name: arm.config.loss.model_dump(exclude={"schedule"}) for arm in arms}
    assert all(schedule == margins["constant"] for schedule in margins.values())


def test_the_papers_rows_are_the_arms() -> None:
    sweep = named_sweep("sabour2017_table1")
    table = sweep.tables[0]
    assert isinstance(table, PublishedTable)
    assert [row.arm for row in table.rows] == [arm.name for arm in sweep.arms()]
    for row, arm in zip(table.rows[1:], sweep.arms()[1:], strict=True):
        model = arm.config.model.model_dump()
        drawn = "no" if model["reconstruction"]["kind"] == "none" else "yes"
        assert row.labels == ("CapsNet", str(model["routing"]["iterations"]), drawn)


def test_the_papers_networks_have_the_papers_size() -> None:
    sizes = {
        arm.name: num_parameters(arm.config) for arm in named_sweep("sabour2017_table1").arms()
    }
    assert sizes["3 iterations, reconstruction"] == 8_215_568
    assert sizes["3 iterations, no reconstruction"] == 8_215_568 - 1_411_344
    assert sizes["CNN"] == 35_445_522


def test_the_papers_sweep_can_be_made_small() -> None:
    changes = {"data.fraction": 0.01, "stopping.epochs": 1}
    small = named_sweep("sabour2017_table1").changed(changes, seeds=(0,))
    assert [arm.config.stopping.num_epochs for arm in small.arms()] == [1] * 5
    assert {arm.config.data.fraction for arm in small.arms()} == {0.01}
