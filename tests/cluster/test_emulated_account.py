"""The emulated account itself, which the tests of `capsweep cluster` on AWS believe."""

import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.cluster.emulated_ec2 import (
    Call,
    EmulatedAccount,
    EmulatedEc2,
    emulated_account,
    why_no_ec2,
)
from tests.cluster.hosts import Hosts, why_no_hosts
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(why_no_ec2()), reason=why_no_ec2()),
]
_QUOTAS = ("L-3819A6DF", "L-DB2E81BA", "L-7212CCBC", "L-417A185B")
_IMAGE = (
    "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"
)

_MACHINE_WITH_DISK = f"""
import boto3
ec2, efs, ssm = (boto3.client(name, region_name="us-west-2") for name in ("ec2", "efs", "ssm"))
disk = efs.create_file_system()["FileSystemId"]
made = {{"OwnerUid": 0, "OwnerGid": 0, "Permissions": "755"}}
root = {{"Path": "/capsweep", "CreationInfo": made}}
point = efs.create_access_point(FileSystemId=disk, RootDirectory=root)["AccessPointId"]
subnet = ec2.describe_subnets()["Subnets"][0]["SubnetId"]
efs.create_mount_target(FileSystemId=disk, SubnetId=subnet)
image = ssm.get_parameter(Name="{_IMAGE}")["Parameter"]["Value"]
ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1, SubnetId=subnet, UserData="true")
print(disk, point)
"""


class Clients:
    """Clients of an account.

    Args:
        account: The account.
        key: Id of the access key that signs their requests.

    Attributes:
        account: The account.
    """

    def __init__(self, account: EmulatedAccount, key: str = "laptop") -> None:
        self.account = account
        session = boto3.Session(key, "none", region_name="us-west-2")

        def client(service: str) -> Any:
            return session.client(service, endpoint_url=account.url)

        self.ec2, self.efs, self.iam = client("ec2"), client("efs"), client("iam")
        self.ssm, self.quotas = client("ssm"), client("service-quotas")

    def group(self) -> str:
        """Make a security group."""
        return self.ec2.create_security_group(GroupName="g", Description="-")["GroupId"]

    def disk(self) -> str:
        """Make a file system and wait until it is available."""
        disk = self.efs.create_file_system(CreationToken="-")["FileSystemId"]
        for _ in range(4):
            error(self.efs.describe_file_systems, FileSystemId=disk)
        return disk

    def target(self, disk: str, group: str) -> str:
        """Make a mount target."""
        subnet = self.ec2.describe_subnets()["Subnets"][0]["SubnetId"]
        made = self.efs.create_mount_target(
            FileSystemId=disk, SubnetId=subnet, SecurityGroups=[group]
        )
        assert made["LifeCycleState"] == "creating"
        return made["MountTargetId"]

    def profile(self) -> None:
        """Make a role, and an instance profile with it."""
        self.iam.create_role(RoleName="r", AssumeRolePolicyDocument="{}")
        self.iam.create_instance_profile(InstanceProfileName="p")
        self.iam.add_role_to_instance_profile(InstanceProfileName="p", RoleName="r")


@pytest.fixture(scope="module")
def steady_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[EmulatedAccount]:
    with emulated_account(tmp_path_factory.mktemp("moto")) as account:
        yield account


@pytest.fixture
def steady(steady_server: EmulatedAccount) -> EmulatedAccount:
    steady_server.reset()
    return steady_server


@pytest.fixture(scope="module")
def unsteady_clients(tmp_path_factory: pytest.TempPathFactory) -> Generator[Clients]:
    with emulated_account(tmp_path_factory.mktemp("moto"), unsteady=True) as account:
        yield Clients(account)


@pytest.fixture
def unsteady(unsteady_clients: Clients) -> Clients:
    unsteady_clients.account.reset()
    return unsteady_clients


def error(call: Callable[..., Any], **values: Any) -> str:
    """Return the code with which a request is refused, "" where it is not."""
    try:
        call(**values)
    except ClientError as refused:
        return refused.response["Error"]["Code"]
    return ""


