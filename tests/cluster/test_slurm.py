"""Sweeps on a real Slurm of two nodes: requeued, out of time, next to each other, refused."""

import re
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.refusals import Wrong, complaint
from tests.cluster.slurm import LAPTOP, LOGIN, Slurm, running_slurm, why_no_slurm
from tests.end_to_end.storage_view import expect_each_epoch_trained_once, outboxes
from tests.end_to_end.sweep_file import write_sweep
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.long,
    pytest.mark.skipif(bool(why_no_slurm()), reason=why_no_slurm()),
    pytest.mark.timeout(1800),
]
_NUM_CELLS = 6  # of quickstart with one seed
_NUM_EPOCHS, _SEEDS = 8, (0, 1, 2, 3, 4, 5)
_SECONDS = 2.0  # an epoch, until the last loss: five minutes of training outlast both
_AT_ONCE = 3
_SMALL = ("--epochs=1", "--seeds=0", "--yes")
_NOT_TRAINED = ("--epochs=1", "--seeds=9", "--yes")  # of which nothing is there
_ON_TWO_NODES = ("--to=slurm", "--nodes=2", "--cpus-per-node=2", "--time=10m")
_TO = "capsweep submit quickstart --name refused --yes --to slurm"
_JOB = f"{_TO} --time 10m --cpus-per-node 1"
WRONG = (
    Wrong(f"{_JOB} --partition shrt", "no partition 'shrt'. Did you mean 'short'? It has: main"),
    Wrong(f"{_JOB} --partition short --time 1h", "Partition 'short' takes jobs of at most 10"),
    Wrong(f"{_JOB} --nodes 3", "Only 2 such nodes of partition 'main', and --nodes asks for 3"),
    Wrong(f"{_JOB} --gpus-per-node 1", "The nodes of partition 'main' have no GPU that Slurm"),
    Wrong(f"{_JOB} --cpus-per-node 64", "have at most 2 cores, and a job asks for 64 of each"),
    Wrong(f"{_JOB} --storage s3://mine/x", "give a folder on a disk with locks"),
    Wrong(f"{_JOB} -- --acount=x", "sbatch was refused: "),
    Wrong(f"{_JOB} -- --mem=1T", "sbatch was refused: "),
    Wrong(f"{_JOB} --cpus-per-trial 2", "No trial fits on a node: it takes 2 cores and 0 GPUs"),
    Wrong(f"{_JOB} --gpus-per-trial 1", "No trial fits on a node: it takes 1 core and 1 GPU, and"),
    Wrong(_JOB.replace("quickstart", "quikstart"), "Did you mean 'quickstart'?"),
    Wrong(f"{_JOB} --storage /proc/store", "The storage folder"),
    Wrong(f"{_JOB} --on nowhere.invalid", "nowhere.invalid cannot be reached by ssh"),
    Wrong(_JOB.replace(" --yes", ""), "Nobody can be asked here"),
    Wrong(f"SLURM_CONF=/none/slurm.conf {_JOB}", "sinfo was refused: "),
    Wrong(f"PATH={Path(sys.executable).parent} {_JOB}", "There is no sbatch on login: give the"),
    Wrong(_JOB.replace("refused", "left"), "The sweep 'left' exists already"),
)


@pytest.fixture(scope="module")
def slurm() -> Generator[Slurm]:
    with running_slurm() as started:
        yield started


