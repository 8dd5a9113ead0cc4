"""Commands that only read load nothing that trains."""

import subprocess
import sys
from pathlib import Path

import pytest

# What is loaded.

LOADED = """
import sys
from sweeps.cli import commands as cli
from sweeps.aggregation.query import TrialView
from sweeps.cli.console import print_trial
sys.argv = ["capsweep", *sys.argv[1:]]
try:
    cli.main()
except SystemExit as end:
    code = end.code
else:
    code = None
loaded = {name.partition(".")[0] for name in sys.modules}
print("LOADED", *sorted(loaded & {"torch", "ray", "mlflow", "optuna", "pandas"}))
ray = sys.modules.get("ray")
print("STARTED", bool(ray and ray.is_initialized()), "SWEEPS", *sorted(
    name for name in sys.modules if name.startswith("search_spaces.")))
"""


def loaded_by(folder: Path, *words: str) -> tuple[set[str], str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words],
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
    )
    assert "Traceback" not in done.stderr
    last, final = done.stdout.splitlines()[-2:]
    return set(last.split()[1:]), final


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    assert loaded_by(tmp_path, "--help")[0] == set()


def test_listing_imports_no_sweep(tmp_path: Path) -> None:
    loaded, told = loaded_by(tmp_path, "list")
    assert loaded == set()
    assert "search_spaces.quickstart" not in told


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize("command", ["best", "status"])
def test_reading_records_loads_neither_torch_nor_ray(tmp_path: Path, command: str) -> None:
    loaded, _ = loaded_by(tmp_path, command, "quickstart")
    assert loaded <= {"mlflow", "pandas"}


def test_planning_does_not_start_ray(tmp_path: Path) -> None:
    _, told = loaded_by(tmp_path, "plan", "quickstart")
    assert told.startswith("STARTED False")
