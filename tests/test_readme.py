"""The README's snippets do what the README says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from search_spaces.quickstart import SWEEP as QUICKSTART
from search_spaces.trial_key import trial_key
from tests.waiting import PATIENCE_SECONDS

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    shlex.split(line, comments=True)[1:]
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("capsweep ") and not line.startswith("capsweep ui")
]
LONG = ["run", "capsule_search"]
OWN_SEARCH, FROM_PYTHON, OWN_SWEEP, CONTRACT = PYTHON


def run(folder: Path, *words: str) -> str:
    """Run a program of the tests' environment in a folder and return what it printed."""
    environment = {name: text for name, text in os.environ.items() if "CAPSWEEP" not in name}
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE_SECONDS,  # a launch takes a minute on a quiet machine
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def capsweep(folder: Path, *words: str) -> str:
    return run(folder, str(Path(sys.executable).with_name("capsweep")), *words)


def shortened(words: list[str]) -> list[str]:
    """Return a command, the search of minutes with fewer proposals and epochs."""
    return [*words, "--trials", "4", "--epochs", "1"] if words == LONG else words


def test_the_trial_whose_pictures_are_drawn_has_routed() -> None:
    (start,) = re.findall(r"capsweep show (\w+) --pictures", README)
    arms = {trial_key(arm.config, 0)[:6]: arm.config for arm in QUICKSTART.arms()}
    assert arms[start].model == QUICKSTART.base.model
    assert set(re.findall(r'show(?:\("| )([0-9a-f]{6})', README)) == {start}


def test_the_script_has_fewer_than_ten_lines() -> None:
    assert len(FROM_PYTHON.strip().splitlines()) < 10


def test_ones_own_sweep_is_planned_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "sharpness.py").write_text(OWN_SWEEP)
    assert "9 are new and will be trained" in capsweep(tmp_path, "plan", "sharpness.py")


def test_ones_own_routing_keeps_the_laws_of_a_routing(tmp_path: Path) -> None:
    (tmp_path / "sharpness.py").write_text(OWN_SWEEP)
    (tmp_path / "test_sharpness.py").write_text(CONTRACT)
    printed = run(tmp_path, sys.executable, "-m", "pytest", "-q", "test_sharpness.py")
    assert re.search(r"\d+ passed", printed)


def test_the_glossary_says_what_records_are_called() -> None:
    for word in ("sweep", "arm", "trial", "trial key", "cell", "record", "manifest", "table"):
        assert f"| *{word}* |" in README


@pytest.mark.slow
@pytest.mark.timeout(7200)  # a dozen launches one after the other: minutes, more on a busy machine
def test_the_tour_runs_in_its_order(tmp_path: Path) -> None:
    (tmp_path / "sharpness.py").write_text(OWN_SWEEP)
    (tmp_path / "depth.py").write_text(OWN_SEARCH)
    script = tmp_path / "script.py"
    script.write_text(FROM_PYTHON)
    assert re.search(r"sees a \d with length 0\.\d", run(tmp_path, sys.executable, str(script)))
    trials = pd.read_csv(tmp_path / "reports" / "quickstart" / "trials.csv")
    baseline = trials[trials["arm"] == "3 iterations"]
    assert len(trials) >= 18
    assert 1 - baseline["test_error"].mean() >= 0.97
    made = (tmp_path / "reports" / "quickstart" / "ablation.md").read_text(encoding="utf-8")
    shown = README.partition("<!-- table: quickstart -->")[2].partition("<!-- end of table -->")[0]
    assert _first_cells(shown) == _first_cells(made)

    printed = {" ".join(words): capsweep(tmp_path, *shortened(words)) for words in COMMANDS}

    assert "quickstart: 0 trained now, 21 of 21 cells filled." in printed["run quickstart"]
    assert "7 trained now, 28 of 28" in printed["run quickstart --add-seeds 3"]
    assert "Ranked by mean" in printed["best capsule_search"]
    assert "depth: 6 proposals by tpe" in printed["plan depth.py --trials 6 --epochs 2"]
    assert "sharpness: 9 trained now" in printed["run sharpness.py --epochs 3"]


def _first_cells(table: str) -> list[str]:
    return [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")]
