"""With --json commands answer with one valid object of a documented shape, and nothing else."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from search_spaces.catalogue import named_sweep, named_sweeps
from sweeps.cli.answers import DiffRow
from sweeps.cli.commands.run import run_answer
from sweeps.cli.json_output import print_json
from sweeps.execution.launch import launch as launching
from sweeps.execution.launch.result import FailedTrial, SweepResult
from sweeps.execution.plan.definition import DeclaredSweep
from sweeps.execution.view.live_view import print_line
from tests.golden.stores.archive import unpack
from tests.sweeps.cli.json_page import answers
from tests.sweeps.cli.shell import Shell

STORES = Path(__file__).parents[2] / "golden" / "stores"
SHAPES = {answer.model_fields["format"].default: answer for answer in answers()}
Asking = Callable[..., dict[str, Any]]


@pytest.fixture
def design(shell: Shell) -> Path:
    """The folder of the shell with a finished design, two trials of which diverged."""
    return unpack(STORES / "finished_design.tar.xz", shell.folder)


@pytest.fixture
def ask(shell: Shell) -> Asking:
    """Give a command with --json, hold its object against its shape, and return it."""

    def asked(*arguments: str, code: int = 0) -> dict[str, Any]:
        printed = shell(*arguments, "--json")
        assert printed.code == code, printed.err
        answer = json.loads(printed.out, parse_constant=pytest.fail)
        assert printed.out.isascii()
        assert printed.out.isprintable() or set(printed.out) - {"\n"} <= set(
            map(chr, range(32, 127))
        )
        SHAPES[answer["format"]].model_validate_json(printed.out)
        return answer

    return asked


def test_shipped_sweeps_are_listed(ask: Asking) -> None:
    listed = ask("list")["sweeps"]
    assert listed == [{"name": sweep.name, "asks": sweep.summary} for sweep in named_sweeps()]


def test_a_plan_tells_arms_cells_and_their_number(ask: Asking) -> None:
    answer = ask("plan", "quickstart", "--seeds", "0-1")
    names = [arm.name for arm in named_sweep("quickstart").arms()]
    assert [arm["arm"] for arm in answer["arms"]] == names
    assert [arm["is_baseline"] for arm in answer["arms"]].count(True) == 1
    assert all(arm["seeds_to_train"] == [0, 1] for arm in answer["arms"])
    assert answer["num_cells"] == len(answer["cells"]) == answer["counts"]["new"] == 2 * len(names)
    assert answer["expected"] == [{"what": "cell", "num_cells": 2 * len(names)}]
    assert (answer["estimate_seconds"], answer["refusal"]) == (None, None)


@pytest.mark.usefixtures("design")
def test_a_status_tells_each_cell(ask: Asking) -> None:
    answer = ask("status", "small_design")
    assert answer["counts"] == {"finished": 6, "diverged": 2}
    assert len(answer["cells"]) == 8
    (diverged, _) = [cell for cell in answer["cells"] if cell["state"] == "diverged"]
    assert "nan" in diverged["reason"]
    assert answer["last_launch"]["exit_code"] == 0
    assert answer["is_recorded"]


@pytest.mark.usefixtures("design")
def test_without_a_name_the_launched_sweeps_are_told(ask: Asking) -> None:
    (sweep,) = ask("status")["sweeps"]
    assert (sweep["sweep"], sweep["state"], sweep["complaint"]) == ("small_design", "complete", "")
    assert (sweep["num_filled"], sweep["num_cells"], sweep["num_failed"]) == (8, 8, 0)
    assert sweep["num_bytes"] > 100_000
    assert sweep["last_at"] > 1.7e9


@pytest.mark.usefixtures("design")
def test_the_best_are_told_with_settings_and_trials(shell: Shell, ask: Asking) -> None:
    answer = ask("best", "small_design", "-n", "2")
    assert (answer["metric"], answer["unit"]) == ("validation_error", "fraction")
    first, second = answer["arms"]
    assert (first["rank"], second["rank"]) == (1, 2)
    assert first["value"] == pytest.approx(sum(first["values"]) / 2)
    assert first["config"]["model"]["routing"]
    assert answer["notes"]
    key = first["trials"][0]["trial_key"]
    assert key in shell("best", "small_design").out
    assert ask("show", key)["record"]["arm"] == first["arm"]


@pytest.mark.usefixtures("design")
def test_a_trial_is_told_with_its_curve_also_where_numbers_are_none(ask: Asking) -> None:
    cells = ask("status", "small_design")["cells"]
    keys = {cell["state"]: cell["cell"]["trial_key"] for cell in cells}
    finished = ask("show", keys["finished"])
    errors = finished["curve"]["validation_error"]
    assert [*errors] == [str(epoch) for epoch in range(1, len(errors) + 1)]
    assert 0 <= finished["record"]["metrics"]["test_error"] <= 1
    assert Path(finished["weights"] or "/").exists()
    diverged = ask("show", keys["diverged"])
    assert (diverged["record"]["outcome"], diverged["weights"]) == ("diverged", None)


@pytest.mark.usefixtures("design")
def test_what_differs_is_told_of_two_trials(ask: Asking) -> None:
    cells = ask("status", "small_design")["cells"]
    places = [cell["cell"] for cell in cells]
    first, other = (cell["trial_key"] for cell in places if cell["arm"] == places[0]["arm"])
    answer = ask("diff", first, other)
    assert (answer["kind"], answer["first"], answer["second"]) == ("trials", first, other)
    rows = {row["name"]: row for row in answer["rows"]}
    assert (rows["seed"]["part"], rows["seed"]["first"] == rows["seed"]["second"]) == (
        "setting",
        False,
    )
    error = rows["validation_error"]
    assert error["difference"] == pytest.approx(error["second"] - error["first"])
    assert (error["part"], error["unit"]) == ("result", "fraction")


@pytest.mark.parametrize(
    ("value", "text"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity")]
)
def test_what_json_has_no_number_for_is_a_text(
    capsys: pytest.CaptureFixture[str], value: float, text: str
) -> None:
    print_json(DiffRow(part="result", name="x", first=value, second=1, difference=None, unit=None))
    assert f'"first": "{text}"' in capsys.readouterr().out


def launch_that_fails(declared: DeclaredSweep, *_: Any) -> SweepResult:
    """Stand in for a launch that tells of its progress and leaves a cell empty."""
    print_line("3 of 9 cells done")
    failed = FailedTrial("an \x1b[31marm", 4, "out of \u200bluck", Path("cells/x/log.txt"))
    return SweepResult(declared.sweep.name, 9, 8, 5, exit_code=3, failures=(failed,))


def test_a_run_answers_with_its_result_alone_and_tells_of_its_way_elsewhere(
    shell: Shell, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launching, "launch", launch_that_fails)
    answer = ask("run", "quickstart", "--seeds", "0", code=3)
    assert (answer["num_cells"], answer["num_filled"], answer["num_trained"]) == (9, 8, 5)
    assert answer["failures"] == [
        {
            "arm": "an \x1b[31marm",
            "seed": 4,
            "reason": "out of \u200bluck",
            "log": "cells/x/log.txt",
        }
    ]
    assert answer["go_on_with"].endswith("run quickstart --seeds 0 --json")
    assert shell("run", "quickstart", "--json").err == "3 of 9 cells done\n"
    assert shell("run", "quickstart", "--json", "-q").err == ""


def test_a_run_that_is_complete_tells_its_files_and_nothing_to_go_on_with() -> None:
    report = SimpleNamespace(paths=(Path("reports/x/tables.md"),), health=())
    answer = run_answer(SweepResult("x", 9, 9, 9, exit_code=0, report=report), "capsweep run x")
    assert (answer.files, answer.go_on_with) == (("reports/x/tables.md",), None)


REFUSALS = {
    "an unknown sweep": ["plan", "quikstart"],
    "a store that is not there": ["status", "quickstart"],
    "a store that does not answer": ["best", "x", "--tracking-uri", "http://127.0.0.1:9"],
    "a value out of range": ["run", "quickstart", "--epochs", "0"],
    "an option that is none": ["show", "x", "--nonsense"],
    "an option's value of another type": ["best", "x", "-n", "few"],
    "a command that is none": ["shwo", "x"],
    "no argument": ["show"],
    "nothing to hold against": ["diff", "x"],
    "a command that has no JSON": ["clean"],
    "less and more": ["list", "-qv"],
    "no sweeps at all": ["status"],
    "planned seeds": ["plan", "quickstart", "--effect", "1"],
}


@pytest.mark.parametrize("case", REFUSALS)
def test_an_error_is_an_object_with_the_sentence_and_the_exit_code(
    shell: Shell, ask: Asking, case: str
) -> None:
    arguments = REFUSALS[case]
    before = shell.files()
    answer = ask(*arguments, code=2)
    assert shell("--json", *arguments).code == 2
    assert shell.files() == before
    assert (answer["format"], answer["exit_code"]) == ("capsweep.error/1", 2)
    if case not in {"a command that has no JSON", "planned seeds"}:
        assert answer["error"] == shell.refused(*arguments)
    assert answer["error"].count("\n") == 0
