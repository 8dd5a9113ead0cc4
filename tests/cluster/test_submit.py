"""Submit and cluster on hosts with a real sshd: by an address alone, and by wrong inputs."""

import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cluster.hosts import Hosts, why_no_hosts
from tests.cluster.refusals import Wrong, complaint
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.long,
    pytest.mark.skipif(bool(why_no_hosts()), reason=why_no_hosts()),
    pytest.mark.timeout(1800),
]
_AT_ONCE = 3


_BIN = Path(sys.executable).parent
SUBMIT = "capsweep submit quickstart --yes"
_OTHER_RAY = f"Ray 2.49.0 and the head {version('ray')}: install the same on "
WRONG = (
    Wrong(f"{SUBMIT} --address http://127.0.0.1:9 --storage /s --tracking-uri http://h:5", "token"),
    Wrong(
        f"RAY_AUTH_TOKEN={'0' * 64} {SUBMIT} --address http://127.0.0.1:9 --storage /s "
        f"--tracking-uri http://127.0.0.1:5",
        "Ray's dashboard at http://127.0.0.1:9 does not answer",
    ),
    Wrong(
        f"RAY_AUTH_TOKEN={'0' * 64} {SUBMIT} --address http://127.0.0.1:18265 --storage /s "
        f"--tracking-uri http://127.0.0.1:5",
        "There is no token for the cluster at http://127.0.0.1:18265, or it is refused",
    ),
    Wrong("capsweep submit quikstart --yes --on m.txt", "Did you mean 'quickstart'?"),
    Wrong("capsweep submit empty.py --yes --on m.txt", "empty.py defines no sweep"),
    Wrong("capsweep submit data.py --yes --on m.txt", "There are no photos in /root/photos"),
    Wrong("capsweep submit quickstart --on m.txt", "Nobody can be asked here"),
    Wrong(f"{SUBMIT} --on m.txt --gpus-per-trial 3", "GPU"),
    Wrong(f"{SUBMIT} --on m.txt --set batch_sise=3", "Did you mean 'batch_size'?"),
    Wrong(f"{SUBMIT} --on m.txt --storage /mnt/store", "The storage folder there has"),
    Wrong(f"{SUBMIT} --on m.txt --storage /proc/store", "The storage folder there has"),
    Wrong(f"{SUBMIT} --on dead.txt", "10.77.0.99 cannot be reached by ssh"),
    Wrong(f"{SUBMIT} --on unknown.txt", "nowhere.invalid cannot be reached by ssh"),
    Wrong(f"{SUBMIT} --on stranger.txt", "nobody@head cannot be reached by ssh: nobody@head: Perm"),
    Wrong(f"{SUBMIT} --on newkey.txt", "Host key verification failed"),
    Wrong(f"PATH=/nowhere {_BIN}/{SUBMIT} --on m.txt", "install OpenSSH's client"),
    Wrong("capsweep cluster up dead.txt", "10.77.0.99 cannot be reached by ssh"),
    Wrong("capsweep cluster up twice.txt", "head and 10.77.0.11 are one machine (10.77.0.11)"),
    Wrong("capsweep cluster up proc.txt", "The folder /proc/store cannot be made on head"),
    Wrong("capsweep cluster up port.txt", "Ray does not start on head"),
    Wrong("capsweep cluster up other.txt", "w2 has another token in ~/.ray/auth_token than the"),
    Wrong("capsweep cluster up old.txt", f"old has {_OTHER_RAY}all machines"),
    Wrong(f"{SUBMIT} --on old.txt", f"old has {_OTHER_RAY}all machines"),
)
_DATA = '''
"""A sweep over data that only the laptop has."""

from pathlib import Path
from typing import Literal

from capsmodel.config import TrainingConfig
from capsmodel.data import DataSet
from search_spaces import ListedArms
from search_spaces.sweep import Sweep


class Photos(DataSet):
    """Photographs."""

    kind: Literal["photos"] = "photos"
    image_shape = (1, 28, 28)
    num_classes = 2

    def load(self, device):
        if not Path("/root/photos").exists():
            raise ValueError("There are no photos in /root/photos: copy them there.")


SWEEP = Sweep(
    name="photos",
    description="Photographs.",
    base=TrainingConfig(data=Photos()),
    plan=ListedArms(baseline="all", arms={"all": {}}),
    seeds=(0,),
    parts=[Photos],
)
'''


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Generator[Hosts]:
    with Hosts(["laptop", "head", "w1", "w2", "old"]) as started:
        storage = started.folder / "shared"
        storage.mkdir()
        write_files(started.root("laptop"), storage)
        up = started.run("laptop", "capsweep", "cluster", "up", "m.txt")
        assert up.returncode == 0, up.stdout + up.stderr
        full = "mount -t tmpfs -o size=64k tmpfs /mnt && mkdir /mnt/store"
        assert started.run("head", "bash", "-c", full).returncode == 0
        token = started.root("w2") / ".ray" / "auth_token"
        token.parent.mkdir()
        token.write_text("1" * 64)
        give_other_ray(started.root("old"))
        yield started


