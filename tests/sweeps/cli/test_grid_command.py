"""`capsweep grid`: writes a sweep file, plans it, never writes over another file."""

import inspect
import json
from pathlib import Path

import pytest

from search_spaces.sweep_file import sweep_from_file
from sweeps.execution.launch.writing.grid import grid
from sweeps.execution.launch.writing.options import GridOptions
from sweeps.execution.launch_options import LaunchOptions
from tests.sweeps.cli.shell import Shell

ITERATIONS = "model.routing.iterations=1,2,3"
DECODER = "model.reconstruction=none,fully_connected"
FILE = "quickstart_iterations_reconstruction.py"
OWN_PART = """
from typing import Literal

from capsmodel.routing import VectorRouting
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as Q


class Mine(VectorRouting):
    kind: Literal["mine"] = "mine"


SWEEP = Sweep(
    name="own", parts=[Mine], base=Q.base, plan=ListedArms(baseline="a", arms={"a": {}}), seeds=[0]
)
"""


def test_it_writes_the_file_and_prints_what_plan_prints(shell: Shell) -> None:
    written = shell("grid", "quickstart", ITERATIONS, DECODER, "--seeds", "0-4")
    assert (written.code, written.err) == (0, "")
    assert list(shell.files()) == [str(shell.folder / FILE)], "nothing else is written"

    planned = shell("plan", FILE)
    assert planned.code == 0
    first, *middle, last = written.out.splitlines()
    assert first == f"The sweep is in {FILE}."
    assert middle == planned.out.splitlines()
    assert "6 arms x 5 seeds = 30 cells" in planned.out
    assert last.endswith(f" run {FILE}")


def test_the_same_again_changes_nothing_and_another_is_refused(shell: Shell) -> None:
    words = ("grid", "quickstart", ITERATIONS, DECODER)
    assert shell(*words).code == 0
    before = shell.files()
    assert shell(*words).code == 0
    assert shell.files() == before
    said = shell.refused(*words, "--seeds", "0-5")
    assert said == f"Another file '{FILE}' exists already: give --out or --name."
    assert shell(*words, "--seeds", "0-5", "--name", "six").code == 0


def test_a_file_is_a_base_as_well_and_settings_change_it(shell: Shell) -> None:
    first = ("--set", "stopping.epochs=2", "--out", "first.py", "--name", "first")
    assert shell("grid", "quickstart", ITERATIONS, *first).code == 0
    second = ("--design", "fractional", "--resolution", "3", "--out", "second.py")
    factors = ("batch_size=16,32", "model.class_dim=8,16", "model.primary_types=4,8")
    answer = shell("grid", "./first.py", *factors, *second)

    assert answer.code == 0, answer.err
    assert "4 arms x 5 seeds = 20 cells" in answer.out
    assert "4 of 8 combinations, resolution III" in answer.out
    assert "Made by C=AB, where the factors are A batch_size" in answer.out
    one, _ = sweep_from_file(shell.folder / "first.py")
    two, _ = sweep_from_file(shell.folder / "second.py")
    assert one.base.stopping.num_epochs == 2
    assert two.base == one.base
    assert next(arm.name for arm in two.arms()) == "base"


def test_the_command_that_runs_it_leads_to_the_same_records(shell: Shell) -> None:
    answer = shell("grid", "quickstart", ITERATIONS, "--out", "a b.py", "--storage", "else")
    assert answer.out.splitlines()[-1].endswith(" run 'a b.py' --storage else")


def test_levels_are_json_or_text(shell: Shell) -> None:
    schedule = 'optimiser.schedule={"kind":"exponential","factor":0.9,"every_steps":5},constant'
    words = (schedule, "model.batch_norm=true, false", "--out", "x.py", "--name", "x")
    assert shell("grid", "quickstart", *words).code == 0
    sweep, _ = sweep_from_file(shell.folder / "x.py")
    assert dict(sweep.plan.factor_levels()) == {
        "optimiser.schedule": (
            {"kind": "exponential", "factor": 0.9, "every_steps": 5},
            "constant",
        ),
        "model.batch_norm": (True, False),
    }


