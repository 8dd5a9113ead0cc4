"""Killed at any step and run again: searches with each of what decides beside a sampler."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from capsmodel import TrainingConfig
from capsmodel.search_range import Choices
from search_spaces import Confirm, Hyperband, Limit, NoImprovement, PromotionAsha, Search
from search_spaces.space import limits as limits_module
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.records.manifest import Manifest
from tests.sweeps.execution.search.examples import BATCH, RATE, SPACE, WHOLE, searched
from tests.sweeps.execution.search.scores import falling, of
from tests.sweeps.execution.search.simulated import Launch, Score, World
from tests.sweeps.execution.search.test_kills import Unbroken, built, came_to
from tests.sweeps.execution.search.test_kills import score as by_rate
from tests.sweeps.execution.search.test_warm_start import Store, other, warm

pytestmark = pytest.mark.usefixtures("few_points_tried")

FEW = SPACE.varied({RATE: Choices(1e-3, 5e-3, 1e-2), BATCH: Choices(100, 200)})
CONFIRM = Confirm(best=1, seeds=(101,))
AGAINST_RANDOM = Confirm(best=1, seeds=(101,), against_random=True)


class Case(NamedTuple):
    """A search, and what it has to come to so that a kill could spoil it.

    Attributes:
        begun: As its first launch begins, where that is another than the later ones.
    """

    definition: SweepDefinition
    score: Score
    is_reached: Callable[[Manifest], object]
    begun: SweepDefinition | None = None


def tpe(**changes: Any) -> SweepDefinition:
    known: dict[str, Any] = {"sampler": "tpe", "trials": 4, "confirm": CONFIRM}
    return searched(**(known | changes))


def started_warm() -> Case:
    cold = tpe(scheduler="none")
    begun = warm(cold, Store(other(2).manifest))
    return Case(
        cold, falling, lambda manifest: manifest.search and manifest.search.warm_start, begun
    )


def limited() -> Case:
    definition = tpe(limits=Limit("num_parameters", at_most=2_000_000), trials=5)
    return Case(definition, by_rate, _all_keep_it)


def ended() -> Case:
    definition = tpe(stop=NoImprovement(proposals=1), scheduler="none", trials=8)
    scores = of(0.4, 0.3, 0.2, 0.25, 0.2, 0.3, 0.1, 0.3)
    return Case(definition, scores, lambda manifest: manifest.search and manifest.search.ended)


def against_random() -> Case:
    definition = tpe(space=FEW, trials=5, confirm=AGAINST_RANDOM)
    return Case(definition, by_rate, _one_stopped_goes_on)


def balanced() -> Case:
    space = WHOLE.varied({"loss": ("margin", "spread"), BATCH: Choices(100, 200)})
    space = space.only("loss", RATE, BATCH).forbidding({"loss": "margin", BATCH: 100})
    definition = tpe(space=space, sampler="random", trials=5, scheduler="none")
    return Case(definition, by_rate, _has_two_of_each_loss)


def promoted_by_two_objectives() -> Case:
    half = PromotionAsha(grace=0.3, reduction_factor=2)  # of three epochs: rungs after 1 and 2
    definition = tpe(cost="num_parameters", scheduler=half, trials=6)
    return Case(definition, by_rate, _each_rung_stops)


def in_brackets() -> Case:
    definition = tpe(scheduler=Hyperband(grace=0.3, reduction_factor=2), trials=5, seeds=(0, 1))
    return Case(definition, by_rate, _each_rung_stops)


CASES = (
    *(started_warm, limited, ended, against_random),
    *(promoted_by_two_objectives, in_brackets, balanced),
)


def _each_rung_stops(manifest: Manifest) -> bool:
    chosen = manifest.search and manifest.search.confirmation and manifest.search.confirmation.arms
    return bool(chosen) and {cell.stopped.epoch for cell in manifest.cells if cell.stopped} == {
        1,
        2,
    }


def _has_two_of_each_loss(manifest: Manifest) -> bool:
    proposals = manifest.search.proposals if manifest.search else ()
    losses = [proposal.params["loss"] for proposal in proposals[:4]]
    batches = {point.params[BATCH] for point in proposals if point.params["loss"] == "margin"}
    return sorted(losses) == ["margin", "margin", "spread", "spread"] and batches == {200}


def _all_keep_it(manifest: Manifest) -> bool:
    proposals = manifest.search.proposals if manifest.search else ()
    rates = [proposal.params[RATE] for proposal in proposals]
    return len(rates) == 5 and all(isinstance(rate, float) and rate <= 2e-3 for rate in rates)


def _one_stopped_goes_on(manifest: Manifest) -> bool:
    stopped = {cell.trial_key for cell in manifest.cells if cell.stopped}
    drawn = {proposal.arm for proposal in manifest.drawn}
    return any(cell.trial_key in stopped for cell in manifest.cells if cell.arm in drawn)


@pytest.fixture(autouse=True)
def _learning_soon_and_parameters_by_the_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(config: TrainingConfig) -> int:
        return round(config.model_dump()["optimiser"]["learning_rate"] * 1e9)

    monkeypatch.setattr(limits_module, "num_parameters", counted)
    monkeypatch.setattr("sweeps.execution.plan.definition.num_parameters", built)
    monkeypatch.setattr(Search, "num_startup", 2)


@pytest.mark.parametrize("every", [11, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("made", CASES)
def test_a_driver_killed_at_any_step_and_run_again_changes_nothing(
    tmp_path: Path, made: Callable[[], Case], every: int
) -> None:
    case = made()
    world, copies, steps = World(tmp_path / "unbroken"), list[World](), count(1)

    def step() -> None:
        if next(steps) % every == 0:
            copies.append(world.copy(tmp_path / f"killed {len(copies)}"))

    begun = case.begun or case.definition
    ended = Launch(world, begun, case.score, step=step).run()
    assert case.is_reached(ended.manifest)
    assert len(copies) > 50 / every
    unbroken = Unbroken(world, ended)
    for number, copy in enumerate(copies):
        # without a store the log alone has to be enough
        resumed = copy if number % 3 else replace(copy, has_store=False)
        has_begun = resumed.current() is not None or (resumed.journals / "example.jsonl").exists()
        definition = case.definition if has_begun else begun
        unbroken.expect_same(resumed, Launch(resumed, definition, case.score).run())


@pytest.mark.parametrize("made", [promoted_by_two_objectives, in_brackets])
def test_a_driver_that_has_lost_its_log_comes_to_the_same(
    tmp_path: Path, made: Callable[[], Case]
) -> None:
    case = made()
    world, copies, steps = World(tmp_path / "unbroken"), list[World](), count(1)

    def step() -> None:
        if next(steps) % 25 == 0:
            copies.append(world.copy(tmp_path / f"killed {len(copies)}"))

    ended = Launch(world, case.definition, case.score, step=step).run()
    expected = came_to(world, ended) | {"noted": 0}
    assert len(copies) > 5
    for copy in copies:
        shutil.rmtree(copy.journals)
        resumed = Launch(copy, case.definition, case.score).run()
        assert came_to(copy, resumed) | {"noted": 0} == expected
