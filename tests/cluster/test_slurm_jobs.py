"""Jobs of a real Slurm of two nodes: next to each other, from a laptop, in the queue, refused."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.cluster.refusals import Wrong, complaint
from tests.cluster.slurm import LAPTOP, LOGIN, Slurm, why_no_slurm
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.long,
    pytest.mark.skipif(bool(why_no_slurm()), reason=why_no_slurm()),
    pytest.mark.timeout(1800),
]
_NUM_CELLS = 5  # of quickstart with one seed
_SMALL = ("--epochs=1", "--seeds=0", "--yes")
_NOT_TRAINED = ("--epochs=1", "--seeds=9", "--yes")  # of which nothing is there
_JOB = "capsweep submit quickstart --name refused --yes --to slurm --time 10m --cpus-per-node 1"
WRONG = (
    Wrong(f"{_JOB} --partition shrt", "no partition 'shrt'. Did you mean 'short'? It has: main"),
    Wrong(f"{_JOB} --nodes 3", "Only 2 such nodes of partition 'main', and --nodes asks for 3"),
    Wrong(f"{_JOB} -- --acount=x", "sbatch was refused: "),
    Wrong(f"{_JOB} -- --mem=1T", "sbatch was refused: "),
    Wrong(f"SLURM_CONF=/none/slurm.conf {_JOB}", "Slurm cannot be reached from here (sinfo: "),
)


def test_two_jobs_on_one_node_at_once_do_not_meet(slurm: Slurm) -> None:
    one_core = ("--to=slurm", "--cpus-per-node=1", "--time=10m", "--", "--nodelist=n1")
    names = {"left": (), "right": ("--export=NONE",)}
    for name, more in names.items():
        slurm.capsweep("submit", "quickstart", f"--name={name}", *_SMALL, *one_core, *more)
    wait_until(
        lambda: slurm.on(LOGIN, "squeue", "-h", "-t", "RUNNING", "-o", "%N").split() == ["n1"] * 2
    )
    for name in names:
        followed = slurm.capsweep("logs", "-f", name)
        assert f"{_NUM_CELLS} of {_NUM_CELLS} cells filled" in followed
    assert not [line for line in slurm.hosts.processes() if "raylet" in line]


def test_a_laptop_submits_through_ssh_and_asks_by_name(slurm: Slurm) -> None:
    storage = f"--storage={slurm.shared}/of-laptop"
    submit = ("submit", "quickstart", "--to=slurm", f"--on={LOGIN}", "--cpus-per-node=2")
    submit += ("--time=10m", "--name=far", storage, "--epochs=6", "--seeds=0", "--yes")
    assert "far on login: 5 cells; 2 trials at once" in slurm.capsweep(*submit, host=LAPTOP)
    wait_until(
        lambda: "A launch runs now." in slurm.run("capsweep", "status", "far", host=LAPTOP).stdout
    )
    assert "Slurm ends the job." in slurm.capsweep("stop", "far", host=LAPTOP)
    assert not slurm.on(LOGIN, "squeue", "-h")
    followed = slurm.capsweep(*submit, "--follow", host=LAPTOP)
    assert f"{_NUM_CELLS} of {_NUM_CELLS} cells filled" in followed
    assert "Ablation far: test error by arm" in followed
    assert "All 5 cells are there, so nothing is submitted." in slurm.capsweep(*submit, host=LAPTOP)
    assert "capsweep: job" in slurm.capsweep("logs", "far", host=LAPTOP)
    assert "CNN of equal size" in slurm.capsweep("best", "far", host=LAPTOP)
    assert "Ablation far: test error by arm" in slurm.capsweep("report", "far", host=LAPTOP)
    assert (slurm.hosts.root(LAPTOP) / "reports/far/report.html").exists()


def test_a_job_that_waits_says_for_what_and_can_be_stopped(slurm: Slurm) -> None:
    later = ("--name=later", *_NOT_TRAINED, "--to=slurm", "--cpus-per-node=1", "--time=10m")
    submitted = slurm.capsweep("submit", "quickstart", *later, "--", "--begin=now+1hour")
    assert "--epochs=1 --follow -- --begin=now+1hour" in submitted
    job = slurm.shared / "capsweep-store/slurm/later/job.sbatch"
    assert not job.stat().st_mode & 0o077  # an address of records may have a password
    assert "is queued, and starts by itself after" in slurm.capsweep("status", "later")
    assert "The job: 1 node with 1 core, 10 min; started at most 10 times" in submitted
    stopped = slurm.capsweep("stop", "later")
    assert "Slurm ends the job." in stopped
    assert "Submit it again to go on." in stopped
    assert "Submit it again" not in slurm.capsweep("stop", "later")
    assert not slurm.on(LOGIN, "squeue", "-h")


def test_a_job_is_queued_while_all_nodes_are_drained(slurm: Slurm) -> None:
    slurm.on(LOGIN, "scontrol", "update", "nodename=n[1-2]", "state=drain", "reason=test")
    later = ("--name=drained", *_NOT_TRAINED, "--to=slurm", "--time=10m")
    try:
        submitted = slurm.capsweep("submit", "quickstart", *later)
        assert "The job: 1 node with 2 cores, 10 min" in submitted  # these have fewer than 4
        assert "Submitted to Slurm as job" in submitted
        assert "is waiting in Slurm's queue: " in slurm.capsweep("status", "drained")
        slurm.capsweep("stop", "drained")
    finally:
        slurm.on(LOGIN, "scontrol", "update", "nodename=n[1-2]", "state=resume")


def test_each_wrong_input_is_one_sentence_and_submits_nothing(slurm: Slurm) -> None:
    with ThreadPoolExecutor() as pool:
        complaints = [*filter(None, pool.map(partial(complaint, slurm.run), WRONG))]
    assert not complaints, "\n".join(complaints)
    assert not slurm.on(LOGIN, "squeue", "-h")


def test_a_storage_folder_that_the_nodes_do_not_see_is_named(slurm: Slurm) -> None:
    command = ("submit", "quickstart", "--name=alone", *_SMALL, "--to=slurm", "--time=10m")
    command += ("--cpus-per-node=1", "--storage=/root/alone", "--follow")
    ended = slurm.run("capsweep", *command)
    assert ended.returncode == 3
    assert "The nodes may not see /root/alone: give a folder that all of them share" in ended.stderr
    assert "The report of" not in ended.stderr
    assert "you may log out." in ended.stdout
    status = slurm.run("capsweep", "status", "alone")
    assert "The nodes may not see /root/alone: give a folder that all of them" in status.stdout
    assert "no tracking store" not in status.stderr
