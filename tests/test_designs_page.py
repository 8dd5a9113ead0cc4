"""The page on designs shows files that capsweep writes, and says what it says."""

import re
from pathlib import Path

from search_spaces import FractionalFactorial, PlackettBurman
from search_spaces.sweep_file import sweep_from_file
from sweeps.aggregation.results.design_sentences import alias_sentences
from sweeps.execution.plan.definition import Changes, define
from tests.sweeps.execution.launch.writing.test_written_grids import design
from tests.sweeps.execution.launch.writing.test_written_paths import path as path_to

PAGE = (Path(__file__).parents[1] / "docs" / "designs.md").read_text(encoding="utf-8")
GRID, COMPONENTS, _SIZES, SKIPPING, FRACTION, TUNED, PATH, SPLITS = re.findall(
    r"```python\n(.*?)```", PAGE, re.DOTALL
)


def test_its_grid_is_what_its_command_writes() -> None:
    axes = {
        "model.routing.iterations": (1, 2, 3),
        "model.reconstruction": ("none", "fully_connected"),
    }
    assert design(axes=axes)[1] == GRID


def test_its_grid_that_skips_lacks_as_many_combinations_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "kernels_and_strides.py"
    path.write_text(SKIPPING, encoding="utf-8")
    design = define(sweep_from_file(path)[0], Changes(), ()).manifest.design
    assert design
    assert f"here {len(design.left_out)} of 8." in PAGE


def test_its_fraction_says_what_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "five_settings.py"
    path.write_text(FRACTION, encoding="utf-8")
    sweep, _ = sweep_from_file(path)
    quoted = " ".join(line[2:] for line in PAGE.splitlines() if line.startswith("> "))
    assert " ".join(alias_sentences(define(sweep, Changes(), ()).manifest)) == quoted
    names = [arm.name for arm in sweep.arms()]
    assert names[0] == "base"
    assert "routing=uniform, class_dim=8, batch_norm=true" in names


def test_its_numbers_of_arms_are_those_of_the_designs() -> None:
    def arms(number: int) -> int:
        paths = {f"x_{place}": (0, 1) for place in range(number)}
        return FractionalFactorial(factors=paths).fraction.num_arms

    assert {arms(number) for number in range(5, 9)} == {16}
    assert {arms(number) for number in range(9, 16)} == {32}
    assert (
        len([*PlackettBurman(factors={f"x_{n}": (0, 1) for n in range(11)}).combinations()]) == 12
    )


def test_it_tells_of_every_design() -> None:
    for name in ("OneFactor", "LeaveOneOut", "FullFactorial", "FractionalFactorial"):
        assert f"`{name}`" in PAGE
    assert "`PlackettBurman`" in PAGE


def test_its_components_make_the_arms_that_it_names(tmp_path: Path) -> None:
    path = tmp_path / "components.py"
    path.write_text(COMPONENTS, encoding="utf-8")
    sweep, _ = sweep_from_file(path)
    names = [arm.name for arm in sweep.arms()]
    assert len(names) == 8
    assert {"full", "without routing", "none of them", "only routing"} < {*names}


def test_its_tuned_arms_cost_what_it_says(tmp_path: Path) -> None:
    path = tmp_path / "routing_tuned.py"
    path.write_text(TUNED, encoding="utf-8")
    sweep, _ = sweep_from_file(path)
    manifest = define(sweep, Changes(), ()).manifest
    assert (len(manifest.cells), manifest.num_expected) == (16, 26)
    assert "2 arms x 4 points x 2 tuning seeds = 16 trainings" in PAGE


def test_its_path_is_what_its_command_writes(tmp_path: Path) -> None:
    path = tmp_path / "capsule_search_path.py"
    path.write_text(PATH, encoding="utf-8")
    sweep, _ = sweep_from_file(path)
    target = {}
    for change in sweep.plan.model_dump()["changes"].values():
        target |= change
    assert path_to(target, arm="proposal 39")[1] == PATH
    assert define(sweep, Changes(), ()).manifest.num_expected == 14 * 2 + 6 * 5


def test_its_splits_are_dealt_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "over_splits.py"
    path.write_text(SPLITS, encoding="utf-8")
    sweep, _ = sweep_from_file(path)
    manifest = define(sweep, Changes(), ()).manifest
    assert len(manifest.cells) == 30
    assert [*manifest.splits.values()] == [0, 1, 2, 3, 4] * 2
