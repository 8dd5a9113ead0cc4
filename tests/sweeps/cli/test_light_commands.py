"""Commands that only read load nothing that trains."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sweeps.execution.launch import train_missing
from tests.sweeps.cli.shell import Shell

# One after the other in one process: what an earlier command has loaded, a later one is charged
# with too, so the light ones come first.
COMMANDS = [["--help"], ["list"], ["status", "quickstart"], ["best", "quickstart"]]
JSON = [
    ["--help"],
    ["list", "--json"],
    ["status", "quickstart", "--json"],
    ["best", "quickstart", "--json"],
]
HEAVY = ["torch", "ray", "mlflow", "optuna", "pandas", "matplotlib", "capsmodel.config"]
LOADED = """
import contextlib, io, json, sys
from sweeps import cli
from sweeps.aggregation.trial_view import TrialView
from sweeps.cli.commands.show import print_trial
commands, heavy = json.loads(sys.argv[1])
for words in commands:
    sys.argv = ["capsweep", *words]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        cli.main()
    sweeps = [name for name in sys.modules if name.startswith("search_spaces.")]
    print(json.dumps([[name for name in heavy if name in sys.modules], sweeps]))
"""


def said_by(folder: Path, commands: list[list[str]]) -> list[str]:
    """Return the lines of a process that gives commands one after the other."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, json.dumps([commands, HEAVY])],
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
    )
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("commands", [COMMANDS, JSON], ids=["words", "json"])
def test_commands_that_only_read_load_nothing_heavy(
    tmp_path: Path, commands: list[list[str]]
) -> None:
    answers = map(json.loads, said_by(tmp_path, commands))
    (helping, _), (listing, imported), (status, _), (best, _) = answers
    assert (helping, listing) == ([], [])
    assert "search_spaces.quickstart" not in imported, "listing imports no sweep"
    assert (status, best) == ([], []), "records are read without MLflow"


def is_ray_started() -> bool:
    ray = sys.modules.get("ray")
    return bool(ray and ray.is_initialized())


def test_planning_does_not_start_ray(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_missing, "start_engine", pytest.fail)
    before = is_ray_started()  # by another test
    assert shell("plan", "quickstart").code == 0
    assert is_ray_started() == before
