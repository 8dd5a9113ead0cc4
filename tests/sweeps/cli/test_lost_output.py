"""What nobody reads, or no disk takes, is dropped: commands end quietly, and launches train on."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SWEEP = '''
from typing import Literal
from capsmodel.losses import MarginLoss
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART


class Talking(MarginLoss):
    """Prints at each step."""

    kind: Literal["talking"] = "talking"

    def judge(self, outputs, labels, progress, over_images="mean"):
        print("a line of the user's own", flush=True)
        return super().judge(outputs, labels, progress, over_images)


SWEEP = Sweep(
    name="small",
    base=QUICKSTART.base.model_validate(
        {
            "data": {"kind": "digits", "fraction": 0.2},
            "model": {"kind": "capsnet", "conv_channels": 4, "conv_kernel": 3, "primary_types": 2,
                      "primary_dim": 4, "primary_kernel": 3, "class_dim": 4},
            "stopping": {"kind": "fixed_epochs", "epochs": 1},
        }
    ),
    plan=ListedArms(baseline="plain", arms={"plain": {}, "talking": {"loss": Talking()}}),
    seeds=[0],
    parts=[Talking],
)
'''
MAIN = "from sweeps.cli import main_process; main_process()"
FULL = "/dev/full"  # a disk without room


@pytest.fixture
def unread() -> Iterator[int]:
    """A pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def run(
    folder: Path, *arguments: str, stdout: int | None = None, shell: str = ""
) -> tuple[int, str]:
    """Run capsweep; return its exit code and what it printed to standard error.

    Args:
        folder: Where it runs.
        arguments: Its arguments.
        stdout: Where its output goes.
        shell: What a shell redirects, such as ">&-" for a closed output.
    """
    command = [sys.executable, "-P", "-c", MAIN, *arguments]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    environment = {name: text for name, text in os.environ.items() if "CAPSWEEP" not in name}
    out = subprocess.DEVNULL if stdout is None else stdout
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("arguments", [("status",), ("list",)])
def test_a_command_whose_pipe_is_closed_ends_quietly(
    arguments: tuple[str, ...], storage: Path, unread: int
) -> None:
    code, complaints = run(storage.parent, *arguments, stdout=unread)
    assert code == 0
    assert "Traceback" not in complaints
    assert "ipe" not in complaints


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&- <&-"])
def test_a_closed_stream_is_no_error(closed: str, storage: Path) -> None:
    assert run(storage.parent, "status", shell=closed) == (0, "")


def test_an_answer_that_no_disk_takes_is_an_error(storage: Path) -> None:
    with open(FULL, "w") as full:  # noqa: PTH123 - a device
        code, complaints = run(storage.parent, "status", stdout=full.fileno())
    assert code == 2
    assert complaints.startswith("capsweep: The answer cannot be written: ")
    assert complaints.count("\n") == 1


NIGHTLY = [pytest.param(shell, marks=pytest.mark.nightly) for shell in (">/dev/full", ">&-")]


@pytest.mark.parametrize("shell", ["", *NIGHTLY])
def test_a_launch_trains_all_cells_whatever_becomes_of_its_words(
    shell: str, tmp_path: Path, unread: int
) -> None:
    (tmp_path / "small.py").write_text(SWEEP)
    code, complaints = run(
        tmp_path, "run", "small.py", "--engine", "inline", stdout=unread, shell=shell
    )
    assert code == 0, complaints
    assert len([*tmp_path.rglob("final.json")]) == 2
    assert "Traceback" not in complaints
