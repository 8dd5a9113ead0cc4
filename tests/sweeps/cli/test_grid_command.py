"""`capsweep grid`: writes a sweep file, plans it, never writes over another file."""

import json
from pathlib import Path

from search_spaces.sweep_file import sweep_from_file
from tests.sweeps.cli.shell import Shell

ITERATIONS = "model.routing.iterations=1,2,3"
DECODER = "model.reconstruction=none,fully_connected"
FILE = "quickstart_iterations_reconstruction.py"


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
    arguments = ("grid", "quickstart", ITERATIONS, DECODER)
    assert shell(*arguments).code == 0
    before = shell.files()
    assert shell(*arguments).code == 0
    assert shell.files() == before
    said = shell.refused(*arguments, "--seeds", "0-5")
    assert said == f"Another file '{FILE}' exists already: give --out or --name."
    assert shell(*arguments, "--seeds", "0-5", "--name", "six").code == 0


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
    full, _ = sweep_from_file(shell.folder / "first.py")
    fractional, _ = sweep_from_file(shell.folder / "second.py")
    assert full.base.stopping.num_epochs == 2
    assert fractional.base == full.base
    assert next(arm.name for arm in fractional.arms()) == "base"


def test_the_command_that_runs_it_leads_to_the_same_records(shell: Shell) -> None:
    answer = shell("grid", "quickstart", ITERATIONS, "--out", "a b.py", "--storage", "else")
    assert answer.out.splitlines()[-1].endswith(" run 'a b.py' --storage else")


def test_levels_are_json_or_text(shell: Shell) -> None:
    schedule = 'optimiser.schedule={"kind":"exponential","factor":0.9,"every_steps":5},constant'
    arguments = (schedule, "model.batch_norm=true, false", "--out", "x.py", "--name", "x")
    assert shell("grid", "quickstart", *arguments).code == 0
    sweep, _ = sweep_from_file(shell.folder / "x.py")
    assert dict(sweep.plan.factor_levels()) == {
        "optimiser.schedule": (
            {"kind": "exponential", "factor": 0.9, "every_steps": 5},
            "constant",
        ),
        "model.batch_norm": (True, False),
    }


def test_a_store_that_cannot_be_read_is_told_before_the_file_is_written(shell: Shell) -> None:
    Path("mlflow.db").write_text("no database")
    shell.refused("grid", "quickstart", ITERATIONS, "--tracking-uri", "sqlite:///mlflow.db")


def test_combinations_whose_network_cannot_be_built_are_named_and_can_be_skipped(
    shell: Shell,
) -> None:
    arguments = ("grid", "margin_schedules", "model.conv_stride=1,2", "model.primary_kernel=3,5")
    assert shell.refused(*arguments).endswith(
        "choose a kernel of at most 4, more padding, or larger images. To train the other 3 alone, "
        "give skip_unbuildable=True."
    )
    written = shell(*arguments, "--skip-unbuildable", "--out", "three.py")
    assert written.code == 0, written.err
    assert "3 arms x 5 seeds = 15 cells" in written.out
    assert "1 combination is left out, without a network that can be built: " in written.out
    assert "skip_unbuildable=True" in (shell.folder / "three.py").read_text()
    answer = json.loads(shell("plan", "three.py", "--json").out)
    assert (answer["unbuildable"]["number"], answer["unbuildable"]["num_tried"]) == (1, 4)
    said = shell.refused(*arguments, "--skip-unbuildable", "--design", "one_factor")
    assert said.startswith("Only the design 'full' can skip combinations, got 'one_factor'")
