"""Tuned arms while they run: tuned, chosen, trained anew on fresh seeds; killed, repeated."""

import math
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from search_spaces import Sweep, TunedArms
from search_spaces.plans.decisions import DONE, Decision, Propose, Select
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.execution.survey.surveyed_cells import check_dropped_cells
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import BadInput
from sweeps.records.manifest import Manifest
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.search.examples import expect_valid, rate_of
from tests.sweeps.execution.search.simulated import Launch, World

RATE = "optimiser.learning_rate"
RATES = (0.001, 0.003, 0.01)
ARMS: dict[str, dict[str, Any]] = {"dynamic": {}, "uniform": {"model.routing": "uniform"}}
BEST = {"dynamic": 0.001, "uniform": 0.01}


@pytest.fixture(autouse=True)
def _models_are_taken_for_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweeps.execution.plan.definition.num_parameters", lambda config: 7)


def tuned(seeds: tuple[int, ...] = (0, 1), **changes: Any) -> SweepDefinition:
    plan: dict[str, Any] = {"arms": ARMS, "baseline": "dynamic", "nuisance": {RATE: RATES}}
    sweep = Sweep(
        name="example",
        base=small_config(),
        plan=TunedArms(**{**plan, "tuning_seeds": (101, 102), **changes}),
        seeds=seeds,
    )
    return define(sweep, Changes(), ())


def score(spec: TrialSpec, epoch: int) -> float:
    """Return an error that is least at another rate for each routing."""
    routing = spec.config["model"]["routing"]["kind"]
    far = abs(math.log10(rate_of(spec.config) / BEST[routing]))
    return 0.1 + far / 10 + spec.seed / 1e5 + 0.01 / epoch


def decisions(world: World, definition: SweepDefinition) -> list[Decision]:
    return world.decisions(definition)


def rates(manifest: Manifest, seeds: tuple[int, ...]) -> dict[str, set[float]]:
    """Return the rates of the cells with some seeds, by routing."""
    arms = {arm.name: arm.config for arm in manifest.arms}
    by_routing: dict[str, set[float]] = {}
    for cell in manifest.cells:
        if cell.seed in seeds:
            config: Any = arms[cell.arm]
            by_routing.setdefault(config["model"]["routing"]["kind"], set()).add(rate_of(config))
    return by_routing


def test_every_arm_is_tuned_alike_before_anything_is_compared() -> None:
    manifest = tuned().manifest
    assert len(manifest.cells) == 2 * 3 * 2
    assert rates(manifest, (101, 102)) == {"dynamic": {*RATES}, "uniform": {*RATES}}
    assert manifest.num_expected == 2 * 3 * 2 + 2 * 2
    assert manifest.is_growing
    assert manifest.is_choosing
    expect_valid(manifest)


def test_what_is_best_on_validation_is_trained_anew_on_fresh_seeds(tmp_path: Path) -> None:
    world, definition = World(tmp_path / "world"), tuned()
    manifest = Launch(world, definition, score).run().manifest
    assert rates(manifest, (0, 1)) == {"dynamic": {0.001}, "uniform": {0.01}}
    compared = manifest.compared()
    assert [arm.name for arm in compared.arms] == ["dynamic", "uniform"]
    assert {cell.seed for cell in compared.cells} == {0, 1}
    assert compared.arms[1].changes == {"model.routing": "uniform", RATE: 0.01}
    assert not manifest.is_growing
    assert manifest.num_expected == len(manifest.cells)
    expect_valid(manifest)
    kinds = [type(decision) for decision in decisions(world, definition)]
    assert kinds == [Select, Propose, type(DONE)]
    assert Launch(world, definition, score).run().started == []


# test_kills_anywhere.py kills searches at each step in .ci/run
@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.nightly)])
def test_killed_at_any_step_and_run_again_it_chooses_the_same(tmp_path: Path, every: int) -> None:
    definition = tuned(seeds=(0,), nuisance={RATE: RATES[:2]})
    world, copies = World(tmp_path / "unbroken"), list[World]()

    steps = count()

    def snapshot() -> None:
        if next(steps) % every == 0:
            copies.append(world.copy(tmp_path / f"killed {len(copies)}"))

    unbroken = Launch(world, definition, score, step=snapshot).run()
    assert len(copies) > 60 / every
    for number, copy in enumerate(copies):
        resumed = copy if number % 2 else World(copy.root, has_store=False)
        launch = Launch(resumed, definition, score).run()
        assert launch.manifest == unbroken.manifest
        assert decisions(resumed, definition) == decisions(world, definition)
        assert set(resumed.epochs_trained().values()) == {1}


def test_what_was_chosen_stands_though_the_log_is_lost_and_a_failed_tuning_is_mended(
    tmp_path: Path,
) -> None:
    def failing(spec: TrialSpec, epoch: int) -> float:
        if spec.arm == "dynamic, tuning 1" and spec.seed == 102:
            raise ValueError("no memory")
        return score(spec, epoch)

    world, definition = World(tmp_path / "world"), tuned()
    first = Launch(world, definition, failing).run().manifest
    assert rates(first, (0, 1))["dynamic"] == {0.003}, "the best one failed"
    (world.journals / "example.jsonl").unlink()
    second = Launch(world, definition, score).run().manifest
    assert second == first


def test_other_points_are_another_sweep_and_seeds_cannot_be_added(tmp_path: Path) -> None:
    world, definition = World(tmp_path / "world"), tuned()
    Launch(world, definition, score).run()
    for other in (tuned(nuisance={RATE: RATES[:2]}), tuned(seeds=(0,))):
        assert other.decided_by != definition.decided_by
        with pytest.raises(BadInput, match="its plan's code or settings"):
            check_dropped_cells(world.current(), other.manifest)
    with pytest.raises(BadInput, match="get no more seeds"):
        define(definition.sweep, Changes(add_seeds=(5,)), ())