def test_a_bare_account_has_what_aws_gives_it(steady: EmulatedAccount) -> None:
    clients, resources = Clients(steady), steady.resources()
    made_by_hand = ("key_pairs", "file_systems", "roles", "instance_profiles", "instances")
    assert not any(resources[kind] for kind in made_by_hand)
    assert [group["GroupName"] for group in resources["security_groups"].values()] == ["default"]
    assert resources["vpcs"]
    assert resources["subnets"]
    image = clients.ssm.get_parameter(Name=_IMAGE)["Parameter"]["Value"]
    (described,) = clients.ec2.describe_images(ImageIds=[image])["Images"]
    assert described["RootDeviceName"] == "/dev/sda1"
    steady.set_quota(_QUOTAS[0], 4)
    quotas = [
        clients.quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)["Quota"]["Value"]
        for code in _QUOTAS
    ]
    assert quotas == [4, 64, 64, 64]


def test_the_role_of_spot_machines_can_be_made_once(steady: EmulatedAccount) -> None:
    make = Clients(steady).iam.create_service_linked_role
    role = make(AWSServiceName="spot.amazonaws.com")["Role"]
    assert role["RoleName"] == "AWSServiceRoleForEC2Spot"
    with pytest.raises(ClientError, match="EC2Spot has been taken in this account") as refused:
        make(AWSServiceName="spot.amazonaws.com")
    assert refused.value.response["Error"]["Code"] == "InvalidInput"


def test_calls_are_recorded_with_their_key_and_resources_come_and_go(
    steady: EmulatedAccount,
) -> None:
    before, clients = steady.resources(), Clients(steady, "head")
    assert error(clients.ec2.create_security_group, GroupName="g", Description="-", DryRun=True)
    group, disk = clients.group(), clients.efs.create_file_system()["FileSystemId"]
    point = clients.efs.create_access_point(FileSystemId=disk)["AccessPointId"]
    assert group in steady.resources()["security_groups"]
    assert steady.resources() != before
    clients.efs.delete_access_point(AccessPointId=point)
    clients.efs.delete_file_system(FileSystemId=disk)
    clients.ec2.delete_security_group(GroupId=group)
    assert steady.resources() == before
    clients.ssm.get_parameter(Name=_IMAGE)
    assert steady.calls() == [
        Call("ec2", "ec2:CreateSecurityGroup", "head", dry_run=True),
        Call("ec2", "ec2:CreateSecurityGroup", "head", dry_run=False),
        *(
            Call("elasticfilesystem", f"elasticfilesystem:{action}", "head", dry_run=False)
            for action in (
                *("CreateFileSystem", "CreateAccessPoint"),
                *("DeleteAccessPoint", "DeleteFileSystem"),
            )
        ),
        Call("ec2", "ec2:DeleteSecurityGroup", "head", dry_run=False),
        Call("ssm", "ssm:GetParameter", "head", dry_run=False),
    ]
    steady.reset()
    assert not steady.calls()


def test_requests_fail_as_often_as_a_test_says(steady: EmulatedAccount) -> None:
    clients = Clients(steady)
    steady.fail("iam:CreateRole", "AccessDenied", "not <you>")
    with pytest.raises(ClientError, match="not <you>"):
        clients.profile()
    clients.profile()
    steady.fail("elasticfilesystem:CreateFileSystem", "FileSystemLimitExceeded", times=2)
    codes = [error(clients.efs.create_file_system) for _ in range(3)]
    assert codes == ["FileSystemLimitExceeded"] * 2 + [""]
    steady.fail("ec2:RunInstances", "VcpuLimitExceeded")
    assert error(clients.ec2.run_instances, MinCount=1, MaxCount=1) == "VcpuLimitExceeded"


def test_what_is_in_use_is_not_deleted(steady: EmulatedAccount) -> None:
    clients = Clients(steady)
    group, image = clients.group(), clients.ssm.get_parameter(Name=_IMAGE)["Parameter"]["Value"]
    machine = clients.ec2.run_instances(
        MinCount=1, MaxCount=1, ImageId=image, SecurityGroupIds=[group]
    )["Instances"][0]["InstanceId"]
    assert error(clients.ec2.delete_security_group, GroupId=group) == "DependencyViolation"
    clients.ec2.terminate_instances(InstanceIds=[machine])
    clients.ec2.delete_security_group(GroupId=group)
    resources = steady.resources()
    assert not resources["instances"]
    assert not resources["volumes"]
    assert not resources["network_interfaces"]


