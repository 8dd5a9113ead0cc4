"""Grids: files that a person would have written, and that give the sweep that was asked for."""

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capsmodel.overrides import with_settings
from search_spaces import Sweep
from search_spaces.catalogue import module_of, named_sweep
from search_spaces.sweep_file import module_from_text
from search_spaces.sweep_source import name_of_sweep
from sweeps.execution.launch.writing.grid import design_over
from sweeps.execution.launch.writing.options import GridOptions
from sweeps.execution.launch.writing.python_text import python_text
from tests.sweeps.execution.launch.writing.ruff import assert_nothing_to_do

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
DESIGNS = ("full", "one_factor", "fractional", "plackett_burman")


def design(
    origin: str = "quickstart", axes: Any = LEVELS, *, is_named: bool = True, **options: Any
) -> tuple[Sweep, str]:
    """Return a grid over a named sweep, and the text of its file."""
    module = module_of(origin) if is_named else ""
    return design_over(named_sweep(origin), module, axes, GridOptions(**options))


some = st.lists(st.sampled_from(sorted(LEVELS)), min_size=3, max_size=4, unique=True).map(
    lambda paths: {path: LEVELS[path] for path in paths}
)


@settings(max_examples=15, deadline=None)
@given(
    axes=some,
    kind=st.sampled_from(DESIGNS),
    is_named=st.booleans(),
    changed=st.sampled_from([{}, {"stopping.epochs": 3, "model.class_dim": 4}]),
    seeds=st.lists(st.integers(0, 10**9), min_size=1, unique=True).map(tuple)
    | st.integers(1, 30).map(lambda end: tuple(range(end))),
)
def test_the_sweep_of_the_file_is_the_one_that_was_asked_for(
    axes: Any, kind: Any, is_named: bool, changed: Any, seeds: Any
) -> None:
    options = {"resolution": 3} if kind == "fractional" else {}
    asked: Any = {"design": kind, "seeds": seeds, "settings": changed, **options}
    sweep, text = design(axes=axes, is_named=is_named, **asked)

    written = module_from_text(text).SWEEP
    assert written == sweep
    assert written.arms() == sweep.arms()
    assert written.base == with_settings(named_sweep("quickstart").base, changed)
    assert written.plan.factors == axes
    assert written.arm_seeds == seeds
    assert max(map(len, text.splitlines())) <= 100


def test_seeds_far_apart_are_listed_one_by_one() -> None:
    """To compare them with all numbers between would take tens of gigabytes."""
    seeds = (*range(10), 2**63 - 1)
    assert module_from_text(design(seeds=seeds)[1]).SWEEP.arm_seeds == seeds


def test_ruff_has_nothing_to_do_or_to_say(tmp_path: Path) -> None:
    texts = {kind: design(design=kind)[1] for kind in DESIGNS}
    texts["of_a_file"] = design(is_named=False, settings={"stopping.epochs": 3})[1]
    texts["changed"] = design("em_pitfalls", {"batch_size": (1, 2)}, settings={"loss": "margin"})[1]
    assert_nothing_to_do(tmp_path, texts)


def test_a_fraction_is_written_with_the_resolution_that_it_has() -> None:
    five = dict(list(LEVELS.items())[:5])
    assert "    resolution=5,\n" in design(axes=five, design="fractional")[1]


def test_an_option_of_another_design_is_refused() -> None:
    with pytest.raises(ValueError, match="Only the design 'fractional' has a resolution, got 3"):
        design(resolution=3)
    with pytest.raises(ValueError, match="Only the design 'full' can skip combinations, got"):
        design(design="one_factor", skip_unbuildable=True)


def test_a_name_is_made_of_the_base_and_the_factors_or_the_design() -> None:
    def name(axes: Any = LEVELS, **options: Any) -> str:
        return design(axes=axes, **options)[0].name

    assert name({DECODER: ("none", "fully_connected")}) == "quickstart_reconstruction"
    assert name() == "quickstart_full"
    odd = {"loss.schedule": ("constant", "linear"), "optimiser.schedule": ("constant", "cosine")}
    assert name(odd) == "quickstart_loss_schedule_optimiser_schedule"
    assert name(name="mine") == "mine"
    with pytest.raises(ValueError, match="name"):
        name(name="")


def test_commands_that_run_no_file_read_its_name(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(design(name="mine")[1], encoding="utf-8")
    assert name_of_sweep(tmp_path / "x.py") == "mine"


def test_text_from_outside_stays_text() -> None:
    evil = ['"""; import os; os._exit(1) #', "'+__import__('os').abort()+'", "\\", '\\"', "{x}"]
    with pytest.raises(ValueError, match="Unknown loss"):
        design(axes={"loss": ("margin", *evil)})
    assert ast.literal_eval(python_text(evil)) == evil
