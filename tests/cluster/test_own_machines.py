"""Own machines as a cluster, from a laptop that has capsweep and ssh: hosts with a real sshd."""

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest

from sweeps.execution.engine.cgroup import num_cores
from sweeps.execution.sweep_log import stored_entries
from sweeps.records.plain_text import counted
from sweeps.records.sweep_log import TrialNoted
from tests.cluster.held_sweep import (
    HELD_ARMS,
    NUM_CELLS,
    NUM_EPOCHS,
    hold,
    num_begun,
    num_filled,
    release,
    write_held_sweep,
)
from tests.cluster.hosts import Hosts, why_no_hosts
from tests.cluster.refusals import Wrong, complaint
from tests.end_to_end.storage_view import expect_each_epoch_trained_once
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.long,
    pytest.mark.skipif(bool(why_no_hosts()), reason=why_no_hosts()),
    pytest.mark.timeout(1800),
]
_WORKERS = ("w1", "w2")
_MACHINES = {
    "machines": ("head  # runs no trials", "w1 cpus=1", "w2 cpus=1 gpus=0"),
    "trains": ("head = trains", "head", "w1 cpus=1"),
    "stranger": ("nobody@head",),
    "newkey": ("newkey",),
    "port": ("ray_port = 22", "dashboard_port = 18999", "head"),
    "old": ("head", "w1", "old"),
}
_SUBMIT = ("submit", "lossy.py", "--on=machines.txt", "--yes")
_QUICKSTART = "capsweep submit quickstart --yes"
_DASHBOARD = "http://127.0.0.1:18265"
_ADDRESS = f"--address {_DASHBOARD} --storage /s --tracking-uri http://127.0.0.1:5"
WRONG = (
    Wrong(
        f"RAY_AUTH_TOKEN={'0' * 64} {_QUICKSTART} {_ADDRESS}",
        f"There is no token for the cluster at {_DASHBOARD}, or it is refused",
    ),
    Wrong(f"{_QUICKSTART} --on machines.txt --gpus-per-trial 3", "GPU"),
    Wrong(
        f"{_QUICKSTART} --on stranger.txt", "nobody@head cannot be reached by ssh: nobody@head: Per"
    ),
    Wrong(f"{_QUICKSTART} --on newkey.txt", "Host key verification failed"),
    Wrong("capsweep cluster up port.txt", "Ray does not start on head"),
)
_CUT_SECONDS = 30.0
_ATTEMPTS = 3


class Cluster:
    """A laptop, and a head with two workers that were started from it."""

    def __init__(self, hosts: Hosts, storage: Path) -> None:
        self.hosts = hosts
        self.storage = storage
        home = hosts.root("laptop")
        write_held_sweep(home / "lossy.py")
        for name, lines in _MACHINES.items():
            (home / f"{name}.txt").write_text("\n".join([f"storage = {storage}", *lines]))
        (home / ".ssh/config").write_text("Host newkey\n  HostName head\n  HostKeyAlias newkey\n")
        give_other_ray(hosts.root("old"))
        self.said_by_up = self.up()

    def __call__(self, *arguments: str, folder: str = "/root") -> str:
        """Run capsweep on the laptop and return what it prints."""
        done = self.ended(*arguments, folder=folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def up(self, file: str = "machines.txt", code: int = 0) -> str:
        """Start what does not run until that ends with a code, and return what is printed.

        Ray gives up on a machine after 30 seconds, which is little on a busy one: then again.
        """
        printed = ""
        for _ in range(_ATTEMPTS):
            ended = self.ended("cluster", "up", file)
            printed += ended.stdout
            if ended.returncode == code:
                return printed
            assert "Ray does not start on " in ended.stderr, ended.stderr
        raise AssertionError(printed)

    def ended(self, *arguments: str, folder: str = "/root") -> "subprocess.CompletedProcess[str]":
        """Run capsweep on the laptop and return how it ended."""
        return self.hosts.run("laptop", "capsweep", *arguments, folder=folder)

    def restarts(self) -> list[str]:
        """Return why trials were restarted."""
        entries = stored_entries(self.storage / "journals", "lossy")
        noted = [entry for entry in entries if isinstance(entry, TrialNoted)]
        return [entry.detail for entry in noted if entry.event == "restarted"]


def give_other_ray(home: Path) -> None:
    """Have the Python of a host find another release of Ray than is installed."""
    metadata = home / "packages" / "ray-2.49.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: ray\nVersion: 2.49.0\n")
    (home / ".profile").write_text("export PYTHONPATH=/root/packages\n")