REFUSALS = {
    "an unknown base": (["nosuch", ITERATIONS], "Unknown sweep 'nosuch'"),
    "no file": (["none.py", ITERATIONS], "There is no sweep file 'none.py'"),
    "no levels": (["quickstart", "batch_size"], "A factor is path=level,level, such as"),
    "an empty level": (["quickstart", "batch_size=1,,2"], "A factor is path=level,level, such as"),
    "one level": (["quickstart", "batch_size=8"], "has the one level 8, and nothing to compare"),
    "a level twice": (["quickstart", "batch_size=8,8"], "has the level 8 twice"),
    "a path twice": (["quickstart", "batch_size=8,9", "batch_size=7"], "given twice: give all"),
    "an unknown setting": (["quickstart", "batch_sise=8,9"], "Did you mean 'batch_size'?"),
    "an unknown part": (["quickstart", "loss=margin,spred"], "Unknown loss 'spred'"),
    "a level that is not allowed": (["quickstart", "batch_size=8,0"], "must be an integer at leas"),
    "a design that is none": (
        ["quickstart", ITERATIONS, "--design", "half"],
        "design must be one of full, one_factor, fractional, plackett_burman, got 'half'.",
    ),
    "a fraction of three levels": (
        ["quickstart", ITERATIONS, DECODER, "batch_size=8,9", "--design", "fractional"],
        "every factor has two levels, and 'model.routing.iterations' has 3",
    ),
    "a fraction that there is not": (
        ["quickstart", DECODER, "batch_size=8,9", "model.class_dim=4,8", "--design", "fractional"],
        "There is no fraction of 3 factors with resolution IV",
    ),
    "a resolution of a full design": (
        ["quickstart", ITERATIONS, "--resolution", "4"],
        "Only the design 'fractional' has a resolution, got 4 for 'full': leave it out.",
    ),
    "a resolution too low": (
        ["quickstart", ITERATIONS, "--design", "fractional", "--resolution", "2"],
        "resolution must be an integer at least 3, got 2.",
    ),
    "a name that is none": (["quickstart", ITERATIONS, "--name", "A b"], "name must be a text"),
    "no name": (["quickstart", ITERATIONS, "--name", ""], "name must be a text"),
    "a setting that is none": (
        ["quickstart", ITERATIONS, "--set", "batch_sise=3"],
        "Did you mean 'batch_size'?",
    ),
    "no Python file": (
        ["quickstart", ITERATIONS, "--out", "grid.txt"],
        "--out is to be the path of a Python file, x.py, got 'grid.txt'.",
    ),
    "no folder": (
        ["quickstart", ITERATIONS, "--out", "nowhere/x.py"],
        "There is no folder 'nowhere' for the file: make it first.",
    ),
    "a folder": (["quickstart", ITERATIONS, "--out", "taken.py"], "Another file 'taken.py'"),
    "a link": (["quickstart", ITERATIONS, "--out", "link.py"], "Another file 'link.py'"),
    "another file": (["quickstart", ITERATIONS, "--out", "own.py"], "Another file 'own.py'"),
    "a name of any length": (
        ["quickstart", ITERATIONS, "--out", "x" * 300 + ".py"],
        "There can be no file",
    ),
    "a NUL": (["quickstart", ITERATIONS, "--out", "a\0.py"], "There can be no file"),
    "a base with own parts": (
        ["own.py", ITERATIONS],
        "The sweep 'own' has parts of its own, which another file cannot import: write the design "
        "into own.py.",
    ),
    "a seed that is none": (["quickstart", ITERATIONS, "--seeds", "x"], "--seeds takes a list"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_is_one_sentence_and_nothing_is_written(shell: Shell, case: str) -> None:
    (shell.folder / "own.py").write_text(OWN_PART)
    (shell.folder / "taken.py").mkdir()
    (shell.folder / "link.py").symlink_to(shell.folder / "nowhere.py")
    words, sentence = REFUSALS[case]
    assert sentence in shell.refused("grid", *words)
    assert not (shell.folder / "nowhere.py").exists()


def test_a_store_that_cannot_be_read_is_told_before_the_file_is_written(shell: Shell) -> None:
    Path("mlflow.db").write_text("no database")
    shell.refused("grid", "quickstart", ITERATIONS, "--tracking-uri", "sqlite:///mlflow.db")


def test_its_options_are_declared_once_and_mean_what_a_launch_means_by_them() -> None:
    parameters = inspect.signature(grid).parameters
    given = {
        name: one.default for name, one in parameters.items() if name not in {"base", "factors"}
    }
    assert given == {name: field.default for name, field in GridOptions.model_fields.items()}
    shared = set(GridOptions.model_fields) & set(LaunchOptions.model_fields)
    assert shared == {"name", "seeds", "settings", "storage", "tracking_uri"}


def test_combinations_whose_network_cannot_be_built_are_named_and_can_be_skipped(
    shell: Shell,
) -> None:
    words = ("grid", "margin_schedules", "model.conv_stride=1,2", "model.primary_kernel=3,5")
    assert shell.refused(*words).endswith(
        "choose a kernel of at most 4, more padding, or larger images. To train the other 3 alone, "
        "give skip_unbuildable=True."
    )
    written = shell(*words, "--skip-unbuildable", "--out", "three.py")
    assert written.code == 0, written.err
    assert "3 arms x 5 seeds = 15 cells" in written.out
    assert "1 combination is left out, without a network that can be built: " in written.out
    assert "skip_unbuildable=True" in (shell.folder / "three.py").read_text()
    answer = json.loads(shell("plan", "three.py", "--json").out)
    assert (answer["unbuildable"]["number"], answer["unbuildable"]["num_tried"]) == (1, 4)
    said = shell.refused(*words, "--skip-unbuildable", "--design", "one_factor")
    assert said.startswith("Only the design 'full' can skip combinations, got 'one_factor'")
