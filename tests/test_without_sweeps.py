"""Where sweeps cannot run: without their packages, and on Windows; and where a user has no home."""

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

WINDOWS = (
    "Sweeps run on Linux and macOS, and this is Windows: install capsweep in WSL 2, Microsoft's "
    "Linux for Windows, and run it there."
)
ON_WINDOWS = "import sys; sys.platform = 'win32'; sys.modules['fcntl'] = sys.modules['pwd'] = None"
WITHOUT_A_HOME = """
import os, pwd

def nobody(number):
    raise KeyError(number)

os.environ.pop("HOME", None)
pwd.getpwuid = nobody
"""


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


def ran(program: str, patch: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a program after a patch, by default one that hides the packages of the extra."""
    patch = patch or f"import sys; sys.modules.update(dict.fromkeys({names_of_extra()!r}))"
    return subprocess.run(
        [sys.executable, "-c", f"{patch}\n{program}"],
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


@pytest.mark.parametrize("arguments", [[], ["--help"], ["list"], ["run", "quickstart"]])
def test_every_command_says_in_one_sentence_that_this_is_windows(arguments: list[str]) -> None:
    program = f"sys.argv[1:] = {arguments}; from sweeps.command import main_process; main_process()"
    done = ran(program, ON_WINDOWS)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"capsweep: {WINDOWS}\n")


@pytest.mark.parametrize("line", ["from sweeps import run", "import sweeps; sweeps.trials"])
def test_python_says_it_too(line: str) -> None:
    assert ran(line, ON_WINDOWS).stderr.splitlines()[-1] == f"ImportError: {WINDOWS}"


@pytest.mark.parametrize(
    "line", ["from sweeps import BadInput", "from sweeps.command import prepare_process as p; p()"]
)
def test_a_user_without_a_home_gets_one_that_is_not_there(line: str) -> None:
    done = ran(f"{line}\nfrom pathlib import Path; print(Path.home())", WITHOUT_A_HOME)
    assert (done.returncode, done.stdout) == (0, "/nonexistent\n"), done.stderr


def test_the_library_alone_is_all_that_is_installed_without_the_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert not [
        requirement
        for requirement in project["dependencies"]
        if requirement.startswith(("ray", "mlflow", "optuna"))
    ]