def test_what_was_made_is_hidden_from_two_reads(unsteady: Clients) -> None:
    describe, group = unsteady.ec2.describe_security_groups, unsteady.group()
    filters = [{"Name": "group-name", "Values": ["g"]}]
    assert not describe(Filters=filters)["SecurityGroups"]
    assert error(unsteady.ec2.create_security_group, GroupName="g", Description="-")
    other = [{"Name": "group-name", "Values": ["default"]}]
    assert describe(Filters=other)["SecurityGroups"]  # would not have shown it
    assert error(describe, GroupIds=[group]) == "InvalidGroup.NotFound"
    assert describe(Filters=filters)["SecurityGroups"]
    ports = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "CidrIp": "198.51.100.7/32"}
    unsteady.ec2.authorize_security_group_ingress(GroupId=group, **ports)
    rules = [len(describe()["SecurityGroups"][-1]["IpPermissions"]) for _ in range(3)]
    assert rules == [0, 0, 1]


def test_each_service_says_that_it_does_not_know_what_was_made(unsteady: Clients) -> None:
    unsteady.profile()
    disk, group = unsteady.disk(), unsteady.group()
    target = unsteady.target(disk, group)
    point = unsteady.efs.create_access_point(FileSystemId=disk)["AccessPointId"]
    unsteady.ec2.create_key_pair(KeyName="k", KeyType="ed25519")
    codes = {
        "InvalidKeyPair.NotFound": (unsteady.ec2.describe_key_pairs, {"KeyNames": ["k"]}),
        "MountTargetNotFound": (unsteady.efs.describe_mount_targets, {"MountTargetId": target}),
        "AccessPointNotFound": (unsteady.efs.describe_access_points, {"AccessPointId": point}),
        "NoSuchEntity": (unsteady.iam.get_role, {"RoleName": "r"}),
    }
    for code, (read, values) in codes.items():
        assert [error(read, **values) for _ in range(3)] == [code, code, ""]
    profile = unsteady.iam.get_instance_profile
    assert [error(profile, InstanceProfileName="p") for _ in range(2)] == ["NoSuchEntity"] * 2
    # its role was to be seen with it
    assert profile(InstanceProfileName="p")["InstanceProfile"]["Roles"]


def test_disks_are_creating_before_they_are_available(unsteady: Clients) -> None:
    made = unsteady.efs.create_file_system(CreationToken="-")
    assert made["LifeCycleState"] == "creating"
    disk = {"FileSystemId": made["FileSystemId"]}
    subnet, group = unsteady.ec2.describe_subnets()["Subnets"][0]["SubnetId"], unsteady.group()
    early = error(unsteady.efs.create_mount_target, **disk, SubnetId=subnet)
    assert early == "IncorrectFileSystemLifeCycleState"
    assert error(unsteady.efs.describe_file_systems, **disk) == "FileSystemNotFound"

    def states() -> list[str]:
        described = unsteady.efs.describe_file_systems()["FileSystems"]
        return [each["LifeCycleState"] for each in described]

    assert [states() for _ in range(3)] == [["creating"], ["creating"], ["available"]]
    target = unsteady.target(disk["FileSystemId"], group)
    read = [unsteady.efs.describe_mount_targets(**disk)["MountTargets"] for _ in range(5)]
    states_of_target = ["".join(each["LifeCycleState"] for each in targets) for targets in read]
    assert states_of_target == ["", "", "creating", "creating", "available"]
    assert not error(unsteady.efs.describe_mount_targets, MountTargetId=target)


def test_a_disk_is_in_use_while_its_target_is_deleting(unsteady: Clients) -> None:
    group, disk = unsteady.group(), unsteady.disk()
    target, delete = unsteady.target(disk, group), unsteady.efs.delete_file_system
    assert error(delete, FileSystemId=disk) == "FileSystemInUse"
    unsteady.efs.delete_mount_target(MountTargetId=target)
    (described,) = unsteady.efs.describe_mount_targets(MountTargetId=target)["MountTargets"]
    assert described["LifeCycleState"] == "deleting"
    assert error(unsteady.ec2.delete_security_group, GroupId=group) == "DependencyViolation"
    assert error(unsteady.efs.describe_mount_targets, MountTargetId=target) == "MountTargetNotFound"
    delete(FileSystemId=disk)
    codes = [error(unsteady.ec2.delete_security_group, GroupId=group) for _ in range(3)]
    assert codes == ["DependencyViolation", "DependencyViolation", ""]


