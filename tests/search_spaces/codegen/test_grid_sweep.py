"""Grids: files that a person would have written, and that give the sweep that was asked for."""

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsmodel import TrainingConfig
from capsmodel.overrides import with_settings
from search_spaces import OneFactor
from search_spaces.catalogue import module_of, named_sweep, named_sweeps
from search_spaces.codegen.grid_sweep import DESIGNS, GridSweep
from search_spaces.codegen.python_text import settings_call
from search_spaces.sweep_file import module_from_text
from tests.search_spaces.declared import Mine, sweep

ITERATIONS, DECODER = "model.routing.iterations", "model.reconstruction"
LEVELS: dict[str, tuple[Any, ...]] = {
    ITERATIONS: (1, 3),
    DECODER: ("none", "fully_connected"),
    "batch_size": (32, 64),
    "loss": ("margin", {"kind": "cross_entropy", "scale": 5.0}),
    "optimiser.learning_rate": (1e-3, 3e-3),
    "optimiser.schedule": ("constant", "cosine"),
    "model.batch_norm": (False, True),
}
EXAMPLE = '''\
"""How do results depend on iterations and reconstruction? All 6 combinations.

The base is that of quickstart.
It tells what each does on average over the others, and whether one depends on another.
"""

from search_spaces import FullFactorial, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART

SWEEP = Sweep(
    name="quickstart_iterations_reconstruction",
    description="Iterations and reconstruction in all combinations.",
    base=QUICKSTART.base,
    plan=FullFactorial(
        factors={
            "model.routing.iterations": (1, 2, 3),
            "model.reconstruction": ("none", "fully_connected"),
        },
    ),
    seeds=(0, 1, 2, 3, 4),
)
'''


def of(name: str, /, **asked: Any) -> GridSweep:
    return GridSweep(
        **{"origin": named_sweep(name), "module": module_of(name), "factors": LEVELS} | asked
    )


def read(grid: GridSweep) -> Any:
    return module_from_text(grid.text()).SWEEP


def test_the_file_is_one_that_a_person_would_have_written() -> None:
    factors = {ITERATIONS: (1, 2, 3), DECODER: LEVELS[DECODER]}
    assert of("quickstart", factors=factors, seeds=(0, 1, 2, 3, 4)).text() == EXAMPLE


some = st.lists(st.sampled_from(sorted(LEVELS)), min_size=3, max_size=4, unique=True).map(
    lambda paths: {path: LEVELS[path] for path in paths}
)


@settings(max_examples=15, deadline=None)
@given(
    factors=some,
    design=st.sampled_from(sorted(DESIGNS)),
    is_named=st.booleans(),
    changed=st.sampled_from([{}, {"stopping.epochs": 3, "model.class_dim": 4}]),
    seeds=st.lists(st.integers(0, 10**9), min_size=1, unique=True).map(tuple)
    | st.integers(1, 30).map(lambda end: tuple(range(end))),
)
def test_the_sweep_of_the_file_is_the_one_that_was_asked_for(
    factors: Any, design: str, is_named: bool, changed: Any, seeds: Any
) -> None:
    resolution = 3 if design == "fractional" else None
    module = module_of("quickstart") if is_named else ""
    asked = {"factors": factors, "design": design, "resolution": resolution, "seeds": seeds}
    grid = of("quickstart", module=module, settings=changed, **asked)

    written = read(grid)
    assert written == grid.sweep
    assert written.arms() == grid.sweep.arms()
    assert written.base == with_settings(named_sweep("quickstart").base, changed)
    assert type(written.plan) is DESIGNS[design].plan
    assert dict(written.plan.factors) == factors
    assert written.arm_seeds == seeds
    assert max(map(len, grid.text().splitlines())) <= 100


def test_seeds_far_apart_are_listed_one_by_one() -> None:
    """To compare them with all numbers between would take tens of gigabytes."""
    seeds = (*range(9), 10**12)
    assert read(of("quickstart", seeds=seeds)).arm_seeds == seeds


def test_ruff_has_nothing_to_do_or_to_say(tmp_path: Path) -> None:
    grids = [of("quickstart", design=design, resolution=None) for design in DESIGNS]
    grids += [of("quickstart", module="", settings={"stopping.epochs": 3})]
    grids += [of("em_pitfalls", settings={"loss": "margin"}, factors={"batch_size": (1, 2)})]
    for place, grid in enumerate(grids):
        (tmp_path / f"grid_{place}.py").write_text(grid.text(), encoding="utf-8")
    ruff = Path(sys.executable).parent / "ruff"
    for words in (
        ["format", "--check"],
        ["check", "--select=E,F,I,D", "--ignore=D203,D213,D400,D415"],
    ):
        done = subprocess.run(
            [ruff, *words, "--isolated", "--line-length=100", "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", [entry.name for entry in named_sweeps()])
def test_the_base_of_every_named_sweep_can_be_written_out(name: str) -> None:
    base = named_sweep(name).base
    text = GridSweep(named_sweep(name), "", {"batch_size": (1, 2)}, design="one_factor").text()
    assert module_from_text(text).SWEEP.base == base
    ast.parse(text)


def test_a_fraction_is_written_with_the_resolution_that_it_has() -> None:
    five = dict(list(LEVELS.items())[:5])
    assert "        resolution=5,\n" in of("quickstart", factors=five, design="fractional").text()
    with pytest.raises(ValueError, match="Only the design 'fractional' has a resolution, got 3"):
        of("quickstart", resolution=3).text()


def test_a_name_is_made_of_the_base_and_the_factors_or_the_design() -> None:
    assert of("quickstart", factors={DECODER: ("none", "fully_connected")}).sweep.name == (
        "quickstart_reconstruction"
    )
    assert of("quickstart").sweep.name == "quickstart_full"
    odd = {"loss.schedule": ("constant", "linear"), "optimiser.schedule": ("constant", "cosine")}
    assert of("quickstart", factors=odd).sweep.name == "quickstart_loss_schedule_optimiser_schedule"
    assert of("quickstart", name="mine").sweep.name == "mine"
    with pytest.raises(ValueError, match="name"):
        _ = of("quickstart", name="").sweep


def test_text_from_outside_stays_text() -> None:
    evil = ['"""; import os; os._exit(1) #', "'+__import__('os').abort()+'", "\\", '\\"', "{x}"]
    grid = of("quickstart", factors={"loss": ("margin", *evil)})
    with pytest.raises(ValueError, match="Unknown loss"):
        grid.text()
    plan = OneFactor(factors={"loss": evil})
    assert ast.literal_eval(repr(dict(plan.factors))) == dict(plan.factors)


def test_a_base_with_a_part_of_the_users_own_cannot_be_written() -> None:
    base = with_settings(TrainingConfig(), {"model.routing": Mine()}, (Mine,))
    mine = sweep(base=base, parts=[Mine])
    with pytest.raises(ValueError, match=r"a part of the user's own \(Mine\), which another file"):
        settings_call(mine.base)
