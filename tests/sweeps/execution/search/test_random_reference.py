"""A search is held against random points that take as many epochs as it took, and no more."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from capsmodel import TrainingConfig
from capsmodel.search_range import Choices
from search_spaces import Confirm, Limit, PromotionAsha, Search
from search_spaces.plans.decisions import Pause, ProposeRandom, Select
from search_spaces.space import limits as limits_module
from sweeps.execution.plan.definition import SweepDefinition
from sweeps.execution.search import random_reference
from sweeps.execution.search.random_reference import RandomPoints
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.manifest import ManifestCell
from sweeps.records.manifest_plan import Confirmation, RandomReference
from tests.sweeps.execution.search.examples import (
    BATCH,
    FEW_POINTS,
    RATE,
    SCHEDULER,
    SPACE,
    expect_valid,
    rate_of,
    searched,
)
from tests.sweeps.execution.search.scores import stopped_arms
from tests.sweeps.execution.search.simulated import Launch, World
from tests.sweeps.execution.search.test_kills import KillAfter

Run = Callable[..., Launch]
SIX_POINTS = SPACE.varied({RATE: Choices(1e-3, 5e-3, 1e-2), BATCH: Choices(100, 200)})
HALF = PromotionAsha(grace=0.3, reduction_factor=2)  # of three epochs: rungs after 1 and 2


def by_rate(spec: TrialSpec, epoch: int) -> float:
    """Return an error that falls with the learning rate."""
    return 0.5 - 10 * rate_of(spec.config)


def with_reference(against: bool = True, random_seed: int = 0, **changes: Any) -> SweepDefinition:
    confirm = Confirm(best=1, seeds=(101,), against_random=against, random_seed=random_seed)
    known: dict[str, Any] = {"sampler": "tpe", "scheduler": "none", "trials": 4, "startup": 2}
    return searched(**(known | {"confirm": confirm} | changes))


def confirmation(launch: Launch) -> Confirmation:
    assert launch.manifest.search
    assert launch.manifest.search.confirmation
    return launch.manifest.search.confirmation


def reference(launch: Launch) -> RandomReference:
    result = launch.manifest.random_reference
    assert result
    return result


def rates(launch: Launch) -> dict[str, float]:
    return {draw.arm: float(str(draw.params[RATE])) for draw in reference(launch).draws}


def test_after_the_search_as_many_epochs_are_drawn_and_the_best_is_confirmed(run: Run) -> None:
    launch = run(with_reference(), by_rate)
    by_arm = rates(launch)
    assert [*by_arm] == [f"random {number}" for number in range(5)], "four proposals and the base"
    assert reference(launch).best == max(by_arm, key=lambda arm: by_arm[arm])
    assert confirmation(launch).confirmed[1:] == ("base", reference(launch).best)
    confirmed = [cell.arm for cell in launch.manifest.cells if cell.seed == 101]
    assert confirmed == [*confirmation(launch).confirmed]
    assert [type(decision) for decision in launch.decisions()].count(ProposeRandom) == 5
    assert launch.manifest.num_expected == len(launch.manifest.cells) == len(launch.started)
    assert not launch.manifest.is_growing
    expect_valid(launch.manifest)


def test_what_was_stopped_early_leaves_less_to_random(run: Run) -> None:
    definition = with_reference(
        trials=12, sampler="random", startup=10, scheduler=SCHEDULER, seeds=(0, 1)
    )
    launch = run(definition, by_rate)
    assert len(stopped_arms(launch)) > 2
    epochs = 2 * (13 * 3) - sum(3 - c.stopped.epoch for c in launch.manifest.cells if c.stopped)
    assert len(rates(launch)) == -(-epochs // 6)
    assert not any(c.stopped for c in launch.manifest.cells if c.arm.startswith("random"))


def test_a_point_that_the_search_has_stopped_is_trained_on_for_random_alone(
    world: World, run: Run
) -> None:
    launch = run(with_reference(space=SIX_POINTS, trials=5, scheduler="asha"), by_rate)
    stopped = {cell.trial_key: cell for cell in launch.manifest.cells if cell.stopped}
    resumed = [
        c for c in launch.manifest.cells if c.arm in rates(launch) and c.trial_key in stopped
    ]
    assert resumed
    assert not any(cell.stopped for cell in resumed)
    assert all(world.folder(cell.trial_key).is_filled() for cell in resumed)
    assert launch.states().count("pruned") == len(stopped_arms(launch))
    assert set(world.epochs_trained().values()) == {1}


def test_a_point_that_promotion_gave_up_is_trained_on_after_a_kill(
    world: World, tmp_path: Path
) -> None:
    def step() -> None:
        for launch in begun:
            kinds = [type(decision) for decision in launch.decisions()]
            if kinds[-1:] == [ProposeRandom] and resumed_cells(launch) and not killed:
                killed.append(world.copy(tmp_path / "killed"))

    definition = with_reference(space=SIX_POINTS, trials=5, scheduler=HALF)
    begun, killed = list[Launch](), list[World]()
    begun.append(Launch(world, definition, by_rate, step=step))
    unbroken = begun[0].run()
    no_end = KillAfter(1000)
    launch = Launch(killed[0], definition, by_rate, step=no_end).run()
    assert resumed_cells(launch)
    assert launch.manifest == unbroken.manifest
    assert all(killed[0].folder(c.trial_key).is_filled() for c in resumed_cells(launch))
    assert set(killed[0].epochs_trained().values()) == {1}


def test_a_longer_search_gives_up_what_it_has_drawn_and_it_is_trained_on(
    world: World, tmp_path: Path
) -> None:
    def step() -> None:
        drawn = [e for launch in begun for e in launch.decisions() if isinstance(e, ProposeRandom)]
        if len(drawn) == 3 and not killed:
            killed.append(world.copy(tmp_path / "killed"))

    begun, killed = list[Launch](), list[World]()
    begun.append(
        Launch(
            world, with_reference(space=SIX_POINTS, trials=3, scheduler=HALF), by_rate, step=step
        )
    )
    begun[0].run(num_concurrent=4)
    longer = with_reference(space=SIX_POINTS, trials=6, scheduler=HALF)
    launch = Launch(killed[0], longer, by_rate).run(num_concurrent=4)
    drawn = {cell.trial_key for cell in launch.manifest.cells if cell.arm in rates(launch)}
    waited = {decision.trial_key for decision in launch.decisions() if isinstance(decision, Pause)}
    assert {cell.trial_key for cell in resumed_cells(launch)} & drawn & waited
    assert all(killed[0].folder(key).is_filled() for key in drawn)
    assert not launch.manifest.is_growing


def resumed_cells(launch: Launch) -> list[ManifestCell]:
    """Return the cells of random points that the search had stopped."""
    stopped = {cell.trial_key for cell in launch.manifest.cells if cell.stopped}
    drawn = {proposal.arm for proposal in launch.manifest.drawn}
    return [c for c in launch.manifest.cells if c.arm in drawn and c.trial_key in stopped]


def test_samplers_and_hashes_know_nothing_of_it(world: World, run: Run) -> None:
    launch = run(with_reference(), by_rate)
    alone = Launch(World(world.root / "alone"), with_reference(against=False), by_rate).run()
    assert launch.proposals() == alone.proposals()
    assert launch.observations() == alone.observations()
    assert launch.definition.decided_by == alone.definition.decided_by
    assert "random" not in alone.manifest.model_dump_json()
    assert launch.manifest.proposed_cells() == alone.manifest.proposed_cells()


def test_a_search_that_was_confirmed_gets_it_later_and_loses_it_again(run: Run) -> None:
    before = run(with_reference(against=False), by_rate)
    after = run(with_reference(), by_rate)
    assert after.started == [
        cell.trial_key for cell in after.manifest.cells if cell.arm in rates(after)
    ], "the random points, and the best of them anew"
    assert confirmation(after).arms == confirmation(before).arms
    other = run(with_reference(random_seed=1), by_rate)
    assert set(rates(other).values()).isdisjoint(rates(after).values())
    without = run(with_reference(against=False), by_rate)
    assert (without.started, without.manifest) == ([], before.manifest)
    last = run(with_reference(), by_rate)
    assert (last.started, last.manifest) == ([], after.manifest)


def test_a_longer_search_is_held_against_the_same_points_and_more(world: World, run: Run) -> None:
    shorter, longer = run(with_reference(), by_rate), run(with_reference(trials=6), by_rate)
    assert [*rates(longer).items()][:5] == [*rates(shorter).items()]
    assert len(rates(longer)) == 7
    names = [arm.name for arm in longer.manifest.arms]
    assert names == ["base", *(f"proposal {n}" for n in range(6)), *rates(longer)]
    expect_valid(longer.manifest)
    from_log = run(with_reference(trials=6), by_rate)
    assert (from_log.started, from_log.manifest) == ([], longer.manifest)
    for file in world.journals.iterdir():
        file.unlink()
    restored = run(with_reference(trials=6), by_rate)
    assert (restored.started, restored.manifest) == ([], longer.manifest)


def test_of_random_points_that_all_diverge_none_is_confirmed(run: Run) -> None:
    def score(spec: TrialSpec, epoch: int) -> float:
        return float("nan") if spec.arm.startswith("random") else by_rate(spec, epoch)

    launch = run(with_reference(), score)
    assert len(rates(launch)) == 15, "each has taken one epoch of fifteen"
    assert reference(launch).best is None
    assert confirmation(launch).confirmed == (*(confirmation(launch).arms or ()), "base")


def test_where_nothing_ran_to_full_length_nothing_is_drawn(run: Run) -> None:
    launch = run(with_reference(), lambda spec, epoch: float("nan"))
    assert reference(launch).draws == ()
    (selection,) = (entry for entry in launch.decisions() if isinstance(entry, Select))
    assert selection.arms == ()


def test_a_small_space_is_drawn_whole_and_no_point_twice(run: Run) -> None:
    launch = run(with_reference(space=FEW_POINTS), by_rate)
    points = [tuple(draw.params.values()) for draw in reference(launch).draws]
    assert sorted(points) == [(rate, size) for rate in (1e-3, 1e-2) for size in (100, 200)]


def test_points_keep_the_limits_and_hang_on_their_seed_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def counted(config: TrainingConfig) -> int:
        return round(config.model_dump()["optimiser"]["learning_rate"] * 1e9)

    monkeypatch.setattr(limits_module, "num_parameters", counted)
    limit = Limit("num_parameters", at_most=1_000_000)
    plan = with_reference(limits=limit).sweep.plan
    assert isinstance(plan, Search)

    def holds(point: Any) -> bool:
        return point[RATE] <= 1e-3

    points = RandomPoints(plan, 0, holds)
    drawn = [points.point(number) for number in range(8)]
    assert all(point and holds(point) for point in drawn)
    assert RandomPoints(plan, 0, holds).point(7) == drawn[7]
    assert RandomPoints(plan, 1, holds).point(7) not in drawn
    few = plan.model_copy(update={"space": FEW_POINTS})
    counted_points = RandomPoints(few, 0, holds)
    assert counted_points.point(1)
    assert counted_points.point(2) is None, "two of four keep the limit"


@pytest.mark.parametrize(("most_listed", "is_listed"), [(3, False), (4, True)])
def test_after_too_many_misses_the_points_of_a_space_are_listed_if_they_are_few(
    monkeypatch: pytest.MonkeyPatch, most_listed: int, is_listed: bool
) -> None:
    monkeypatch.setattr(random_reference, "_MOST_MISSED", 0)
    monkeypatch.setattr(random_reference, "_MOST_LISTED", most_listed)
    plan = with_reference(space=FEW_POINTS).sweep.plan
    assert isinstance(plan, Search)
    points = RandomPoints(plan, 0, lambda _: True)
    drawn = [point for number in range(5) if (point := points.point(number))]
    assert sorted(drawn, key=str) == (sorted(FEW_POINTS.grid(), key=str) if is_listed else [])


def test_a_store_that_was_lost_costs_nothing(world: World, run: Run) -> None:
    launch = run(with_reference(), by_rate)
    second = Launch(replace(world, has_store=False), with_reference(), by_rate).run()
    assert (second.started, second.manifest) == ([], launch.manifest)
