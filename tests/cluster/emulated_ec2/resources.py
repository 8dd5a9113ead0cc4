"""What an account has, so that two moments of it can be compared.

python resources.py URL     prints it as JSON
"""

import json
import sys
from collections.abc import Iterable
from functools import cache
from typing import Any

import boto3

Resources = dict[str, dict[str, Any]]
"""Kind -> id or name -> what the service says of it."""

_EC2 = {
    "security_groups": ("describe_security_groups", "SecurityGroups", "GroupId"),
    "key_pairs": ("describe_key_pairs", "KeyPairs", "KeyName"),
    "vpcs": ("describe_vpcs", "Vpcs", "VpcId"),
    "subnets": ("describe_subnets", "Subnets", "SubnetId"),
    "volumes": ("describe_volumes", "Volumes", "VolumeId"),
    "network_interfaces": (
        "describe_network_interfaces",
        "NetworkInterfaces",
        "NetworkInterfaceId",
    ),
    "addresses": ("describe_addresses", "Addresses", "AllocationId"),
    "launch_templates": ("describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
}
_LIMIT = {"MaxItems": 1000}


def resources(url: str) -> Resources:
    """Return all that an account has of what a cluster is made of."""
    ec2, efs, iam = (_client(url, service) for service in ("ec2", "efs", "iam"))
    found = {
        kind: _by(key, getattr(ec2, method)()[name]) for kind, (method, name, key) in _EC2.items()
    }
    machines = [
        machine
        for reservation in ec2.describe_instances()["Reservations"]
        for machine in reservation["Instances"]
        if machine["State"]["Name"] != "terminated"
    ]
    disks = efs.describe_file_systems(**_LIMIT)["FileSystems"]
    targets = [
        target
        for disk in disks
        for target in efs.describe_mount_targets(FileSystemId=disk["FileSystemId"])["MountTargets"]
    ]
    for disk in disks:
        del disk["SizeInBytes"]  # has the time of the request
    return {
        **found,
        "instances": _by("InstanceId", machines),
        "file_systems": _by("FileSystemId", disks),
        "mount_targets": _by("MountTargetId", targets),
        "access_points": _by("AccessPointId", efs.describe_access_points()["AccessPoints"]),
        "roles": {name: _role(iam, name) for name in _names(iam, "Role")},
        "instance_profiles": {
            name: iam.get_instance_profile(InstanceProfileName=name)["InstanceProfile"]
            for name in _names(iam, "InstanceProfile")
        },
    }


@cache
def _client(url: str, service: str) -> Any:
    """Return a client whose requests change no state and are in no record."""
    session = boto3.Session("observer", "none", region_name="us-west-2")
    return session.client(service, endpoint_url=url)


def _by(key: str, described: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {each[key]: each for each in described}


def _names(iam: Any, kind: str) -> list[str]:
    listed = getattr(iam, "list_roles" if kind == "Role" else "list_instance_profiles")(**_LIMIT)
    return sorted(each[f"{kind}Name"] for each in listed[f"{kind}s"])


def _role(iam: Any, name: str) -> dict[str, Any]:
    policies = iam.list_role_policies(RoleName=name)["PolicyNames"]
    attached = iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
    documents = {
        policy: iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
        for policy in policies
    }
    return {**iam.get_role(RoleName=name)["Role"], "policies": documents, "attached": attached}


if __name__ == "__main__":
    json.dump(resources(sys.argv[1]), sys.stdout, default=str, sort_keys=True)
