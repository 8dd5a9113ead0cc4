"""A search with a warm start first proposes the best points of another sweep, each once."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from search_spaces import ListedArms
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.search.warm_points import fitting_points, warm_started
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest, Stopped
from sweeps.records.trial_record import Outcome, TrialRecord
from sweeps.tracking.store import RecordStore
from tests.sweeps.execution.search.examples import (
    BATCH,
    FEW_POINTS,
    RATE,
    expect_valid,
    params,
    proposed,
    search,
    searched,
    sweep,
)
from tests.sweeps.execution.search.grown import with_stopped
from tests.sweeps.execution.search.scores import falling
from tests.sweeps.execution.search.simulated import Launch, World


class Store:
    """Holds one sweep, whose trials have all finished, each worse than those before it."""

    def __init__(self, manifest: Manifest, **outcomes: Outcome) -> None:
        self.published = manifest
        self.trials = {
            cell.trial_key: TrialRecord(
                record_id="r",
                trial_key=cell.trial_key,
                seed=cell.seed,
                outcome=outcomes.get(cell.arm.replace(" ", "_"), Outcome.FINISHED),
                metrics={"validation_error": number / 100, "validation_loss": 1.0},
            )
            for number, cell in enumerate(manifest.cells)
        }

    def manifest(self, sweep: str) -> Manifest:
        assert sweep == "other"
        return self.published

    def records(self, keys: Iterable[str]) -> dict[str, TrialRecord]:
        return {key: self.trials[key] for key in keys if key in self.trials}


def other(count: int = 3, **changes: Any) -> SweepDefinition:
    """Return a search called other with some proposals."""
    plan = search(trials=20, **changes)
    return proposed(define(sweep(name="other", plan=plan), Changes(), ()), count)


def warm(definition: SweepDefinition, store: Store) -> SweepDefinition:
    return warm_started(definition, "other", cast(RecordStore, store))


def points(definition: SweepDefinition, store: Store) -> list[Mapping[str, Any]]:
    return list(fitting_points(definition, store.published, store.trials))


def test_proposals_that_finished_with_each_seed_fit_the_best_first() -> None:
    store = Store(other(4).manifest, proposal_1=Outcome.DIVERGED)
    assert points(searched(), store) == [params(0), params(2), params(3)]
    worst_first = {
        key: record.model_copy(update={"metrics": {"validation_error": -number}})
        for number, (key, record) in enumerate(store.trials.items())
    }
    store.trials = worst_first
    assert points(searched(), store) == [params(3), params(2), params(0)]


def test_what_was_stopped_or_has_no_such_objective_does_not_fit() -> None:
    definition = other(3)
    key = definition.manifest.cells[-1].trial_key
    stopped = with_stopped(definition, key, Stopped(epoch=1, value=0.1))
    assert points(searched(), Store(stopped.manifest)) == [params(0), params(1)]
    store = Store(definition.manifest)
    store.trials = {
        key: record.model_copy(update={"metrics": {}}) for key, record in store.trials.items()
    }
    assert points(searched(), store) == []


def test_points_outside_the_space_do_not_fit() -> None:
    assert points(searched(space=FEW_POINTS, trials=3), Store(other(3).manifest)) == []


def test_the_arms_of_a_design_fit_where_their_settings_are_points() -> None:
    arms: dict[str, dict[str, Any]] = {
        "base": {},
        "fast": {RATE: 5e-3, BATCH: 64},
        "again": {RATE: 5e-3, BATCH: 64, "data.split_seed": 3},
        "sgd": {"optimiser": "sgd", BATCH: 64},
    }
    design = sweep(name="other", plan=ListedArms(arms=arms, baseline="base"), seeds=(0, 1))
    manifest = define(design, Changes(), ()).manifest
    (point,) = points(searched(), Store(manifest))
    assert point == {RATE: 5e-3, BATCH: 64}, "once, and neither the base nor another optimiser"


def test_the_points_are_proposed_first_and_a_launch_without_the_option_goes_on(
    world: World,
) -> None:
    store = Store(other(3).manifest)
    launch = Launch(world, warm(searched(trials=5), store), falling).run()
    assert launch.proposals()[:2] == [params(0), params(1)]
    assert launch.proposals()[2] != params(2)
    assert launch.manifest.search
    assert launch.manifest.search.beginning == (
        "starts warm from 'other', of which 3 points fit its space: the best 2 are proposed first"
    )
    expect_valid(launch.manifest)
    second = Launch(world, searched(trials=5), falling).run()
    assert second.started == []
    assert second.manifest == launch.manifest
    longer = Launch(world, searched(trials=6), falling).run()
    assert longer.proposals()[:5] == launch.proposals()
    without = Launch(replace(world, has_store=False), searched(trials=5), falling).run()
    assert without.manifest == launch.manifest


def test_no_more_are_taken_than_do_no_harm() -> None:
    begun = warm(searched(), Store(other(4).manifest)).manifest.search
    assert begun
    assert begun.warm_start
    assert [dict(point) for point in begun.warm_start.points] == [params(0), params(1)]
    assert begun.warm_start.num_fitting == 4


def refusal(definition: SweepDefinition, name: str = "other", count: int = 3) -> str:
    with pytest.raises(BadInput) as caught:
        warm_started(definition, name, cast(RecordStore, Store(other(count).manifest)))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_cannot_start_warm_is_refused() -> None:
    assert (
        "cannot start warm from itself: give the new search another name (--name NEW)"
        in refusal(searched(), "example")
    )
    assert "No finished trial of 'other' is a point of the space" in refusal(searched(), count=0)
    assert "has begun without a warm start" in refusal(proposed(searched(), 1))
    grid = searched(space=FEW_POINTS, sampler="grid", trials=4)
    assert "The sampler grid proposes points by their places" in refusal(grid)
    begun = warm(searched(), Store(other(2).manifest))
    assert warm(begun, Store(other(3).manifest)) == begun, "what it has begun with stands"
    assert "has begun with the points of 'other'" in refusal(begun, "third")
    arms = ListedArms(arms={"a": {}}, baseline="a")
    design = define(sweep(plan=arms, seeds=(0,)), Changes(), ())
    assert "only a search has --warm-start" in refusal(design)