def give_other_ray(home: Path) -> None:
    """Have the Python of a host find another release of Ray than is installed."""
    metadata = home / "packages" / "ray-2.49.0.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: ray\nVersion: 2.49.0\n")
    (home / ".profile").write_text("export PYTHONPATH=/root/packages\n")


def write_files(home: Path, storage: Path) -> None:
    """Write the files of clusters and sweeps that the commands name."""
    machines = {
        "m": ["head", "w1 cpus=1"],
        "dead": ["10.77.0.99"],
        "unknown": ["nowhere.invalid"],
        "stranger": ["nobody@head"],
        "newkey": ["newkey"],
        "twice": ["head", "10.77.0.11"],
        "proc": ["head"],
        "port": ["ray_port = 22", "dashboard_port = 18999", "head"],
        "other": ["head", "w2"],
        "old": ["head", "w1", "old"],
    }
    for name, lines in machines.items():
        folder = "/proc/store" if name == "proc" else storage
        (home / f"{name}.txt").write_text("\n".join([f"storage = {folder}", *lines]))
    (home / ".ssh" / "config").write_text("Host newkey\n  HostName head\n  HostKeyAlias newkey\n")
    (home / "data.py").write_text(_DATA)
    (home / "empty.py").write_text("SWEEP = 1\n")


@pytest.fixture(scope="module")
def tunnel(hosts: Hosts) -> Generator[None]:
    """The way to Ray's dashboard and to MLflow that a user has opened."""
    words = ["ssh", "-N", "-L", "18265:127.0.0.1:8265", "-L", "5000:127.0.0.1:5000", "head"]
    process = subprocess.Popen(hosts.command("laptop", words), stdin=subprocess.DEVNULL)
    connect = ("bash", "-c", "</dev/tcp/127.0.0.1/18265")
    wait_until(lambda: hosts.run("laptop", *connect).returncode == 0)
    yield
    process.terminate()
    process.wait()


@pytest.mark.usefixtures("tunnel")
def test_the_address_of_the_dashboard_is_enough_to_submit_a_sweep_and_to_ask_for_it(
    hosts: Hosts,
) -> None:
    token = (hosts.root("head") / ".ray" / "auth_token").read_text()
    storage = f"--storage={hosts.folder}/by-address"

    def run(*words: str) -> str:
        ended = hosts.run("laptop", "env", f"RAY_AUTH_TOKEN={token}", "capsweep", *words)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout

    where = ("--address=http://127.0.0.1:18265", storage, "--tracking-uri=http://127.0.0.1:5000")
    options = ("--name=byurl", "--epochs=1", "--seeds=0", "--yes", "--follow")
    assert "6 of 6 cells filled" in run("submit", "quickstart", *where, *options)
    assert (hosts.root("laptop") / "reports" / "byurl" / "ablation.csv").exists()
    assert "6 finished" in run("status", "byurl")
    assert "6 trained now" in run("logs", "byurl")


def test_a_check_names_the_machine_that_has_another_release_of_ray(hosts: Hosts) -> None:
    checked = hosts.run("laptop", "capsweep", "cluster", "check", "old.txt")
    assert checked.returncode == 1
    of_old = [line for line in checked.stdout.splitlines() if line.startswith("old ")]
    assert sum(f"WRONG: it has {_OTHER_RAY}both." in line for line in of_old) == 1, checked.stdout


@pytest.mark.usefixtures("tunnel")
def test_each_wrong_input_is_one_sentence_and_leaves_nothing_running(hosts: Hosts) -> None:
    before, run = len(hosts.processes()), partial(hosts.run, "laptop")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        wrong = [one for one in pool.map(lambda one: complaint(run, one), WRONG) if one]
    assert not wrong, "\n".join(wrong)
    assert len(hosts.processes()) <= before
    hosts.kill("w1")
    alone = Wrong(f"{SUBMIT} --on m.txt", "The cluster has no machine for trials now")
    wait_until(lambda: not complaint(run, alone))
    assert not list((hosts.folder / "shared").glob("cells/*"))
