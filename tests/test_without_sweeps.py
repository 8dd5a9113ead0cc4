"""Where only the requirements of capsmodel are installed."""

import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NEEDED = ("mlflow", "optuna", "pandas", "psutil", "ray", "typer")
SENTENCE = (
    "Sweeps need packages that capsmodel does without, and mlflow, optuna, pandas, psutil, ray, "
    'typer are not installed: pip install "capsweep[sweeps]".'
)


def names_of_extra() -> list[str]:
    """Return what Python imports of the packages of the extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {
        requirement.partition(">=")[0].partition("[")[0]
        for requirement in project["optional-dependencies"]["sweeps"]
    }
    return [
        name
        for name, distributions in packages_distributions().items()
        if wanted & {*distributions}
    ]


def ran(program: str) -> "subprocess.CompletedProcess[str]":
    """Run a program for which the packages of the extra are not there."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({names_of_extra()!r}))"
    return subprocess.run(
        [sys.executable, "-c", f"{blocked}\n{program}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def test_the_extra_holds_what_the_sentence_speaks_of() -> None:
    assert {*NEEDED} <= {*names_of_extra()}


def test_capsmodel_trains_and_spaces_are_declared() -> None:
    program = """
import search_spaces
from capsmodel import Training
from search_spaces.quickstart import SWEEP

config = next(iter(SWEEP.arms())).config
print(next(iter(Training(config, 0))).epoch)
"""
    done = ran(program)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


def test_the_command_says_in_one_sentence_what_to_install() -> None:
    done = ran("from sweeps.command import main_process; main_process()")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"capsweep: {SENTENCE}\n")


@pytest.mark.parametrize("line", ["from sweeps import run", "import sweeps; sweeps.run"])
def test_python_says_it_where_a_sweep_is_wanted(line: str) -> None:
    done = ran(line)
    assert done.stderr.splitlines()[-1] == f"ImportError: {SENTENCE}"


def test_the_library_alone_is_all_that_is_installed_without_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not [
        requirement
        for requirement in project["dependencies"]
        if requirement.startswith(("ray", "mlflow", "optuna"))
    ]
