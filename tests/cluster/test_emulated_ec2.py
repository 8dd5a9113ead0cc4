"""From a bare account to tables and back: init, `ray up`, submit, destroy on an emulated EC2."""

import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from sweeps.remote.aws.policies import SPOT_ROLE, head_policy, user_policy
from sweeps.remote.aws.settings import ClusterSettings
from tests.cluster.emulated_ec2 import EmulatedEc2, why_no_ec2
from tests.cluster.held_sweep import num_filled
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
    """The machine of a user who has the repository and credentials."""

    def __init__(self, hosts: Hosts, ec2: EmulatedEc2) -> None:
        self._hosts = hosts
        self._variables = ec2.environment | {"AWS_DEFAULT_REGION": "us-west-2"}
        home = hosts.root("laptop")
        self.folder = home / "capsweep"
        self.folder.mkdir()
        for name in _SENT:
            copy = shutil.copytree if (_ROOT / name).is_dir() else shutil.copy
            copy(_ROOT / name, self.folder / name)
        (self.folder / "cluster.yaml").write_text(edited_cluster())
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


def edited_cluster() -> str:
    """Return the shipped file with on-demand workers too, and workers that leave sooner."""
    text = (_ROOT / "cluster.yaml").read_text()
    for shipped, edited in {
        "&max_on_demand_workers 0": "&max_on_demand_workers 1",
        "idle_timeout_minutes: 10": "idle_timeout_minutes: 0.5",
        "end_without_head.sh $RAY_HEAD_IP": "end_without_head.sh $RAY_HEAD_IP 6379 15",
    }.items():
        assert text.count(shipped) == 1
        text = text.replace(shipped, edited)
    return text


def test_a_bare_account_gives_tables_survives_the_loss_of_its_head_and_is_bare_again() -> None:
    with Hosts(["laptop", "aws"]) as hosts, EmulatedEc2(hosts, bare=True, unsteady=True) as ec2:
        before = ec2.resources()
        laptop = Laptop(hosts, ec2)
        laptop(f"capsweep cluster init aws --yes --ssh-from {hosts.address('laptop')}/32")
        started = laptop("ray up cluster.yaml --disable-usage-stats -y")
        assert "Next: capsweep submit quickstart --on cluster.yaml" in started
        assert ec2.kinds == ["head"]
        assert "Nothing is wrong." in laptop("capsweep cluster check cluster.yaml")
        expect_tables(hosts, ec2, laptop)

        workers_end_and_the_sweep_goes_on(hosts, ec2, laptop)

        ended = laptop("capsweep cluster destroy cluster.yaml --yes --records-too")
        assert "deleted: EFS disk capsweep" in ended
        wait_until(lambda: not ec2.kinds)
        after = ec2.resources()
        assert after["roles"].pop(SPOT_ROLE)
        assert after == before
        expect_rights_that_are_documented(ec2)


def expect_tables(hosts: Hosts, ec2: EmulatedEc2, laptop: Laptop) -> None:
    """Submit a sweep while no spot machine can be had at first, and see its tables."""
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
    assert "The head costs about $0.21 an hour" in laptop("capsweep status quickstart")
    wait_until(lambda: ec2.kinds == ["head"])


def workers_end_and_the_sweep_goes_on(hosts: Hosts, ec2: EmulatedEc2, laptop: Laptop) -> None:
    """Lose the head in the middle of a sweep, start another, and see the tables of a whole run."""
    disk = ClusterSettings(laptop.folder / "cluster.yaml").values["disk"]
    storage = ec2.disks / disk / "capsweep" / "store"
    laptop(f"{_SUBMIT} --add-seeds 1 --yes")
    wait_until(lambda: num_filled(storage) > 5)
    head = next(name for name, machine in ec2.machines.items() if machine.is_there)
    end = f"boto3.client('ec2').terminate_instances(InstanceIds=['{head}'])"
    laptop(f'{sys.executable} -c "import boto3; {end}"')
    ec2.time_is_over.touch()  # for those that it has not set up
    wait_until(lambda: not ec2.kinds)
    ec2.time_is_over.unlink()
    assert num_filled(storage) < 10

    lost = laptop.ended(f"{_SUBMIT} --add-seeds 1 --yes --follow")
    assert lost.returncode == 2
    assert "start the head, ray up /root/capsweep/cluster.yaml, and give the same" in lost.stderr
    laptop("ray up cluster.yaml --disable-usage-stats -y")
    assert "10 of 10 cells filled" in laptop(f"{_SUBMIT} --add-seeds 1 --yes --follow")
    run = "capsweep run quickstart --epochs 1 --quiet --engine inline --storage unbroken"
    laptop(f"{run} --reports unbroken --seeds 0 && {run} --reports unbroken --add-seeds 1")
    for name in ("ablation.csv", "ablation-pairs.csv", "ablation.tex"):
        there, here = (laptop.folder / f / "quickstart" / name for f in ("reports", "unbroken"))
        assert there.read_bytes() == here.read_bytes(), name


_NOT_CALLED = {
    "ec2:CreateDefaultVpc": "only where the region has no default VPC",
    "ec2:CreateTags": "AWS asks for it where something is tagged as it is made",
    "elasticfilesystem:TagResource": "the same",
    "iam:TagRole": "the same",
    "iam:TagInstanceProfile": "the same",
    "iam:PassRole": "AWS asks for it where the head is started with its profile",
    "ec2:CreateNetworkInterface": "EFS asks for it where a mount target is made",
    "ec2:DeleteNetworkInterface": "EFS asks for it where one is deleted",
    "ec2:DeleteTags": "Ray takes a tag off a machine that it stops instead of ending it",
}
"""Rights that no recorded call has -> why the policies have them."""


def expect_rights_that_are_documented(ec2: EmulatedEc2) -> None:
    """Check that the policies cover the calls of laptop and head, and little else."""
    policies = {"laptop": user_policy, "head": head_policy}
    unused: set[str] = set()
    for key, policy in policies.items():
        statements = policy("capsweep", "us-west-2")["Statement"]
        allowed = {action for each in statements for action in each["Action"]}
        called = {call.action for call in ec2.calls() if call.key == key}
        assert called
        covered = {name: [a for a in allowed if fnmatchcase(name, a)] for name in called}
        assert all(covered.values()), covered
        unused |= allowed - {action for actions in covered.values() for action in actions}
    assert unused <= _NOT_CALLED.keys()
    assert len(_NOT_CALLED) <= 10


def expect_what_the_file_says(hosts: Hosts, ec2: EmulatedEc2) -> None:
    """Check the number of machines, and what each was asked for."""
    values = ClusterSettings(hosts.root("laptop") / "capsweep" / "cluster.yaml").values
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
            "ImageId": values["image"],
        }
        groups = {asked for name, asked in machine.request.items() if "SecurityGroupId" in name}
        assert groups == {values["security_group"]}  # and none of Ray's, open to the world
        assert machine.tags["ray-cluster-name"] == "capsweep"  # the page's policy rests on this tag
        assert machine.tags["ray-node-type"] == ("head" if machine is head else "worker")