def test_a_sweep_that_slurm_requeues_and_whose_time_runs_out_gives_the_same_tables(
    slurm: Slurm,
) -> None:
    brake = slurm.shared / "brake"
    brake.touch()
    write_sweep(
        slurm.shared / "held.py",
        seeds=_SEEDS,
        epochs=_NUM_EPOCHS,
        seconds=_SECONDS,
        brake=str(brake),
    )
    num_cells = 3 * len(_SEEDS)
    submitted = capsweep(slurm, "submit", "held.py", *_ON_TWO_NODES, "--yes")
    assert f"held on Slurm: {num_cells} cells; 4 trials at once, no GPU each." in submitted
    job = re.search(r"Submitted to Slurm as job (\d+)", submitted)
    assert job

    storage = slurm.shared / "capsweep-store"
    wait_until(lambda: any(facts.epochs for facts in outboxes(storage).values()))
    assert "A launch runs now." in capsweep(slurm, "status", "held")
    slurm.on(LOGIN, "scontrol", "requeuehold", job[1])
    held = f"Job {job[1]} is held (job requeued in held state) and does not start by itself"
    wait_until(lambda: held in capsweep(slurm, "status", "held"))
    assert "Go on with" not in capsweep(slurm, "status", "held")
    slurm.on(LOGIN, "scontrol", "release", job[1])

    printed = storage / "slurm/held/job.out"
    wait_until(lambda: "attempt 2 of 10" in printed.read_text())
    wait_until(lambda: num_filled(slurm) > 0)
    # as Slurm does for --signal=B:USR1@..., only sooner
    slurm.on(LOGIN, "scancel", "--batch", "--signal=USR1", job[1])
    wait_until(lambda: "the time of the job is nearly over" in printed.read_text())
    brake.unlink()
    followed = capsweep(slurm, "submit", "held.py", *_ON_TWO_NODES, "--yes", "--follow")
    assert "attempt 3 of 10" in followed
    assert f"{num_cells} of {num_cells} cells filled" in followed
    expect_each_epoch_trained_once(storage, storage / "mlflow.db", num_cells, _NUM_EPOCHS)
    capsweep(slurm, "run", "held.py", "--storage=local", "--reports=unbroken")
    for name in ("ablation.csv", "ablation-pairs.csv", "ablation.md", "ablation.tex"):
        here, there = (slurm.shared / folder / "held" / name for folder in ("unbroken", "reports"))
        assert there.read_bytes() == here.read_bytes(), name


@pytest.fixture(scope="module")
def two_jobs(slurm: Slurm) -> tuple[str, str]:
    """Return what two launches print whose jobs run on one node at the same time."""
    one_core = ("--to=slurm", "--cpus-per-node=1", "--time=10m", "--", "--nodelist=n1")
    names = ("left", "right")
    for name in names:
        capsweep(slurm, "submit", "quickstart", f"--name={name}", *_SMALL, *one_core)
    wait_until(
        lambda: slurm.on(LOGIN, "squeue", "-h", "-t", "RUNNING", "-o", "%N").split() == ["n1"] * 2
    )
    left, right = (capsweep(slurm, "logs", "-f", name) for name in names)
    return left, right


def test_two_jobs_on_one_node_at_once_do_not_meet(slurm: Slurm, two_jobs: tuple[str, str]) -> None:
    for printed in two_jobs:
        assert f"{_NUM_CELLS} of {_NUM_CELLS} cells filled" in printed
    assert not [line for line in slurm.hosts.processes() if "raylet" in line]


def test_a_laptop_submits_through_ssh_and_asks_by_name(slurm: Slurm) -> None:
    storage = f"--storage={slurm.shared}/of-laptop"
    submit = ("submit", "quickstart", "--to=slurm", f"--on={LOGIN}", "--cpus-per-node=2")
    submit += ("--time=10m", "--name=far", storage, *_SMALL)
    assert "far on login: 6 cells; 2 trials at once" in capsweep(slurm, *submit, host=LAPTOP)
    wait_until(
        lambda: "A launch runs now." in slurm.run("capsweep", "status", "far", host=LAPTOP).stdout
    )
    assert "Slurm ends the job." in capsweep(slurm, "stop", "far", host=LAPTOP)
    assert not slurm.on(LOGIN, "squeue", "-h")
    followed = capsweep(slurm, *submit, "--follow", host=LAPTOP)
    assert f"{_NUM_CELLS} of {_NUM_CELLS} cells filled" in followed
    assert "Ablation far: test error by arm" in followed
    assert "All 6 cells are there, so nothing is submitted." in capsweep(
        slurm, *submit, host=LAPTOP
    )
    assert "capsweep: job" in capsweep(slurm, "logs", "far", host=LAPTOP)
    assert "CNN of equal size" in capsweep(slurm, "best", "far", host=LAPTOP)
    assert "Ablation far: test error by arm" in capsweep(slurm, "report", "far", host=LAPTOP)
    assert (slurm.hosts.root(LAPTOP) / "reports/far/report.html").exists()


