"""`capsweep cluster check cluster.yaml` of an account on AWS, which moto plays, before `ray up`."""

import os
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from sweeps.records.errors import BadInput
from sweeps.remote.aws import check as aws
from tests.cluster.emulated_ec2 import EmulatedAccount, emulated_account, why_no_ec2
from tests.pages import ROOT
from tests.waiting import PATIENCE_SECONDS

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(why_no_ec2()), reason=why_no_ec2()),
]


class Account:
    """An account that has what the page asks for.

    Attributes:
        variables: Lead `capsweep` there.
        ids: What the file has to say -> the id.
    """

    def __init__(self, bare: EmulatedAccount) -> None:
        self.variables = bare.variables
        session = boto3.Session("laptop", "none", region_name="us-west-2")
        self.ec2, self.iam, efs = (
            session.client(name, endpoint_url=bare.url) for name in ("ec2", "iam", "efs")
        )
        network = self.ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
        self.group = self.ec2.create_security_group(
            GroupName="capsweep", Description="-", VpcId=network
        )["GroupId"]
        self.allow({"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": self.group}]})
        self.allow(port_22("198.51.100.7/32"))
        subnets = [subnet["SubnetId"] for subnet in self.ec2.describe_subnets()["Subnets"][:2]]
        self.efs = efs
        disk = efs.create_file_system(Encrypted=True)["FileSystemId"]
        point = efs.create_access_point(ClientToken="-", FileSystemId=disk)["AccessPointId"]
        for subnet in subnets:
            efs.create_mount_target(FileSystemId=disk, SubnetId=subnet)
        self.iam.create_instance_profile(InstanceProfileName="capsweep-head")
        self.iam.create_service_linked_role(AWSServiceName="spot.amazonaws.com")
        self.ids = {
            "ami-0123456789abcdef0": self.ec2.describe_images()["Images"][0]["ImageId"],
            "sg-0123456789abcdef0": self.group,
            "subnet-0123456789abcdef0, subnet-0123456789abcdef1": ", ".join(subnets),
            "fs-0123456789abcdef0": disk,
            "fsap-0123456789abcdef0": point,
        }

    def allow(self, rule: Mapping[str, Any]) -> None:
        """Add a rule to the security group."""
        self.ec2.authorize_security_group_ingress(GroupId=self.group, IpPermissions=[rule])

    def forbid(self, rule: Mapping[str, Any]) -> None:
        """Remove a rule from the security group."""
        self.ec2.revoke_security_group_ingress(GroupId=self.group, IpPermissions=[rule])

    def file(self, folder: Path, **changed: str) -> Path:
        """Return the shipped file with the account's ids, some changed."""
        text = (ROOT / "cluster.yaml").read_text()
        for shipped, there in self.ids.items():
            text = text.replace(shipped, there)
        for old, new in changed.items():
            text = text.replace(old, new)
        path = folder / "cluster.yaml"
        path.write_text(text)
        return path