def cores_for_trials() -> str:
    """Return what `up` says of the cores of a head that trains, and of a worker's only one."""
    on_head = counted(num_cores() - 1, "core")
    return f"For trials: {num_cores()} cores and 0 GPUs, {on_head} of them on head."


@pytest.fixture(scope="module")
def cluster() -> Generator[Cluster]:
    storage = Path(tempfile.mkdtemp(prefix="capsweep-", dir="/var/tmp"))
    try:
        with Hosts(["laptop", "head", *_WORKERS, "old"]) as hosts:
            yield Cluster(hosts, storage)
    finally:
        shutil.rmtree(storage)


@pytest.fixture
def tunnel(cluster: Cluster) -> Generator[None]:
    """The way to Ray's dashboard and to MLflow that a user has opened."""
    command = ["ssh", "-N", "-L", "18265:127.0.0.1:8265", "-L", "5000:127.0.0.1:5000", "head"]
    process = subprocess.Popen(cluster.hosts.command("laptop", command), stdin=subprocess.DEVNULL)
    connect = ("bash", "-c", "</dev/tcp/127.0.0.1/18265")
    wait_until(lambda: cluster.hosts.run("laptop", *connect).returncode == 0)
    yield
    process.terminate()
    process.wait()


def test_machines_that_up_has_started_are_a_cluster_with_which_nothing_is_wrong(
    cluster: Cluster,
) -> None:
    assert "head  10.77.0.11       Ray and MLflow started" in cluster.said_by_up
    assert "For trials: 2 cores and 0 GPUs." in cluster.said_by_up
    assert "Nothing is wrong." in cluster("cluster", "check", "machines.txt")


def test_a_check_names_the_machine_that_has_another_release_of_ray(cluster: Cluster) -> None:
    checked = cluster.ended("cluster", "check", "old.txt")
    assert checked.returncode == 1
    of_old = [line for line in checked.stdout.splitlines() if line.startswith("old ")]
    wrong = f"WRONG: it has Ray 2.49.0 and the head {version('ray')}: install the same on both."
    assert sum(wrong in line for line in of_old) == 1, checked.stdout


@pytest.mark.usefixtures("tunnel")
def test_each_wrong_input_is_one_sentence_and_leaves_nothing_running(cluster: Cluster) -> None:
    before, run = len(cluster.hosts.processes()), partial(cluster.hosts.run, "laptop")
    with ThreadPoolExecutor() as pool:
        complaints = [*filter(None, pool.map(partial(complaint, run), WRONG))]
    assert not complaints, "\n".join(complaints)
    assert len(cluster.hosts.processes()) <= before
    assert not list(cluster.storage.glob("cells/*"))


