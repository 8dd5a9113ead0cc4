"""README's snippets, and those of the tour and the page on sweeps, do what is said of them."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pandas as pd
import pytest

from search_spaces.quickstart import SWEEP as QUICKSTART
from search_spaces.trial_key import trial_key
from tests.capsmodel.data.pictures import write_classes
from tests.pages import ROOT, commands, page, snippets
from tests.recomputed import largest_difference, recomputed
from tests.sweeps.cli.shell import Shell
from tests.waiting import PATIENCE_SECONDS

README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR, SWEEPS = page("tour"), page("sweeps")
FIRST, FROM_PYTHON = snippets(README)
(SHARES,) = snippets(TOUR)
SMALL_NET = snippets(page("yours"))[0]
DECODERS, SHARPNESS, CONTRACT, ROUNDS = snippets(SWEEPS)
FILES = {
    "first": FIRST,
    "my_network": SMALL_NET,
    "shares": SHARES,
    "decoders": DECODERS,
    "sharpness": SHARPNESS,
    "rounds": ROUNDS,
}
# Each arm is trained. README's commands get all seeds only nightly; other pages' get fewer epochs.
INLINE = ("--engine", "inline")  # starts sooner, and gives the same to the bit
SHORTENED = {
    "run quickstart --name wider --set model.primary_types=16 --epochs 5 --seeds 0-1": (
        "--epochs=1",
        "--seeds=0",
        *INLINE,
    ),
    "run capsule_search": ("--trials=4", "--epochs=1", *INLINE),
    "run sharpness.py --epochs 3": ("--seeds", "0"),
    "run first.py": ("--epochs=1", "--seeds=0", *INLINE),
}
LOADED = """
import contextlib, sys
from sweeps.cli import main
sys.argv[:1] = ["capsweep", "run", "quickstart"]
with contextlib.suppress(SystemExit):
    main()
print([name for name in ("torch._dynamo", "mlflow", "matplotlib", "ray") if name in sys.modules])
"""
FEWER_SEEDS = {
    "run quickstart": ("--seeds=0-2",),
    "plan shares.py": ("--seeds=0-2",),
    "run shares.py": ("--seeds=0-2",),
}


@pytest.fixture
def shell(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    return Shell(folder, monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the sweep files that the pages show."""
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(text)
    write_classes(tmp_path / "photos", ("cat", "dog", "owl"), 20)
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    """Run a program of the tests' environment in a folder and return what it printed."""
    environment = {name: text for name, text in os.environ.items() if "CAPSWEEP" not in name}
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE_SECONDS,  # a launch takes a minute on a quiet machine
        check=False,
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def capsweep(folder: Path, *arguments: str) -> str:
    return run(folder, str(Path(sys.executable).with_name("capsweep")), *arguments)


def typed(
    shell: Shell,
    text: str,
    leave_out: Sequence[list[str]] = (),
    options: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, str]:
    """Run a page's commands in their order, but for some: line -> what it printed.

    Commands in `options` get these besides the page's. Launches are processes of their own; what
    only reads runs in this one, where it starts at once.
    """
    printed: dict[str, str] = {}
    for program, *arguments in commands(text):
        if [program, *arguments] in leave_out:
            continue
        line = " ".join(arguments)
        if program != "capsweep":
            printed[line] = run(shell.folder, program, *arguments)
        elif arguments[0] == "run":
            added = (*SHORTENED.get(line, ()), *options.get(line, ()))
            printed[line] = capsweep(shell.folder, *arguments, *added)
        else:
            answer = shell(*arguments, *options.get(line, ()))
            assert answer.code == 0, (line, answer.out + answer.err)
            printed[line] = answer.out
    return printed


def test_trials_that_are_shown_are_those_of_quickstart_and_have_routed() -> None:
    starts = {*re.findall(r"show(?:\(\"| )([0-9a-f]{6})", README + TOUR + page("published"))}
    differing = {*re.findall(r"diff (\w{6}) (\w{6})", TOUR)}
    arms = {trial_key(arm.config, 0)[:6]: arm.config for arm in QUICKSTART.arms()}
    (start,) = starts
    assert arms[start].model == QUICKSTART.base.model
    assert {key for pair in differing for key in pair} <= {*arms}


def test_the_script_has_fewer_than_ten_lines() -> None:
    assert len(FROM_PYTHON.strip().splitlines()) < 10


