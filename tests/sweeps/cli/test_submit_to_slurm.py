"""Sweeps go to Slurm: programs here that note their calls and play its commands."""

from pathlib import Path

import pytest

from sweeps.cli.commands.submit import _print_job
from sweeps.remote.head import SlurmLogin
from sweeps.remote.messages import SlurmJob
from sweeps.remote.submissions import Submission, submission_of
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
    assert "'photos' is not in the data folder '" in refused
    assert fake_slurm.calls == []
    assert submission_of("mine") is None


def test_a_dry_run_shows_plan_and_job_and_leaves_nothing(
    shell: Shell, fake_slurm: FakeSlurm
) -> None:
    before = shell.files()
    answer = shell(*SUBMIT, "--gpus-per-node=a100:1", "--dry-run", "--", "--account=lab")
    assert answer.code == 0, answer.err
    plan, _, text = answer.out.partition("\n\n")
    assert plan.splitlines() == [
        "Asking Slurm ...",
        "quickstart on Slurm: 5 cells; 1 trial at once, 1 GPU each.",
        "The job: 1 node with 2 cores and 1 GPU of type a100, 10 min; started at most 10 times "
        "while trials are missing.",
        f"Records: {shell.folder}/capsweep-store (all nodes must see it).",
        "No estimate, as nothing like it was trained there yet.",
    ]
    job, _, end = text.rpartition("\n\n")
    assert end == "Dry run: nothing was written or submitted.\n"
    assert job.startswith(
        "#!/bin/bash\n# capsweep submit quickstart --to=slurm --gpus-per-node=a100"
    )
    assert "#SBATCH --gpus-per-node=a100:1\n" in job
    assert "#SBATCH --account=lab\n" in job
    assert shell.files() == before
    assert [call for call in fake_slurm.calls if "sbatch" in call] == ["sbatch --test-only"]


def test_a_dry_run_of_a_sweep_whose_job_waits_says_so_and_does_not_follow_it(
    shell: Shell, fake_slurm: FakeSlurm
) -> None:
    folder = shell.folder / "capsweep-store" / "slurm" / "quickstart"
    folder.mkdir(parents=True)
    (folder / "job").write_text("7")
    fake_slurm.answers("squeue", "echo 'PENDING|Resources|N/A|'")
    Submission(
        sweep="quickstart",
        job_id="7",
        to="slurm",
        storage=str(shell.folder / "capsweep-store"),
        folder=str(shell.folder),
        resume="capsweep submit quickstart --to=slurm --time=10m --seeds=0",
        words=("--seeds=0",),
    ).write()
    answer = shell(*SUBMIT, "--dry-run")
    assert (answer.code, answer.out) == (0, "Asking Slurm ...\nIt is there already, as job 7.\n")


@pytest.mark.parametrize("gpus_per_node", [0, 1])
def test_where_nodes_have_gpus_and_a_job_asks_for_none_the_plan_says_so(
    gpus_per_node: int, capsys: pytest.CaptureFixture[str]
) -> None:
    login = object.__new__(SlurmLogin)
    login.job = SlurmJob(seconds=600, gpus_per_node=gpus_per_node)
    login.storage, login.most_gpus = "/store", 4
    _print_job(login)
    sentence = "Nodes of this partition have GPUs. --gpus-per-node 1 asks for one on each node.\n"
    assert (sentence in capsys.readouterr().out) == (gpus_per_node == 0)
