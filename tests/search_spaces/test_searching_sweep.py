"""A sweep that searches has a space in place of arms."""

from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.models import CapsNet
from capsmodel.routing import DynamicRouting
from capsmodel.search_range import Ints
from search_spaces import Median, Search, Space
from tests.search_spaces.declared import SPACE, Mine, refusal, searching, sweep


def test_a_search_proposes_arms() -> None:
    params = {"model.routing": "dynamic", "model.routing[dynamic].iterations": 1}
    arm = searching().proposed("trial 0", params)
    assert arm.name == "trial 0"
    assert arm.config == TrainingConfig(model=CapsNet(routing=DynamicRouting(iterations=1)))
    assert arm.changes == {"model.routing": "dynamic", "model.routing.iterations": 1}


def test_a_design_proposes_nothing_and_a_search_has_no_arms_beforehand() -> None:
    with pytest.raises(ValueError, match="'example' is a design: its arms are declared"):
        sweep().proposed("a", {})
    with pytest.raises(ValueError, match="'example' is a search: it has no arms but those"):
        searching().arms()


def test_the_seeds_of_a_search_stand_in_its_plan() -> None:
    assert refusal(plan=searching().plan) == (
        "The seeds of a search belong to its plan, Search(seeds=...): leave out Sweep(seeds=...)."
    )


def test_a_space_that_cannot_be_is_refused_with_the_sweep() -> None:
    space = SPACE.varied({"model.routing.iterations": Ints(0, 3)})
    assert refusal(plan=Search(space=space, trials=8), seeds=()) == (
        "The space proposes what cannot be: model.routing.iterations must be an integer from 1 to "
        "100, got 0."
    )


def test_an_own_part_is_proposed_where_it_is_declared() -> None:
    space = SPACE + Space.of(Mine, at="model.routing")
    plan = Search(space=space, trials=8)
    assert "Unknown routing 'mine'" in refusal(plan=plan, seeds=())
    arm = searching(space, parts=(Mine,)).proposed("a", {"model.routing": "mine"})
    assert arm.config.model == CapsNet(routing=Mine())


def test_an_own_part_in_the_base_of_a_search_is_declared() -> None:
    base = TrainingConfig(model=CapsNet(routing=Mine()))
    plan = Search(space=Space.of(TrainingConfig).only("batch_size"), trials=4)
    assert "declare it, Sweep(parts=[Mine], ...)" in refusal(base=base, plan=plan, seeds=())
    assert searching(plan=plan, base=base, parts=(Mine,))


def test_trials_seeds_sampler_and_scheduler_of_a_search_can_be_changed() -> None:
    changed = searching().changed(seeds=(7, 8), trials=5, sampler="random", scheduler="median")
    plan = changed.plan
    assert isinstance(plan, Search)
    assert (plan.seeds, plan.trials, plan.sampler, plan.scheduler) == (
        (7, 8),
        5,
        "random",
        Median(),
    )
    assert changed.seeds == ()
    assert searching().changed(scheduler="asha", seeds=()) == searching()


@pytest.mark.parametrize("option", [{"trials": 5}, {"sampler": "tpe"}, {"scheduler": "asha"}])
def test_what_only_a_search_has_is_refused_for_a_design(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"is a design, .* only a search has {next(iter(option))}"):
        sweep().changed(**option)


@pytest.mark.parametrize("path", ["model", "model.routing", "model.routing.iterations"])
def test_a_path_that_the_space_varies_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=f"'{path}' is varied by the search itself"):
        searching().changed({path: 1})


def test_what_the_space_does_not_vary_reaches_every_proposal() -> None:
    changed = searching().changed({"stopping.epochs": 2})
    arm = changed.proposed("a", {"model.routing": "uniform"})
    assert arm.config.stopping.num_epochs == 2
    with pytest.raises(ValueError, match="Did you mean 'stopping'"):
        searching().changed({"stoping.epochs": 2})