@pytest.mark.parametrize(
    ("name", "planned"),
    [
        ("first", "first: 2 arms x 5 seeds = 10 cells"),
        ("shares", "10 are new and will be trained"),
        ("decoders", "decoders: 4 arms x 5 seeds = 20 cells"),
        ("sharpness", "15 are new and will be trained"),
        ("rounds", "rounds: 30 proposals by tpe"),
    ],
)
def test_ones_own_sweep_is_planned_from_its_file(shell: Shell, name: str, planned: str) -> None:
    answer = shell("plan", f"{name}.py")
    assert answer.code == 0, answer.err
    assert planned in answer.out


@pytest.mark.long
@pytest.mark.slow
def test_ones_own_routing_keeps_the_laws_of_a_routing(folder: Path) -> None:
    (folder / "test_sharpness.py").write_text(CONTRACT)
    printed = run(folder, sys.executable, "-m", "pytest", "-q", "test_sharpness.py")
    assert re.search(r"\d+ passed", printed)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(7200)  # launches one after the other: minutes, more on a busy machine
@pytest.mark.parametrize("seeds", [3, pytest.param(5, marks=pytest.mark.nightly)])
def test_readme_and_then_the_tour_run_in_their_order(
    folder: Path, shell: Shell, seeds: int
) -> None:
    options = FEWER_SEEDS if seeds == 3 else {}
    script = folder / "script.py"
    begun = f'sweeps.run("quickstart", seeds=range({seeds}))'
    script.write_text(FROM_PYTHON.replace('sweeps.run("quickstart")', begun))
    assert re.search(r"sees a \d with length 0\.\d", run(folder, sys.executable, str(script)))
    trials = pd.read_csv(folder / "reports" / "quickstart" / "trials.csv")
    baseline = trials[trials["arm"] == "3 iterations"]
    assert len(trials) == 5 * seeds
    assert 1 - baseline["test_error"].mean() >= 0.97
    moved = folder / "reports" / "quickstart" / "evaluations-shifted_test_error.md"
    assert _first_cells(_shown("quickstart, moved")) == _first_cells(moved.read_text("utf-8"))
    report = folder / "reports" / "quickstart"
    rows = recomputed(report / "trials.csv", folder / "capsweep-store" / "cells", "3 iterations")
    difference, count = largest_difference(report / "ablation.csv", rows)
    assert difference < 1e-9
    assert count > 80

    printed = typed(shell, README, options=options)
    filled = f"{5 * seeds} of {5 * seeds} cells filled."
    assert f"quickstart: 0 trained now, {filled}" in printed["run quickstart"]
    assert "All of it works." in printed["check first.py"]
    assert "first: 2 trained now" in printed["run first.py"]
    again = run(folder, sys.executable, "-c", LOADED, *(options.get("run quickstart", ())))
    assert again.splitlines()[-1] == "[]", "nothing was trained, written or drawn"
    assert again.splitlines()[:-2] == printed["run quickstart"].splitlines()[:-1]
    printed = typed(shell, TOUR, leave_out=commands(README), options=options)
    assert f"{seeds} are already done" in printed["plan shares.py"]
    assert f"shares: {seeds} trained now, {2 * seeds} of {2 * seeds}" in printed["run shares.py"]
    in_all = 5 * (seeds + 1)
    assert f"5 trained now, {in_all} of {in_all}" in printed["run quickstart --add-seeds 5"]
    assert "Ranked by mean" in printed["best capsule_search"]
    assert f"{in_all} finished" in printed["status quickstart --storage kept"]


@pytest.mark.nightly  # its commands are those of README and the tour with other options
@pytest.mark.long
@pytest.mark.timeout(7200)  # as above
def test_the_page_on_sweeps_runs_in_its_order(shell: Shell) -> None:
    printed = typed(shell, SWEEPS, leave_out=commands(TOUR))  # whose launches are run there
    assert "rounds: 6 proposals by tpe" in printed["plan rounds.py --trials 6 --epochs 2"]
    assert "sharpness: 3 trained now" in printed["run sharpness.py --epochs 3"]
    assert "mine: 5 arms x 5 seeds" in printed["plan mine.py"]


def _shown(table: str) -> str:
    """Return a table as README shows it."""
    return README.partition(f"<!-- table: {table} -->")[2].partition("<!-- end of table -->")[0]


def _first_cells(table: str) -> list[str]:
    return [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")]