def test_a_cluster_that_loses_a_worker_a_connection_and_its_head_gives_the_same_tables(
    cluster: Cluster,
) -> None:
    hosts, storage, home = cluster.hosts, cluster.storage, cluster.hosts.root("laptop")
    hold(hosts, _WORKERS)
    submitted = cluster(*_SUBMIT)
    assert f"lossy on head: {NUM_CELLS} cells; 2 trials at once, no GPU each." in submitted
    assert "as job lossy-1; this machine may be switched off." in submitted
    wait_until(lambda: num_begun(storage) == 3)  # one of them is filled, two are held
    assert "A launch runs now." in cluster("status", "lossy")
    hosts.kill("w2")
    wait_until(cluster.restarts)
    assert cluster.restarts() == ["its machine went away"], "so that it does not count as a kill"
    wait_until(lambda: "1 restarted" in cluster("logs", "lossy", "-n", "2"), pause_seconds=2)
    hosts.cut("w1")
    (home / "unbroken").mkdir()
    with ThreadPoolExecutor() as pool:
        unbroken = pool.submit(cluster, "run", "/root/lossy.py", folder="/root/unbroken")
        time.sleep(_CUT_SECONDS)  # which is what is tested: none of it is waited for
        hosts.heal("w1")
        assert f"{NUM_CELLS} trained now" in unbroken.result()
    hosts.boot("w2")
    up = cluster.up()
    assert "head  10.77.0.11       runs" in up
    assert "w2    10.77.0.13       Ray started" in up
    release(hosts, _WORKERS, HELD_ARMS[1])
    wait_until(lambda: num_filled(storage) > 1)

    for name in ("head", "w2"):
        hosts.kill(name)
    lost = cluster.ended("status", "lossy")
    assert lost.returncode == 2
    assert "head cannot be reached by ssh" in lost.stderr
    hosts.boot("head")
    checked = cluster.ended("cluster", "check", "machines.txt")
    assert checked.returncode == 1
    start = "capsweep cluster up /root/machines.txt"
    assert f"WRONG: Ray does not run on head: start it with {start}." in checked.stdout
    assert cores_for_trials() in cluster.up("trains.txt")
    assert num_filled(storage) < NUM_CELLS - 1

    with ThreadPoolExecutor() as pool:
        again = ("submit", "lossy.py", "--on=trains.txt", "--yes", "--follow", "--price=3")
        following = pool.submit(cluster, *again)
        # w1, the only worker now, fills no cell of the arm with a brake: the head fills one
        wait_until(lambda: num_filled(storage) >= NUM_CELLS - 1)
        release(hosts, _WORKERS, HELD_ARMS[0])
        followed = following.result()
    hosts.boot("w2")
    assert re.search(r"Estimate: about .* on 2 machines, .* machine hours, which cost ", followed)
    assert f"{NUM_CELLS} of {NUM_CELLS} cells filled" in followed
    database = storage / "mlflow" / "mlflow.db"
    expect_each_epoch_trained_once(storage, database, NUM_CELLS, NUM_EPOCHS)
    for name in ("ablation.csv", "ablation-pairs.csv", "ablation.md", "ablation.tex"):
        there, here = (home / folder / "reports/lossy" / name for folder in ("", "unbroken"))
        assert there.read_bytes() == here.read_bytes(), name


@pytest.mark.usefixtures("tunnel")
def test_the_address_of_the_dashboard_is_enough_to_submit_a_sweep_and_to_ask_for_it(
    cluster: Cluster,
) -> None:
    token = (cluster.hosts.root("head") / ".ray" / "auth_token").read_text()
    storage = f"--storage={cluster.hosts.folder}/by-address"

    def run(*arguments: str) -> str:
        ended = cluster.hosts.run(
            "laptop", "env", f"RAY_AUTH_TOKEN={token}", "capsweep", *arguments
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    where = (f"--address={_DASHBOARD}", storage, "--tracking-uri=http://127.0.0.1:5000")
    options = ("--name=byurl", "--epochs=1", "--seeds=0", "--yes", "--follow")
    assert "5 of 5 cells filled" in run("submit", "quickstart", *where, *options)
    assert (cluster.hosts.root("laptop") / "reports" / "byurl" / "ablation.csv").exists()
    assert "5 finished" in run("status", "byurl")
    assert "5 trained now" in run("logs", "byurl")


def test_a_cluster_without_workers_takes_no_sweep_and_down_ends_all_that_was_started(
    cluster: Cluster,
) -> None:
    for name in _WORKERS:
        cluster.hosts.kill(name)
    cluster.ended("cluster", "down", "trains.txt")
    assert "For trials: 0 cores and 0 GPUs." in cluster.up(code=1)
    alone = Wrong(f"{_QUICKSTART} --on machines.txt", "The cluster has no machine for trials now")
    assert not complaint(partial(cluster.hosts.run, "laptop"), alone)
    for name in _WORKERS:
        cluster.hosts.boot(name)
    cluster("cluster", "down", "machines.txt")
    names = ("raylet", "gcs_server", "mlflow")
    assert not [line for line in cluster.hosts.processes() if any(name in line for name in names)]