def test_to_delete_again_and_again_is_as_good_as_to_look(unsteady: Clients) -> None:
    disk, group = unsteady.disk(), unsteady.group()
    unsteady.efs.delete_mount_target(MountTargetId=unsteady.target(disk, group))
    codes = [error(unsteady.efs.delete_file_system, FileSystemId=disk) for _ in range(3)]
    assert codes == ["FileSystemInUse", "FileSystemInUse", ""]
    disk = unsteady.disk()
    unsteady.efs.delete_mount_target(MountTargetId=unsteady.target(disk, group))
    # twice as it is in use, and twice as AWS believes so for a while
    codes = [error(unsteady.ec2.delete_security_group, GroupId=group) for _ in range(5)]
    assert codes == [*["DependencyViolation"] * 4, ""]


def test_a_new_profile_is_not_known_to_ec2_and_deleted_late(unsteady: Clients) -> None:
    image = unsteady.ssm.get_parameter(Name=_IMAGE)["Parameter"]["Value"]
    asked = {"ImageId": image, "MinCount": 1, "MaxCount": 1, "IamInstanceProfile": {"Name": "p"}}
    run, iam = unsteady.ec2.run_instances, unsteady.iam
    assert error(run, **asked) == "InvalidParameterValue"  # there is none
    for _ in range(2):  # one that is made again is new again
        unsteady.profile()
        with pytest.raises(ClientError, match=r"Value \(p\) for parameter iamInstanceProfile.name"):
            run(**asked)
        assert [error(run, **asked) for _ in range(2)] == ["InvalidParameterValue", ""]
        iam.remove_role_from_instance_profile(InstanceProfileName="p", RoleName="r")
        deletes = ((iam.delete_role, {"RoleName": "r"}),)
        deletes += ((iam.delete_instance_profile, {"InstanceProfileName": "p"}),)
        for delete, values in deletes:
            codes = [error(delete, **values) for _ in range(4)]
            assert codes == ["DeleteConflict", "DeleteConflict", "", "NoSuchEntity"]


def test_a_reset_account_is_as_unsteady_as_at_first(unsteady: Clients) -> None:
    image = unsteady.ssm.get_parameter(Name=_IMAGE)["Parameter"]["Value"]
    asked = {"ImageId": image, "MinCount": 1, "MaxCount": 1, "IamInstanceProfile": {"Name": "p"}}
    for times in (1, 2):
        unsteady.account.reset()
        unsteady.profile()
        codes = [error(unsteady.ec2.run_instances, **asked) for _ in range(times)]
        assert codes == ["InvalidParameterValue"] * times


def test_who_looks_on_sees_what_is_hidden(unsteady: Clients) -> None:
    group = unsteady.group()
    assert group in unsteady.account.resources()["security_groups"]
    assert error(unsteady.ec2.describe_security_groups, GroupIds=[group])


def test_an_account_that_is_not_bare_has_what_the_page_asks_for(tmp_path: Path) -> None:
    with emulated_account(tmp_path, bare=False) as account:
        assert account.ids["security_group"] in account.resources()["security_groups"]
        assert {*account.resources()["roles"]} == {"capsweep-head", "AWSServiceRoleForEC2Spot"}
        account.reset()
        assert account.ids["security_group"] in account.resources()["security_groups"]
        assert not account.calls()


@pytest.mark.skipif(bool(why_no_hosts()), reason=why_no_hosts())
def test_a_machine_mounts_a_disk_by_its_id_and_signs_with_a_key_of_its_own() -> None:
    with Hosts(["laptop", "aws"]) as hosts, EmulatedEc2(hosts, bare=True) as ec2:
        variables = [f"{name}={value}" for name, value in ec2.environment.items()]
        made = hosts.run("laptop", "env", *variables, sys.executable, "-c", _MACHINE_WITH_DISK)
        disk, point, *_ = made.stdout.split()
        wait_until(lambda: ec2.machines)
        mount = (
            f"mount -t efs -o tls,accesspoint={point},actimeo=0 {disk}:/ /mnt/a && touch /mnt/a/x;"
            f"mount -t efs -o tls {disk} /mnt/b && ls /mnt/b/capsweep;"
            "mount -t efs -o tls fs-0 /mnt/c || mount -t nfs4 fs-0 /mnt/c;"
            "echo $AWS_ACCESS_KEY_ID"
        )
        ended = hosts.run("i0", "bash", "-c", f". ~/.bashrc; mkdir /mnt/a /mnt/b /mnt/c; {mount}")
        assert ended.stdout == "x\nhead\n", ended.stderr
        assert (ec2.disks / disk / "capsweep/x").exists()
        assert disk in ec2.resources()["file_systems"]
        assert "ec2:RunInstances" in {call.action for call in ec2.calls() if call.key == "laptop"}