def port_22(addresses: str) -> dict[str, Any]:
    """Return a rule that admits addresses at port 22."""
    ranges = [{"CidrIp": addresses}]
    return {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": ranges}


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with emulated_account(tmp_path_factory.mktemp("moto")) as bare:
        yield Account(bare)


def checked(account: Account, path: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """Return the result of checking a file."""
    return subprocess.run(
        [str(Path(sys.executable).with_name("capsweep")), "cluster", "check", str(path)],
        env={**os.environ, **account.variables, **more},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def found_in(account: Account, path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what the check finds, without asking for a head."""
    from sweeps.remote.cluster_file import aws_cluster

    for name, value in account.variables.items():
        monkeypatch.setenv(name, value)
    config = aws_cluster(path)
    assert config is not None
    return aws.check_account(config)


def test_an_account_that_has_all_is_said_to_be_ready(account: Account, tmp_path: Path) -> None:
    ended = checked(account, account.file(tmp_path))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    line = "ok: credentials, image, machines reach each other, nothing is open to all, port 22"
    assert line in ended.stdout
    assert "The cluster has no head yet. Start it with: ray up" in ended.stdout
    assert "WRONG" not in ended.stdout


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("ami-", "ami-9", "image: "),
        ("sg-", "sg-9", "security group: "),
        ("[subnet-", "[subnet-9", "subnets: "),
        ("fs-", "fs-9", "shared disk: "),
        ("fsap-", "fsap-9", "shared disk: "),
        ("Name: capsweep-head", "Name: other", "head's instance profile: "),
    ],
    ids=["image", "security group", "subnet", "disk", "access point", "profile"],
)
def test_what_the_account_lacks_is_named(
    old: str,
    new: str,
    sentence: str,
    account: Account,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked = found_in(account, account.file(tmp_path, **{old: new}), monkeypatch)
    assert any(wrong.startswith(sentence) for wrong in checked.wrong), checked


def test_a_group_that_is_open_to_all_is_wrong(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.allow(port_22("0.0.0.0/0"))
    checked = found_in(account, account.file(tmp_path), monkeypatch)
    account.forbid(port_22("0.0.0.0/0"))
    (sentence,) = checked.wrong
    assert "lets the whole world in (port 22): allow port 22 from your address alone" in sentence


def test_a_disk_that_is_not_encrypted_or_another_ones_access_point_is_wrong(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = account.efs.create_file_system()["FileSystemId"]
    disk = account.ids["fs-0123456789abcdef0"]
    checked = found_in(account, account.file(tmp_path, **{disk: other}), monkeypatch)
    for sentence in (
        f"shared disk: {other} is not encrypted: make one that is, as AWS encrypts no disk later.",
        f"access point: {account.ids['fsap-0123456789abcdef0']} does not belong to {other}.",
    ):
        assert sentence in checked.wrong


@pytest.mark.parametrize(("vcpus", "is_enough"), [(16.0, True), (15.0, False)])
def test_a_quota_is_compared_with_the_machines_of_the_file(
    vcpus: float,
    is_enough: bool,
    account: Account,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quota = SimpleNamespace(get_service_quota=lambda **_: {"Quota": {"Value": vcpus}})
    replace_client(monkeypatch, "service-quotas", quota)
    checked = found_in(account, account.file(tmp_path), monkeypatch)
    few = "quota: 4 spot machines g5.xlarge need 16 vCPUs, and the account has 15: ask AWS for "
    assert [wrong.startswith(few) for wrong in checked.wrong] == [True] * (not is_enough)
    assert ("quota of spot machines" in checked.right) is is_enough


def test_what_may_not_be_looked_at_is_not_checked(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(**_: object) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "DescribeFileSystems")

    replace_client(monkeypatch, "efs", SimpleNamespace(describe_file_systems=forbidden))
    checked = found_in(account, account.file(tmp_path), monkeypatch)
    assert "shared disk (no right to look: DescribeFileSystems)" in checked.not_checked
    assert not checked.wrong


def test_credentials_that_have_expired_are_one_sentence(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expired() -> None:
        raise ClientError({"Error": {"Code": "ExpiredToken"}}, "GetCallerIdentity")

    replace_client(monkeypatch, "sts", SimpleNamespace(get_caller_identity=expired))
    with pytest.raises(BadInput, match="AWS refuses the credentials \\(ExpiredToken\\): log in"):
        found_in(account, account.file(tmp_path), monkeypatch)


def replace_client(monkeypatch: pytest.MonkeyPatch, service: str, client: object) -> None:
    """Have boto3 give another client of one service."""
    original = boto3.Session.client

    def replaced(session: boto3.Session, name: str, **more: Any) -> object:
        return client if name == service else original(session, name, **more)

    monkeypatch.setattr(boto3.Session, "client", replaced)


def test_an_account_without_credentials_is_one_sentence(tmp_path: Path) -> None:
    nowhere = {"AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none"}
    program = str(Path(sys.executable).with_name("capsweep"))
    path = tmp_path / "cluster.yaml"
    path.write_text((ROOT / "cluster.yaml").read_text().replace("sg-0123456789abcdef0", "sg-1"))
    ended = subprocess.run(
        [program, "cluster", "check", str(path)],
        env={**os.environ, **nowhere, "AWS_EC2_METADATA_DISABLED": "true"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 2
    assert re.fullmatch(r"capsweep: AWS is not reached: Unable to locate cred.*\n", ended.stderr)
