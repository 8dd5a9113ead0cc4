"""Commands say less with -q and more with -v, before the command or behind it."""

import logging
import re
import sys
import warnings
from pathlib import Path

import pytest

from sweeps.cli.hints import launch_command
from sweeps.execution.launch import launch as launching
from sweeps.execution.launch.result import SweepResult
from sweeps.execution.plan.definition import DeclaredSweep
from sweeps.execution.view.live_view import print_line
from tests.sweeps.cli.shell import Shell

PLACES = pytest.mark.parametrize("place", [0, 1], ids=["before", "behind"])
HINT = "Run one: capsweep run NAME"


def arguments(place: int, option: str, *command: str) -> list[str]:
    return [option, *command] if place == 0 else [*command, option]


@PLACES
@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_quiet_leaves_hints_out_and_results_in(shell: Shell, place: int, option: str) -> None:
    answer = shell(*arguments(place, option, "list"))
    assert (answer.code, answer.err) == (0, "")
    assert "quickstart" in answer.out
    assert HINT not in answer.out
    assert HINT in shell("list").out, "only where it is asked for"


@PLACES
def test_verbose_tells_which_store_is_read_by_what_and_when(
    shell: Shell, storage: Path, place: int
) -> None:
    plain = shell("status", "quickstart")
    answer = shell(*arguments(place, "-v", "status", "quickstart"))
    assert (answer.code, answer.out) == (0, plain.out)
    assert plain.err == ""
    first, *_, last = answer.err.splitlines()
    assert re.fullmatch(rf"capsweep: \d+\.\d\d s: .* reads sqlite:///{storage}/mlflow.db", first)
    assert re.fullmatch(r"capsweep: \d+\.\d\d s: over, after \d+\.\d\d s of processor time", last)


def test_verbose_tells_no_password(shell: Shell) -> None:
    answer = shell("status", "x", "-v", "--tracking-uri", "http://me:secret@127.0.0.1:9")
    assert answer.code == 2
    assert "secret" not in answer.err


def test_a_word_before_the_command_is_none_of_the_command_that_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["capsweep", "-v", "plan", "quickstart", "--effect", "1"])
    assert launch_command().endswith("capsweep run quickstart")


def launch_that_tells(declared: DeclaredSweep, *_: object) -> SweepResult:
    """Stand in for a launch that tells of its progress, warns, and logs."""
    print_line("3 of 9 cells done")
    warnings.warn("slow", stacklevel=1)
    logging.getLogger("sweeps.somewhere").warning("will look again")
    return SweepResult(declared.sweep.name, num_cells=9, num_filled=9, num_trained=6, exit_code=0)


@pytest.mark.filterwarnings("default")
def test_a_quiet_run_tells_its_result_alone(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(launching, "launch", launch_that_tells)
    quiet = shell("run", "quickstart", "-q")
    assert quiet.out.split("\n") == [
        "",
        "quickstart: 6 trained now, 9 of 9 cells filled.",
        "",
    ]
    assert (quiet.code, quiet.err, caplog.messages) == (0, "", [])
    usual = shell("run", "quickstart")
    assert "3 of 9 cells done" in usual.out
    assert "Next: capsweep best quickstart" in usual.out
    assert caplog.messages == ["will look again"]
    assert "slow" in usual.err
