"""A path while it runs: the change that helps most first, all of it anew on fresh seeds; killed."""

from itertools import count
from pathlib import Path as Folder
from typing import Any

import pytest

from search_spaces import Path, Sweep
from sweeps.aggregation.results.design_sentences import path_sentences
from sweeps.execution.plan.definition import Changes, SweepDefinition, define
from sweeps.records.cell_contents import TrialSpec
from tests.capsmodel.small_config import small_config
from tests.sweeps.execution.search.examples import expect_valid
from tests.sweeps.execution.search.simulated import Launch, World

CHANGES: dict[str, dict[str, Any]] = {
    "batch": {"batch_size": 7},
    "routing": {"model.routing": "uniform"},
    "rate": {"optimiser.learning_rate": 0.02},
}


@pytest.fixture(autouse=True)
def _models_are_taken_for_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweeps.execution.plan.definition.num_parameters", lambda config: 7)


def swept(seeds: tuple[int, ...] = (0, 1), **fields: Any) -> Sweep:
    plan = Path(**{"changes": CHANGES, **fields})
    return Sweep(name="example", base=small_config(), plan=plan, seeds=seeds)


def path(seeds: tuple[int, ...] = (0, 1), **fields: Any) -> SweepDefinition:
    return define(swept(seeds, **fields), Changes(), ())


def refused(**fields: Any) -> str:
    with pytest.raises(ValueError, match=r"^[^\n]+$") as caught:
        swept(**fields)
    return str(caught.value)


def score(spec: TrialSpec, epoch: int) -> float:
    """Return an error: the rate helps most, the batch only once the routing is changed."""
    config: Any = spec.config
    is_uniform = config["model"]["routing"]["kind"] == "uniform"
    helped = 0.2 * (config["optimiser"]["learning_rate"] == 0.02)
    helped += 0.1 * is_uniform + 0.05 * (config["batch_size"] == 7 and is_uniform)
    return 0.6 - helped + spec.seed / 1e5 + 0.01 / epoch


def test_the_change_that_helps_most_is_taken_first_and_the_path_is_trained_anew(
    tmp_path: Folder,
) -> None:
    definition = path()
    assert definition.manifest.num_expected == (3 + 2) * 2 + 4 * 2
    launch = Launch(World(tmp_path / "world"), definition, score).run()
    manifest = launch.manifest
    expect_valid(manifest)
    assert not manifest.is_growing
    assert len(manifest.cells) == definition.manifest.num_expected
    compared = manifest.compared()
    steps = ["base", "step 1: rate", "step 2: routing", "step 3: batch"]
    assert [arm.name for arm in compared.arms] == steps
    assert [{*arm.changes} for arm in compared.arms] == [
        set(),
        {"optimiser.learning_rate"},
        {"optimiser.learning_rate", "model.routing"},
        {"optimiser.learning_rate", "model.routing", "batch_size"},
    ]
    assert {(cell.arm, cell.seed) for cell in compared.cells} == {
        (arm, seed) for arm in steps for seed in (0, 1)
    }
    assert len([*path_sentences(manifest)]) == 1


# test_kills_anywhere.py kills searches at each step in .ci/run
@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.nightly)])
def test_killed_at_any_step_and_run_again_it_is_the_same_path(tmp_path: Folder, every: int) -> None:
    definition = path(seeds=(0,), choosing_seeds=(101,))
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
        assert set(resumed.epochs_trained().values()) == {1}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"seeds": (101,)}, "The seed 101 is one of those that choose"),
        ({"changes": {**CHANGES, "more": {"batch_size": 9}}}, "both change 'batch_size'"),
        ({"changes": {**CHANGES, "none": {"model.routing": "dynamic"}}}, "both change"),
        (
            {"changes": {"a": {"loss": "spread"}, "b": {"loss.margin": 0.5}}},
            "'b' cannot be changed alone",
        ),
        ({"changes": {"a": {"batch_size": 7}, "b": {"data.split_seed": 0}}}, "changes nothing of"),
    ],
)
def test_what_is_no_path_is_refused(fields: dict[str, Any], sentence: str) -> None:
    assert sentence in refused(**fields)
