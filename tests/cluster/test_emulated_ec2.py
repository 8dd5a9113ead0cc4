"""`ray up` of the shipped cluster.yaml on an emulated EC2, and sweeps submitted to it."""

import shutil
import subprocess
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.emulated_ec2 import EmulatedEc2, why_no_ec2
from tests.cluster.hosts import Hosts, why_no_hosts
from tests.waiting import wait_until

_WHY_NOT = why_no_hosts("rsync") or why_no_ec2()
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.long,
    pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT),
    pytest.mark.timeout(1800),
]
_ROOT = Path(__file__).parents[2]
_SENT = ("capsmodel", "search_spaces", "sweeps", "deploy", "pyproject.toml", "setup.py")
_SENT += ("requirements.txt", "README.md", "LICENSE")  # what cluster.yaml mounts
_SUBMIT = (
    "capsweep submit quickstart --on cluster.yaml --gpus-per-trial 0 --cpus-per-trial 4 "
    "--max-concurrent 2 --price 1.01 --epochs 1"
)
_ASKED = {
    "InstanceInitiatedShutdownBehavior": "terminate",
    "BlockDeviceMapping.1.Ebs.Encrypted": "true",
    "BlockDeviceMapping.1.Ebs.DeleteOnTermination": "true",
    "BlockDeviceMapping.2.Ebs.Encrypted": None,  # one disk
    "MetadataOptions.HttpTokens": "required",
    "InstanceType": "",
    "InstanceMarketOptions.MarketType": None,
    "IamInstanceProfile.Name": None,
    "IamInstanceProfile.Arn": None,
    "ImageId": "",
}


class Laptop:
    """The machine of a user who has the repository, and has followed the page's "Once"."""

    def __init__(self, hosts: Hosts, ec2: EmulatedEc2, storage: Path) -> None:
        self._hosts = hosts
        self._variables = ec2.environment | {"RAY_AUTH_MODE": "token"}
        home = hosts.root("laptop")
        self.folder = home / "capsweep"
        self.folder.mkdir()
        for name in _SENT:
            copy = shutil.copytree if (_ROOT / name).is_dir() else shutil.copy
            copy(_ROOT / name, self.folder / name)
        (self.folder / "cluster.yaml").write_text(edited_cluster(ec2, storage))
        # without a terminal ssh cannot ask whether a new head is trusted
        (home / ".ssh/config").write_text("StrictHostKeyChecking accept-new\n")

    def __call__(self, line: str) -> str:
        """Give a command in the repository's folder and return what it prints."""
        done = self.ended(line)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ended(self, line: str) -> "subprocess.CompletedProcess[str]":
        """Give a command in the repository's folder and return how it ended."""
        variables = [f"{name}={value}" for name, value in self._variables.items()]
        command = ("env", *variables, "bash", "-c", line)
        return self._hosts.run("laptop", *command, folder="/root/capsweep")


def edited_cluster(ec2: EmulatedEc2, storage: Path) -> str:
    """Return the shipped file with the account's ids, and workers that leave sooner."""
    text = (_ROOT / "cluster.yaml").read_text()
    for shipped, edited in {
        "ami-0123456789abcdef0": ec2.account["image"],
        "sg-0123456789abcdef0": ec2.account["security_group"],
        "subnet-0123456789abcdef0, subnet-0123456789abcdef1": ", ".join(ec2.account["subnets"]),
        "SHARE=fs-0123456789abcdef0": f"SHARE={storage}",
        "&max_on_demand_workers 0": "&max_on_demand_workers 1",
        "idle_timeout_minutes: 10": "idle_timeout_minutes: 0.5",
        "end_without_head.sh $RAY_HEAD_IP": "end_without_head.sh $RAY_HEAD_IP 6379 15",
    }.items():
        assert text.count(shipped) == 1
        text = text.replace(shipped, edited)
    return text


@pytest.fixture
def storage() -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="capsweep-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder)


def test_three_commands_lead_from_ray_up_to_the_report_and_workers_come_and_go(
    storage: Path,
) -> None:
    with Hosts(["laptop", "aws"]) as hosts, EmulatedEc2(hosts) as ec2:
        laptop = Laptop(hosts, ec2, storage)
        laptop("umask 077; ray get-auth-token --generate")

        started = laptop("ray up cluster.yaml --disable-usage-stats -y")
        assert "Next: capsweep submit quickstart --on cluster.yaml" in started
        assert ec2.kinds == ["head"]
        assert "Nothing is wrong." in laptop("capsweep cluster check cluster.yaml")

        ec2.no_spot.touch()
        with ThreadPoolExecutor() as pool:
            following = pool.submit(laptop, f"{_SUBMIT} --seeds 0 --yes --follow")
            wait_until(lambda: "on_demand" in ec2.kinds or following.done())
            ec2.no_spot.unlink()
            submitted = following.result()
        assert (
            "capsweep submit quickstart --on /root/capsweep/cluster.yaml --seeds=0 --epochs=1 "
            "--cpus-per-trial=4 --gpus-per-trial=0.0 --max-concurrent=2 --follow\n"
        ) in submitted
        assert "5 of 5 cells filled" in submitted
        expect_what_the_file_says(hosts, ec2)

        # where each looks for its head, and ends itself without one
        _, *workers = ec2.machines.values()
        files = [hosts.root(worker.host) / "capsweep-head" for worker in workers]
        addresses = [file.read_text().strip() for file in files if file.exists()]
        assert len(addresses) >= 2
        assert {*addresses} == {hosts.address("i0")}

        assert "Ablation quickstart" in laptop("capsweep report quickstart")
        assert (laptop.folder / "reports/quickstart/ablation.md").exists()
        wait_until(lambda: ec2.kinds == ["head"])

        laptop(f"{_SUBMIT} --add-seeds 1 --yes")
        wait_until(lambda: ec2.kinds != ["head"])
        hosts.run("i0", "ray", "stop", "--force")  # before it has set up the new workers
        ec2.time_is_over.touch()
        wait_until(lambda: ec2.kinds == ["head"])

        laptop("ray down cluster.yaml -y")
        wait_until(lambda: not ec2.kinds)


def expect_what_the_file_says(hosts: Hosts, ec2: EmulatedEc2) -> None:
    """Check the number of machines, and what each was asked for."""
    head, *workers = ec2.machines.values()
    # two trials at once need two; in one of a dozen runs Ray has started a third
    (log,) = (hosts.folder / "i0/tmp/ray").glob("session_2*/logs/monitor.log")
    assert len(workers) in (2, 3), log.read_text()
    assert [machine.kind for machine in workers].count("on_demand") == 1, log.read_text()
    for machine in (head, *workers):
        asked = {name: machine.request.get(name) for name in _ASKED}
        assert asked == _ASKED | {
            "InstanceType": "m6i.xlarge" if machine is head else "g5.xlarge",
            "InstanceMarketOptions.MarketType": "spot" if machine.kind == "spot" else None,
            "IamInstanceProfile.Name": "capsweep-head" if machine is head else None,
            "ImageId": ec2.account["image"],
        }
        groups = {asked for name, asked in machine.request.items() if "SecurityGroupId" in name}
        assert groups == {ec2.account["security_group"]}  # and none of Ray's, open to the world
        assert machine.tags["ray-cluster-name"] == "capsweep"  # the page's policy rests on this tag
        assert machine.tags["ray-node-type"] == ("head" if machine is head else "worker")
