"""Sweeps go to Slurm: programs here that note their calls and play its commands."""

from pathlib import Path

import pytest

from sweeps.remote.submissions import submission_of
from tests.sweeps.cli.shell import Shell

SUBMIT = ("submit", "quickstart", "--to=slurm", "--time=10m", "--seeds=0")
PHOTOS = """
from capsmodel import TrainingConfig
from capsmodel.data import ImageFolder
from search_spaces import ListedArms, Sweep

SWEEP = Sweep(
    name="mine",
    description="A capsule network on pictures.",
    base=TrainingConfig(data=ImageFolder("photos", size=16)),
    plan=ListedArms(baseline="a", arms={"a": {}, "b": {"batch_size": 7}}),
    seeds=(0,),
)
"""


class FakeSlurm:
    """A folder of the programs of Slurm.

    Attributes:
        answers: The folder of what each prints, its standard error and exit code.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._calls = folder / "calls"
        self.answers(
            "sinfo",
            'case "$*" in *%G*) echo "main*|4|2|gpu:a100:4|idle";; *) echo "main*|infinite";; esac',
        )
        self.answers("sbatch", "cat > /dev/null; echo 7")

    def answers(self, name: str, script: str) -> None:
        """Have a program run a script of the shell."""
        program = self.folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> {self._calls}\n{script}\n')
        program.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        """The command lines so far."""
        return self._calls.read_text().splitlines() if self._calls.exists() else []


@pytest.fixture
def fake_slurm(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> FakeSlurm:
    folder = tmp_path_factory.mktemp("slurm")
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return FakeSlurm(folder)


def test_pictures_that_are_not_there_are_named_before_slurm_is_asked(
    shell: Shell, fake_slurm: FakeSlurm
) -> None:
    fake_slurm.answers("sinfo", "echo 'sinfo: error: it is down' >&2; exit 1")
    (shell.folder / "mine.py").write_text(PHOTOS)
    refused = shell.refused("submit", "mine.py", "--to=slurm", "--time=10m", "--yes", "--quiet")
    assert "There is no folder '" in refused
    assert fake_slurm.calls == []
    assert submission_of("mine") is None
