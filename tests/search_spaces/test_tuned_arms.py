"""Arms that are tuned alike: which points are tried, which is chosen, and what is refused."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsmodel.routing import UniformRouting
from capsmodel.search_range import Floats, Ints
from search_spaces import PublishedRow, PublishedTable, Sweep, TunedArms
from search_spaces.plans.decisions import (
    DONE,
    WAIT,
    CellEnded,
    CellOutcome,
    Propose,
    Select,
    SlotFree,
)
from search_spaces.plans.known import Known
from sweeps.execution.plan.definition import Changes, define
from tests.capsmodel.small_config import small_config

RATE, ITERATIONS = "optimiser.learning_rate", "model.routing.iterations"
ARMS: dict[str, dict[str, Any]] = {"dynamic": {}, "uniform": {"model.routing": "uniform"}}
EPOCHS = Changes(epochs=2)
Score = Callable[[str, int], Mapping[str, float] | CellOutcome]


def plan(**changes: Any) -> TunedArms:
    known: dict[str, Any] = {"arms": ARMS, "baseline": "dynamic", "nuisance": {RATE: (1e-3, 1e-2)}}
    return TunedArms(**(known | changes))


def tuned(seeds: tuple[int, ...] = (0, 1, 2), tables: Any = (), **changes: Any) -> Sweep:
    return Sweep(
        name="tuned", base=small_config(), plan=plan(**changes), seeds=seeds, tables=tables
    )


def refused(**changes: Any) -> str:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        tuned(**changes)
    return str(caught.value)


def after_tuning(sweep: Sweep, score: Score) -> Known:
    """Return the known trials after all tunings: the last metrics by arm and seed."""
    known, cells = Known(), sweep.plan.initial_cells(sweep)
    known.take(Propose(cells))
    for cell in cells:
        came = score(cell.arm, cell.seed)
        outcome, last = (came, {}) if isinstance(came, str) else ("finished", came)
        known.take(CellEnded(known.key_of(cell.place), outcome, 1, last))
    return known


def chosen(sweep: Sweep, score: Score) -> tuple[str, ...]:
    (choice,) = sweep.plan.decide(sweep, after_tuning(sweep, score), SlotFree())
    assert isinstance(choice, Select)
    return choice.arms


def metrics(error: float, loss: float = 1.0) -> dict[str, float]:
    return {"validation_error": error, "validation_loss": loss}


def test_every_arm_gets_the_same_points_on_the_same_seeds() -> None:
    sweep = tuned(nuisance={RATE: (1e-3, 1e-2), "batch_size": (8, 16)})
    cells = sweep.plan.initial_cells(sweep)
    assert len(cells) == 2 * 4 * 2
    points = {
        arm: [
            (cell.settings[RATE], cell.settings["batch_size"], cell.seed)
            for cell in cells
            if cell.arm.startswith(arm)
        ]
        for arm in ARMS
    }
    assert points["dynamic"] == points["uniform"]
    assert len({*points["dynamic"]}) == 8


@settings(max_examples=30, deadline=None)
@given(trials=st.integers(2, 12), seed=st.integers(0, 1000))
def test_drawn_points_hang_on_the_seed_alone_and_lie_in_the_range(trials: int, seed: int) -> None:
    ranges = {RATE: Floats(1e-4, 1e-2, log=True), "batch_size": Ints(8, 64)}
    points = plan(nuisance=ranges, trials=trials, draw_seed=seed).points
    assert points == plan(nuisance=ranges, trials=trials, draw_seed=seed).points
    assert len(points) == trials
    for point in points:
        assert 1e-4 <= float(point[RATE]) <= 1e-2
        assert point["batch_size"] in range(8, 65)


def test_some_points_of_a_grid_are_drawn_without_repeats_in_its_order() -> None:
    values = tuple(range(8, 40))
    points = plan(nuisance={"batch_size": values}, trials=5, draw_seed=3).points
    sizes = [point["batch_size"] for point in points]
    assert sizes == sorted({*sizes})
    assert len(sizes) == 5
    assert points != plan(nuisance={"batch_size": values}, trials=5, draw_seed=4).points


def test_the_lowest_mean_over_the_tuning_seeds_is_chosen_for_each_arm() -> None:
    errors = {
        "dynamic, tuning 1": (0.1, 0.3),
        "dynamic, tuning 2": (0.22, 0.22),
        "uniform, tuning 1": (0.1, 0.3),
        "uniform, tuning 2": (0.3, 0.05),
    }
    best = chosen(tuned(), lambda arm, seed: metrics(errors[arm][seed - 101]))
    assert best == ("dynamic, tuning 1", "uniform, tuning 2")


def test_ties_go_to_the_lower_loss_and_then_to_the_earlier_point() -> None:
    losses = {"dynamic, tuning 2": 0.5}
    best = chosen(tuned(), lambda arm, _: metrics(0.2, losses.get(arm, 1.0)))
    assert best == ("dynamic, tuning 2", "uniform, tuning 1")


def test_losses_decide_no_tie_where_what_is_tuned_weighs_them() -> None:
    sweep = tuned(nuisance={"loss.positive_margin": (0.9, 0.8)})
    losses = {"dynamic, tuning 2": 0.5}
    best = chosen(sweep, lambda arm, _: metrics(0.2, losses.get(arm, 1.0)))
    assert best == ("dynamic, tuning 1", "uniform, tuning 1")


@pytest.mark.parametrize("outcome", ["diverged", "failed"])
def test_what_diverged_or_failed_on_one_seed_stands_behind_what_did_not(
    outcome: CellOutcome,
) -> None:
    def score(arm: str, seed: int) -> Mapping[str, float] | CellOutcome:
        if arm.endswith("tuning 1"):
            return outcome if seed == 102 else metrics(0.01)
        return metrics(0.9)

    assert chosen(tuned(), score) == ("dynamic, tuning 2", "uniform, tuning 2")


def test_nothing_is_chosen_while_a_tuning_runs_and_nothing_more_follows_what_is_compared() -> None:
    sweep = tuned()
    cells = sweep.plan.initial_cells(sweep)
    known = after_tuning(sweep, lambda arm, seed: metrics(0.1))
    open_ = Known()
    open_.take(Propose(cells))
    assert [*sweep.plan.decide(sweep, open_, SlotFree())] == [WAIT]
    known.take(Select(("dynamic, tuning 2", "uniform, tuning 1")))
    (proposed,) = sweep.plan.decide(sweep, known, SlotFree())
    assert isinstance(proposed, Propose)
    assert [cell.place for cell in proposed.cells] == [
        (arm, seed) for seed in (0, 1, 2) for arm in ARMS
    ]
    assert {cell.arm: cell.settings[RATE] for cell in proposed.cells} == {
        "dynamic": 1e-2,
        "uniform": 1e-3,
    }
    known.take(proposed)
    assert [*sweep.plan.decide(sweep, known, SlotFree())] == [DONE]


def test_what_is_chosen_is_the_same_training_as_the_tuning_but_for_its_seed() -> None:
    sweep = tuned(arms={"dynamic": {}, "uniform": {"model.routing": UniformRouting()}})
    known = after_tuning(sweep, lambda arm, seed: metrics(0.1))
    known.take(Select(chosen(sweep, lambda arm, seed: metrics(0.1))))
    (proposed,) = sweep.plan.decide(sweep, known, SlotFree())
    assert isinstance(proposed, Propose)
    selected = {cell.arm: sweep.proposed(cell.arm, cell.settings).config for cell in proposed.cells}
    tried = {arm.name: arm.config for arm in sweep.initial_arms()}
    assert selected["uniform"] == tried["uniform, tuning 1"]


def test_tables_name_the_arms_as_they_are_compared() -> None:
    def table(arm: str) -> PublishedTable:
        row = PublishedRow(labels=("a row",), arm=arm)
        return PublishedTable(name="table-1", title="Table 1", headings=("what",), rows=(row,))

    assert tuned(tables=(table("uniform"),)).tables
    assert "Unknown arm in the table" in refused(tables=(table("uniform, tuning 1"),))


def test_epochs_of_a_launch_hold_for_every_arm_that_chooses_its_stopping() -> None:
    def lasting(epochs: int, **more: int) -> dict[str, Any]:
        return {"stopping": {"kind": "fixed_epochs", "epochs": epochs}, **more}

    arms = {"short": lasting(3), "long": lasting(9, batch_size=9)}
    manifest = define(tuned(arms=arms, baseline="short"), EPOCHS, ()).manifest
    stoppings: list[Any] = [arm.config["stopping"] for arm in manifest.arms]
    assert [stopping["epochs"] for stopping in stoppings] == [2] * 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seeds": (101, 0)}, "The seed 101 is one of those that choose and of those that compare"),
        ({"tuning_seeds": (7,)}, "On one tuning seed nobody can say how sure a choice is"),
        ({"tuning_seeds": (7, 7)}, "A seed is listed twice"),
        ({"baseline": "em"}, "The baseline 'em' is not one of the arms: dynamic, uniform."),
        ({"nuisance": {}}, "nothing is tuned"),
        ({"nuisance": {RATE: (1e-3,)}}, "must be at least two, all different"),
        ({"nuisance": {RATE: Floats(1e-4, 1e-2)}}, "has no end of values: say how many points"),
        ({"trials": 3}, "trials=3 of 2 points cannot be tried for every arm: have 2 to 2"),
        ({"nuisance": {ITERATIONS: (1, 2)}}, "Every arm must have the tuned setting. Arm"),
        ({"nuisance": {"model.routing": ("dynamic", "uniform")}}, "leave one of them out"),
        (
            {"arms": {"dynamic": {}, "dynamic, tuning 1": {"batch_size": 4}}},
            "'dynamic, tuning 1' is what a tuning is called",
        ),
    ],
)
def test_what_cannot_be_tuned_is_refused(changes: dict[str, Any], message: str) -> None:
    assert message in refused(**changes)
