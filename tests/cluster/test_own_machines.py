"""Own machines as a cluster, from a laptop that has capsweep and ssh: hosts with a real sshd."""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from sweeps.execution.sweep_log import stored_entries
from sweeps.records.sweep_log import TrialNoted
from tests.cluster.hosts import Hosts, why_no_hosts
from tests.end_to_end.storage_view import expect_each_epoch_trained_once
from tests.end_to_end.sweep_file import write_sweep
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.long,
    pytest.mark.skipif(bool(why_no_hosts()), reason=why_no_hosts()),
    pytest.mark.timeout(1800),
]
_NUM_EPOCHS, _SEEDS = 8, (0, 1, 2, 3, 4, 5)
_NUM_CELLS = 3 * len(_SEEDS)
_SECONDS = 4.0  # an epoch, until the last loss: ten minutes of training outlast them all
_SUBMIT = ("submit", "lossy.py", "--on=machines.txt", "--yes")
_CUT_SECONDS = 30.0


class Cluster:
    """A laptop, a head and two workers."""

    def __init__(self, hosts: Hosts, storage: Path) -> None:
        self.hosts = hosts
        self.storage = storage
        self.brake = storage / "brake"
        self.brake.touch()
        write_sweep(
            hosts.root("laptop") / "lossy.py",
            seeds=_SEEDS,
            epochs=_NUM_EPOCHS,
            seconds=_SECONDS,
            brake=str(self.brake),
        )
        lines = (f"storage = {storage}", "head  # runs no trials", "w1 cpus=1", "w2 cpus=1 gpus=0")
        (hosts.root("laptop") / "machines.txt").write_text("\n".join(lines))

    def __call__(self, *words: str) -> str:
        """Run capsweep on the laptop and return what it prints."""
        done = self.ended(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ended(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run capsweep on the laptop and return how it ended."""
        return self.hosts.run("laptop", "capsweep", *words)

    def num_filled(self) -> int:
        """Return how many cells are filled."""
        return len(list(self.storage.glob("cells/*/final.json")))

    def restarts(self) -> list[str]:
        """Return why trials were restarted."""
        entries = stored_entries(self.storage / "journals", "lossy")
        noted = [one for one in entries if isinstance(one, TrialNoted)]
        return [one.detail for one in noted if one.event == "restarted"]

    def wait_for_cells(self, number: int) -> None:
        """Wait until so many cells are filled."""
        wait_until(lambda: self.num_filled() >= number)


@pytest.fixture
def cluster() -> Generator[Cluster]:
    storage = Path(tempfile.mkdtemp(prefix="capsweep-", dir="/var/tmp"))
    try:
        with Hosts(["laptop", "head", "w1", "w2"]) as hosts:
            yield Cluster(hosts, storage)
    finally:
        shutil.rmtree(storage)


def test_a_cluster_that_loses_a_worker_a_connection_and_its_head_gives_the_same_tables(
    cluster: Cluster,
) -> None:
    up = cluster("cluster", "up", "machines.txt")
    assert "head  10.77.0.11       Ray and MLflow started" in up
    assert "For trials: 2 cores and 0 GPUs." in up
    assert "Nothing is wrong." in cluster("cluster", "check", "machines.txt")

    submitted = cluster(*_SUBMIT)
    assert f"lossy on head: {_NUM_CELLS} cells; 2 trials at once, no GPU each." in submitted
    assert "as job lossy-1; this machine may be switched off." in submitted
    cluster.wait_for_cells(1)
    assert "A launch runs now." in cluster("status", "lossy")
    cluster.hosts.kill("w2")
    wait_until(cluster.restarts)
    assert cluster.restarts() == ["its machine went away"], "so that it does not count as a kill"
    wait_until(lambda: "1 restarted" in cluster("logs", "lossy", "-n", "2"), pause_seconds=2)
    cluster.hosts.cut("w1")
    time.sleep(_CUT_SECONDS)  # which is what is tested: none of it is waited for
    cluster.hosts.heal("w1")
    cluster.hosts.boot("w2")
    up = cluster("cluster", "up", "machines.txt")
    assert "head  10.77.0.11       runs" in up
    assert "w2    10.77.0.13       Ray started" in up
    cluster.wait_for_cells(cluster.num_filled() + 1)

    cluster.hosts.kill("head")
    cluster.brake.unlink()
    lost = cluster.ended("status", "lossy")
    assert lost.returncode == 2
    assert "head cannot be reached by ssh" in lost.stderr
    cluster.hosts.boot("head")
    checked = cluster.ended("cluster", "check", "machines.txt")
    assert checked.returncode == 1
    start = "capsweep cluster up /root/machines.txt"
    assert f"WRONG: Ray does not run on head: start it with {start}." in checked.stdout
    cluster("cluster", "up", "machines.txt")
    assert cluster.num_filled() < _NUM_CELLS

    followed = cluster(*_SUBMIT, "--follow", "--price=3")
    assert re.search(r"Estimate: about .* on 2 machines, .* machine hours, which cost ", followed)
    assert f"{_NUM_CELLS} of {_NUM_CELLS} cells filled" in followed
    mlflow = cluster.storage / "mlflow" / "mlflow.db"
    expect_each_epoch_trained_once(cluster.storage, mlflow, _NUM_CELLS, _NUM_EPOCHS)
    unbroken = cluster("run", "lossy.py", "--storage=local", "--reports=unbroken")
    assert f"{_NUM_CELLS} trained now" in unbroken
    for name in ("ablation.csv", "ablation-pairs.csv", "ablation.md", "ablation.tex"):
        here, there = (
            cluster.hosts.root("laptop") / folder / "lossy" / name
            for folder in ("unbroken", "reports")
        )
        assert there.read_bytes() == here.read_bytes(), name
    cluster("cluster", "down", "machines.txt")
    assert not ray_processes(cluster.hosts)


def ray_processes(hosts: Hosts) -> list[str]:
    """Return the command lines of Ray's and MLflow's processes on the hosts."""
    names = ("raylet", "gcs_server", "mlflow")
    return [line for line in hosts.processes() if any(name in line for name in names)]
