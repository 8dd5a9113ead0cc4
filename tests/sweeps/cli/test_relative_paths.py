"""The check of a sweep sees relative paths as a trial does, which runs in a folder of its own."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.sweeps.cli.shell import Shell
from tests.sweeps.execution.test_sweep_check import broken

pytestmark = pytest.mark.usefixtures("forked_check")

ROUTE = "        return poses\n"
# Where it stands, and what reads words.txt there, which lies in the folder of the check.
READERS = {
    "a routing": (ROUTE, "        open('words.txt').close(); return poses\n"),
    "load": ("        return splits\n", "        import os; os.stat('words.txt'); return splits\n"),
    "an evaluation": (
        "        beliefs = beliefs_in",
        "        import numpy; numpy.loadtxt('words.txt'); beliefs = beliefs_in",
    ),
    "an import": ("import torch\n", "import torch; open('words.txt').close()\n"),
}
ARRAYS = """
import os
from typing import Literal
from capsmodel import TrainingConfig
from capsmodel.data import Arrays
from capsmodel.losses import Loss, MarginLoss
from capsmodel.models import CapsNet
from capsmodel.routing import DynamicRouting
from search_spaces import ListedArms, Sweep


class Reading(Loss):
    kind: Literal["reading"] = "reading"

    def loss(self, lengths, labels, progress):
        open("WORDS").close()
        open("written.txt", "w").close()
        open(os.environ["CAPSWEEP_LAUNCH_FOLDER"] + "/mine.py").close()
        return MarginLoss().loss(lengths, labels, progress)


MODEL = CapsNet(
    conv_channels=8, conv_kernel=3, primary_types=2, primary_kernel=3, reconstruction="none",
)
SWEEP = Sweep(
    name="mine", parts=(Reading,), plan=ListedArms(baseline="a", arms={"a": {}}), seeds=(0,),
    base=TrainingConfig(data=Arrays("digits.npz"), model=MODEL, loss=Reading()),
)
"""


@pytest.mark.parametrize("name", READERS)
def test_a_file_beside_the_sweep_is_not_there_in_a_trial(shell: Shell, name: str) -> None:
    (shell.folder / "words.txt").write_text("1 2")
    _, line = broken(shell.folder, *READERS[name])
    answer = shell("check", "mine.py")
    assert answer.code == 2
    assert re.search(rf"words\.txt.* \((mine\.py, )?line {line}\)\. A trial runs in", answer.err)
    assert "give the absolute path" in answer.err


@pytest.mark.parametrize("folder", [".", "pictures"])
def test_what_a_trial_finds_the_check_finds(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """Data lie in the folder of the launch or below a relative data root."""
    monkeypatch.setenv("CAPSWEEP_DATA", "pictures")
    (shell.folder / "words.txt").write_text("1 2")
    (shell.folder / "mine.py").write_text(ARRAYS.replace("WORDS", str(shell.folder / "words.txt")))
    write_arrays(shell.folder / folder / "digits.npz")
    answer = shell("check", "mine.py")
    assert answer.code in {0, None}, answer.err
    assert "All of it works." in answer.out
    assert not (shell.folder / "written.txt").exists()


def write_arrays(file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    pixels = np.random.default_rng(0).integers(0, 256, (60, 8, 8), dtype=np.uint8)
    labels = np.arange(60) % 3
    np.savez(file, x_train=pixels[:40], y_train=labels[:40], x_test=pixels[40:], y_test=labels[40:])
