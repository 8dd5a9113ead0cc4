"""Training in the process of the launch: debuggers work, and results are the same."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.command import clean_environment

pytestmark = pytest.mark.slow

_SCRIPT = Path(sys.executable).with_name("capsweep")
_MINE = '''\
"""A routing of a user's own, with a bug that they look for."""

from typing import Literal

from capsmodel.functional import squash
from capsmodel.routing import VectorRouting
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART


class MeanRouting(VectorRouting):
    """Equal shares."""

    kind: Literal["mean_of_mine"] = "mean_of_mine"

    def route(self, votes, *, generator):
        """Return the mean of the votes."""
        looked_for = votes.shape[0] * 1000
        if votes.shape[0] == 32:
            BREAKPOINT
        return squash(votes.mean(dim=1))


SWEEP = Sweep(
    name="mine",
    parts=[MeanRouting],
    base=QUICKSTART.base,
    plan=ListedArms(
        baseline="agreement",
        arms={"agreement": {}, "mean": {"model.routing": MeanRouting()}},
    ),
    seeds=(0, 1),
)
'''


def run(folder: Path, *arguments: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    """Run capsweep in a folder, with what a person types."""
    return subprocess.run(
        [str(_SCRIPT), *arguments],
        cwd=folder,
        env=clean_environment(),
        input=typed,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def sweep_file(folder: Path, statement: str) -> Path:
    path = folder / "mine.py"
    path.write_text(_MINE.replace("BREAKPOINT", statement))
    return path


def test_a_breakpoint_in_a_users_routing_stops_there(tmp_path: Path) -> None:
    sweep_file(tmp_path, "breakpoint()")
    arguments = ("run", "mine.py", "--engine", "inline", "--seeds", "0", "--epochs", "1")
    ended = run(tmp_path, *arguments, typed="p looked_for\nquit\n")
    assert "mine.py(" in ended.stdout
    assert ")route()" in ended.stdout
    assert "(Pdb) 32000" in ended.stdout
    assert ended.returncode == 130, ended.stderr
    assert re.search(r"mine: interrupted at .*mine.py, line \d+: ", ended.stdout)
    assert "Go on with: " in ended.stdout

    gone_on = run(tmp_path, *arguments, typed="import sys; sys.breakpointhook = lambda: None\nc\n")
    assert gone_on.returncode == 0, gone_on.stdout + gone_on.stderr
    assert "2 of 2 cells filled" in gone_on.stdout


def test_weights_predictions_and_tables_are_those_of_ray_to_the_bit(tmp_path: Path) -> None:
    sweep_file(tmp_path, "pass")
    results: dict[str, dict[str, bytes]] = {}
    for engine in ("ray", "inline"):
        arguments = ("run", "mine.py", "--engine", engine, "--epochs", "2", "--storage", engine)
        ended = run(tmp_path, *arguments)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        cells = tmp_path / engine / "cells"
        files = [path for path in cells.rglob("*.safetensors") if "checkpoint" not in path.name]
        assert len(files) == 8, "weights and predictions of four trials"
        results[engine] = {str(path.relative_to(cells)): path.read_bytes() for path in files}
        table = tmp_path / "reports" / "mine" / "ablation.csv"
        results[engine]["table"] = table.read_bytes()
    assert results["ray"] == results["inline"]