def test_a_job_that_waits_says_for_what_and_can_be_stopped(slurm: Slurm) -> None:
    later = ("--name=later", *_NOT_TRAINED, "--to=slurm", "--cpus-per-node=1", "--time=10m")
    submitted = capsweep(slurm, "submit", "quickstart", *later, "--", "--begin=now+1hour")
    assert "--epochs=1 --follow -- --begin=now+1hour" in submitted
    job = slurm.shared / "capsweep-store/slurm/later/job.sbatch"
    assert not job.stat().st_mode & 0o077  # an address of records may have a password
    assert "is queued, and starts by itself after" in capsweep(slurm, "status", "later")
    other = slurm.run("capsweep", "submit", "quickstart", *later, "--", "--begin=now+2hour")
    assert other.returncode == 2
    assert "with --begin=now+1hour, and this asks for --begin=now+2hour" in other.stderr
    elsewhere = slurm.run("capsweep", "submit", "quickstart", *later, "--storage=other")
    assert elsewhere.returncode == 2
    assert f"'later' was submitted to {slurm.shared}/capsweep-store as job" in elsewhere.stderr
    assert "The job: 1 node with 1 core, 10 min; started at most 10 times" in submitted
    stopped = capsweep(slurm, "stop", "later")
    assert "Slurm ends the job." in stopped
    assert "Submit it again to go on." in stopped
    assert "Submit it again" not in capsweep(slurm, "stop", "later")
    assert not slurm.on(LOGIN, "squeue", "-h")


def test_a_job_is_queued_while_all_nodes_are_drained(slurm: Slurm) -> None:
    slurm.on(LOGIN, "scontrol", "update", "nodename=n[1-2]", "state=drain", "reason=test")
    later = ("--name=drained", *_NOT_TRAINED, "--to=slurm", "--time=10m")
    try:
        submitted = capsweep(slurm, "submit", "quickstart", *later)
        assert "The job: 1 node with 2 cores, 10 min" in submitted  # these have fewer than 4
        assert "Submitted to Slurm as job" in submitted
        assert "is waiting in Slurm's queue: " in capsweep(slurm, "status", "drained")
        capsweep(slurm, "stop", "drained")
    finally:
        slurm.on(LOGIN, "scontrol", "update", "nodename=n[1-2]", "state=resume")


@pytest.mark.usefixtures("two_jobs")
def test_each_wrong_input_is_one_sentence_and_submits_nothing(slurm: Slurm) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        wrong = [one for one in pool.map(lambda one: complaint(slurm.run, one), WRONG) if one]
    assert not wrong, "\n".join(wrong)
    assert not slurm.on(LOGIN, "squeue", "-h")


def test_a_storage_folder_that_the_nodes_do_not_see_is_named(slurm: Slurm) -> None:
    words = ("submit", "quickstart", "--name=alone", *_SMALL, "--to=slurm", "--time=10m")
    words += ("--cpus-per-node=1", "--storage=/root/alone", "--follow")
    ended = slurm.run("capsweep", *words)
    assert ended.returncode == 3
    assert "The nodes may not see /root/alone: give a folder that all of them share" in ended.stderr
    assert "The report of" not in ended.stderr
    assert "you may log out." in ended.stdout
    status = slurm.run("capsweep", "status", "alone")
    assert "The nodes may not see /root/alone: give a folder that all of them" in status.stdout
    assert "no tracking store" not in status.stderr


def capsweep(slurm: Slurm, *words: str, host: str = LOGIN) -> str:
    """Run capsweep on a host and return what it prints."""
    ended = slurm.run("capsweep", *words, host=host)
    assert ended.returncode == 0, (words, ended.stdout + ended.stderr)
    return ended.stdout


def num_filled(slurm: Slurm) -> int:
    """Return how many cells are filled."""
    return len(list((slurm.shared / "capsweep-store").glob("cells/*/final.json")))
