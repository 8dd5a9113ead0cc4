"""The check of an account on AWS before `ray up`: does it have what a cluster.yaml needs?"""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line
from sweeps.remote.aws.account import (
    BAD_KEYS,
    NOT_THERE,
    Account,
    NoRight,
    code_of,
    in_sentences,
    session_in,
)
from sweeps.remote.aws.policies import SPOT_ROLE
from sweeps.remote.checked_machine import CheckedMachine

_WORLD = ("0.0.0.0/0", "::/0")
_QUOTAS = {
    "g": {True: ("spot", "L-3819A6DF"), False: ("on-demand", "L-DB2E81BA")},
    "p": {True: ("spot", "L-7212CCBC"), False: ("on-demand", "L-417A185B")},
}
"""Of the vCPUs of all G and VT machines, or all P machines: whether they are spot ones -> their
name and code."""
_Json = Mapping[str, Any]


def check_account(config: _Json, account: Account | None = None) -> CheckedMachine:
    """Check that the account on AWS has what a cluster needs.

    Args:
        config: The content of the cluster's file.
        account: The account, None for that of the user in the file's region.

    Raises:
        BadInput: If AWS is not reached, or refuses the credentials.
    """
    checked = CheckedMachine("AWS")
    if account is None and find_spec("boto3") is None:
        checked.not_checked.append('the account (pip install "capsweep[aws]" for boto3)')
        return checked
    needs = _Needs(account or Account(session_in(config["provider"].get("region"))), config)
    for subject, check in _CHECKS.items():
        _check(subject, check, needs, checked)
    return checked


class _Needs:
    """What a cluster needs of an account.

    Args:
        account: The account, in the cluster's region.
        config: The content of the cluster's file.
    """

    def __init__(self, account: Account, config: _Json) -> None:
        self.client = account.client
        self.region = account.region
        head, types = config.get("head_node_type"), config.get("available_node_types") or {}
        self.head: _Json = (types.get(head) or {}).get("node_config") or {}
        workers = [node for name, node in types.items() if name != head and node.get("max_workers")]
        self.workers = [(node.get("node_config") or {}, node["max_workers"]) for node in workers]
        self.nodes: list[_Json] = [self.head, *(node for node, _ in self.workers)]
        settings = str(config.get("setup_commands"))
        share, point = (re.search(rf"\b{prefix}-[0-9a-f]+", settings) for prefix in ("fs", "fsap"))
        self.share = share[0] if share else None
        self.access_point = point[0] if point else None

    def setting_values(self, key: str) -> list[str]:
        """Return the values of a key of the machines' settings, each once."""
        values: list[str] = []
        for node in self.nodes:
            value = node.get(key) or []
            values += [value] if isinstance(value, str) else value
        return [*dict.fromkeys(values)]


def _check(
    subject: str,
    check: Callable[[_Needs, CheckedMachine], None],
    needs: _Needs,
    checked: CheckedMachine,
) -> None:
    """Make one check; without the right to read its subject, it counts as not checked.

    Raises:
        BadInput: If AWS is not reached, or refuses the credentials.
    """
    from botocore.exceptions import ClientError

    try:
        with in_sentences():
            check(needs, checked)
    except NoRight as error:
        checked.not_checked.append(f"{subject} (no right to look: {error.operation})")
    except BadInput as error:
        if not isinstance(error.__cause__, ClientError):
            raise
        code, message = code_of(error.__cause__), error.__cause__.response["Error"].get("Message")
        if BAD_KEYS.search(code):
            raise
        if NOT_THERE.search(code):
            checked.wrong.append(f"{subject}: {one_line(str(message))}")
        else:
            checked.not_checked.append(f"{subject} ({code})")


def _check_credentials(needs: _Needs, checked: CheckedMachine) -> None:
    needs.client("sts").get_caller_identity()
    checked.right.append("credentials")


def _check_image(needs: _Needs, checked: CheckedMachine) -> None:
    for image in needs.setting_values("ImageId"):
        listed = needs.client("ec2").describe_images(ImageIds=[image])["Images"]
        checked.add("image", bool(listed), f"image: there is no {image} in {needs.region}.")


def _check_groups(needs: _Needs, checked: CheckedMachine) -> None:
    for group in _groups(needs):
        name, rules = group["GroupId"], group["IpPermissions"]
        checked.add(
            "machines reach each other",
            any(_is_from(name, rule) for rule in rules),
            f"security group: {name} does not let in everything from itself, so that machines do "
            f"not reach each other.",
        )
        opened = [_ports(rule) for rule in rules if {*_ranges(rule)} & {*_WORLD}]
        checked.add(
            "nothing is open to all",
            not opened,
            f"security group: {name} lets the whole world in ({', '.join(opened)}): allow port 22 "
            f"from your address alone.",
        )
        checked.add(
            "port 22",
            any(
                rule.get("FromPort", 0) <= 22 <= rule.get("ToPort", 22)
                for rule in rules
                if _ranges(rule)
            ),
            f"security group: {name} does not let you in at port 22.",
        )


def _groups(needs: _Needs) -> Sequence[_Json]:
    groups = needs.setting_values("SecurityGroupIds")
    return needs.client("ec2").describe_security_groups(GroupIds=groups)["SecurityGroups"]


def _is_from(group: str, rule: _Json) -> bool:
    """Return whether a rule lets in everything from a group."""
    groups = [pair.get("GroupId") for pair in rule.get("UserIdGroupPairs", ())]
    return rule["IpProtocol"] == "-1" and group in groups


def _ranges(rule: _Json) -> list[str]:
    """Return the addresses that a rule lets in."""
    ranges = [ip_range["CidrIp"] for ip_range in rule.get("IpRanges", ())]
    return ranges + [ip_range["CidrIpv6"] for ip_range in rule.get("Ipv6Ranges", ())]


def _ports(rule: _Json) -> str:
    if rule["IpProtocol"] == "-1":
        return "all ports"
    first, last = rule.get("FromPort"), rule.get("ToPort")
    return f"port {first}" if first == last else f"ports {first} to {last}"


def _subnets(needs: _Needs) -> Sequence[_Json]:
    subnets = needs.setting_values("SubnetIds")
    return needs.client("ec2").describe_subnets(SubnetIds=subnets)["Subnets"]


def _check_subnets(needs: _Needs, checked: CheckedMachine) -> None:
    networks = {group["VpcId"] for group in _groups(needs)}
    subnets = _subnets(needs)
    elsewhere = [subnet["SubnetId"] for subnet in subnets if subnet["VpcId"] not in networks]
    hidden = [subnet["SubnetId"] for subnet in subnets if not subnet["MapPublicIpOnLaunch"]]
    checked.add(
        "subnets",
        not elsewhere,
        f"subnets: {', '.join(elsewhere)} are in another VPC than the security group.",
    )
    checked.add(
        "public addresses",
        not hidden,
        f"subnets: {', '.join(hidden)} give machines no public address.",
    )


def _check_disk(needs: _Needs, checked: CheckedMachine) -> None:
    if not needs.share:
        checked.not_checked.append("shared disk (SHARE names no EFS disk)")
        return
    efs = needs.client("efs")
    (disk,) = efs.describe_file_systems(FileSystemId=needs.share)["FileSystems"]
    checked.add(
        "encrypted disk",
        disk.get("Encrypted", False),
        f"shared disk: {needs.share} is not encrypted: make one that is, as AWS encrypts no disk "
        f"later.",
    )
    targets = efs.describe_mount_targets(FileSystemId=needs.share)["MountTargets"]
    reached = {target.get("AvailabilityZoneName") for target in targets}
    zones = sorted({subnet["AvailabilityZone"] for subnet in _subnets(needs)} - reached)
    checked.add(
        "shared disk",
        not zones,
        f"shared disk: {needs.share} has no mount target in {', '.join(zones)}, where a subnet "
        f"lies.",
    )
    if needs.access_point:
        listed = efs.describe_access_points(AccessPointId=needs.access_point)["AccessPoints"]
        checked.add(
            "access point",
            [point["FileSystemId"] for point in listed] == [needs.share],
            f"access point: {needs.access_point} does not belong to {needs.share}.",
        )


def _check_profile(needs: _Needs, checked: CheckedMachine) -> None:
    name = (needs.head.get("IamInstanceProfile") or {}).get("Name")
    if name:
        needs.client("iam").get_instance_profile(InstanceProfileName=name)
    checked.add("instance profile", bool(name), "head's instance profile: the file names none.")


def _check_spot_role(needs: _Needs, checked: CheckedMachine) -> None:
    if any(_is_spot(node) for node, _ in needs.workers):
        needs.client("iam").get_role(RoleName=SPOT_ROLE)
        checked.right.append("role for spot machines")


def _check_quotas(needs: _Needs, checked: CheckedMachine) -> None:
    for node, most in needs.workers:
        machine = node["InstanceType"]
        kind, quota = quota_of(needs.client("service-quotas"), machine, is_spot=_is_spot(node))
        if quota is None:
            checked.not_checked.append(f"quota of {machine}")
            continue
        types = needs.client("ec2").describe_instance_types(InstanceTypes=[machine])
        needed = types["InstanceTypes"][0]["VCpuInfo"]["DefaultVCpus"] * most
        checked.add(
            f"quota of {kind} machines",
            quota >= needed,
            f"quota: {most} {kind} machines {machine} need {needed} vCPUs, and the account has "
            f"{quota:g}: ask AWS for more, or lower the number in the file.",
        )


def quota_of(quotas: Any, machine: str, *, is_spot: bool) -> tuple[str, float | None]:
    """Return the quota that counts for a type of machine.

    Args:
        quotas: The service of quotas.
        machine: The type, such as `g5.xlarge`.
        is_spot: Whether spot machines are meant.

    Returns:
        `spot` or `on-demand`, and the vCPUs of all such machines; None where it is not known
        which quota counts.
    """
    family = {"g": "g", "v": "g", "p": "p"}.get(machine[0])
    if family is None:
        return _QUOTAS["g"][is_spot][0], None
    kind, code = _QUOTAS[family][is_spot]
    answered = quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)
    return kind, answered["Quota"]["Value"]


def _is_spot(node: _Json) -> bool:
    return (node.get("InstanceMarketOptions") or {}).get("MarketType") == "spot"


_CHECKS: Mapping[str, Callable[[_Needs, CheckedMachine], None]] = {
    "credentials": _check_credentials,
    "image": _check_image,
    "security group": _check_groups,
    "subnets": _check_subnets,
    "shared disk": _check_disk,
    "head's instance profile": _check_profile,
    "role for spot machines": _check_spot_role,
    "quota": _check_quotas,
}
