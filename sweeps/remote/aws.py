"""What a cluster.yaml needs of the account on AWS, looked at before `ray up`."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import one_line
from sweeps.remote.cluster import CheckedMachine, Findings

_NO_RIGHT = re.compile(r"AccessDenied|Unauthorized(?!.*Token)|NotAuthorized")
_NOT_THERE = re.compile(r"NotFound|NoSuchEntity|Malformed|Invalid(?:GroupId|InstanceType)")
_BAD_KEYS = re.compile(r"Expired|InvalidClientTokenId|SignatureDoesNotMatch|AuthFailure")
_WORLD = ("0.0.0.0/0", "::/0")
_SPOT_ROLE = "AWSServiceRoleForEC2Spot"
_QUOTAS = {True: ("spot", "L-3819A6DF"), False: ("on-demand", "L-DB2E81BA")}
"""Of the vCPUs of all G and VT machines: whether they are spot ones -> their name and code."""
_Json = Mapping[str, Any]


def check_account(path: Path, config: _Json) -> CheckedMachine:
    """Look at what a cluster needs of the account of AWS.

    Args:
        path: The cluster's file.
        config: What it says.

    Raises:
        BadInput: If AWS is not reached, or refuses the credentials.
    """
    found = Findings(f"ray up {path}")
    try:
        import boto3
    except ImportError:
        found.not_checked.append('the account (pip install "capsweep[aws]" for boto3)')
        return found.of("AWS")
    session = boto3.Session(region_name=config["provider"].get("region"))
    account = _Account(session, config)
    for what, look in _LOOKS.items():
        _looked(what, look, account, found)
    return found.of("AWS")


class _Account:
    """An account and what a cluster needs of it.

    Args:
        session: boto3's, in the cluster's region.
        config: What the cluster's file says.
    """

    def __init__(self, session: Any, config: _Json) -> None:
        self.client: Callable[[str], Any] = session.client
        self.region: str = session.region_name
        head, types = config.get("head_node_type"), config.get("available_node_types") or {}
        self.head: _Json = (types.get(head) or {}).get("node_config") or {}
        workers = [one for name, one in types.items() if name != head and one.get("max_workers")]
        self.workers = [(one.get("node_config") or {}, one["max_workers"]) for one in workers]
        self.nodes: list[_Json] = [self.head, *(node for node, _ in self.workers)]
        settings = str(config.get("setup_commands"))
        share, point = (re.search(rf"\b{one}-[0-9a-f]+", settings) for one in ("fs", "fsap"))
        self.share = share[0] if share else None
        self.access_point = point[0] if point else None

    def all_of(self, key: str) -> list[str]:
        """Return the values of a key of the machines' settings, each once."""
        values: list[str] = []
        for node in self.nodes:
            value = node.get(key) or []
            values += [value] if isinstance(value, str) else value
        return [*dict.fromkeys(values)]


def _looked(
    what: str, look: Callable[[_Account, Findings], None], account: _Account, found: Findings
) -> None:
    """Look at one thing; what may not be looked at is not checked.

    Raises:
        BadInput: If AWS is not reached, or refuses the credentials.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        look(account, found)
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if _BAD_KEYS.search(code):
            raise BadInput(
                f"AWS refuses the credentials ({code}): log in again, as for the aws command."
            ) from error
        if _NO_RIGHT.search(code):
            found.not_checked.append(f"{what} (no right to look: {error.operation_name})")
        elif _NOT_THERE.search(code):
            found.wrong.append(f"{what}: {one_line(str(error.response['Error']['Message']))}")
        else:
            found.not_checked.append(f"{what} ({code})")
    except BotoCoreError as error:
        raise BadInput(f"AWS is not reached: {one_line(str(error))[:300]}") from error


def _look_at_credentials(account: _Account, found: Findings) -> None:
    account.client("sts").get_caller_identity()
    found.right.append("credentials")


def _look_at_image(account: _Account, found: Findings) -> None:
    for image in account.all_of("ImageId"):
        listed = account.client("ec2").describe_images(ImageIds=[image])["Images"]
        found.note("image", bool(listed), f"image: there is no {image} in {account.region}.")


def _look_at_groups(account: _Account, found: Findings) -> None:
    for group in _groups(account):
        name, rules = group["GroupId"], group["IpPermissions"]
        found.note(
            "machines reach each other",
            any(_is_from(name, rule) for rule in rules),
            f"security group: {name} does not let in everything from itself, so that machines do "
            f"not reach each other.",
        )
        opened = [_ports(rule) for rule in rules if {*_ranges(rule)} & {*_WORLD}]
        found.note(
            "nothing is open to all",
            not opened,
            f"security group: {name} lets the whole world in ({', '.join(opened)}): allow port 22 "
            f"from your address alone.",
        )
        found.note(
            "port 22",
            any(
                rule.get("FromPort", 0) <= 22 <= rule.get("ToPort", 22)
                for rule in rules
                if _ranges(rule)
            ),
            f"security group: {name} does not let you in at port 22.",
        )


def _groups(account: _Account) -> Sequence[_Json]:
    groups = account.all_of("SecurityGroupIds")
    return account.client("ec2").describe_security_groups(GroupIds=groups)["SecurityGroups"]


def _is_from(group: str, rule: _Json) -> bool:
    """Return whether a rule lets in everything from a group."""
    groups = [pair.get("GroupId") for pair in rule.get("UserIdGroupPairs", ())]
    return rule["IpProtocol"] == "-1" and group in groups


def _ranges(rule: _Json) -> list[str]:
    """Return the addresses that a rule lets in."""
    ranges = [one["CidrIp"] for one in rule.get("IpRanges", ())]
    return ranges + [one["CidrIpv6"] for one in rule.get("Ipv6Ranges", ())]


def _ports(rule: _Json) -> str:
    if rule["IpProtocol"] == "-1":
        return "all ports"
    first, last = rule.get("FromPort"), rule.get("ToPort")
    return f"port {first}" if first == last else f"ports {first} to {last}"


def _subnets(account: _Account) -> Sequence[_Json]:
    subnets = account.all_of("SubnetIds")
    return account.client("ec2").describe_subnets(SubnetIds=subnets)["Subnets"]


def _look_at_subnets(account: _Account, found: Findings) -> None:
    networks = {group["VpcId"] for group in _groups(account)}
    elsewhere = [one["SubnetId"] for one in _subnets(account) if one["VpcId"] not in networks]
    hidden = [one["SubnetId"] for one in _subnets(account) if not one["MapPublicIpOnLaunch"]]
    found.note(
        "subnets",
        not elsewhere,
        f"subnets: {', '.join(elsewhere)} are in another VPC than the security group.",
    )
    found.note(
        "public addresses",
        not hidden,
        f"subnets: {', '.join(hidden)} give machines no public address.",
    )


def _look_at_disk(account: _Account, found: Findings) -> None:
    if not account.share:
        found.not_checked.append("shared disk (SHARE names no EFS disk)")
        return
    efs = account.client("efs")
    (disk,) = efs.describe_file_systems(FileSystemId=account.share)["FileSystems"]
    found.note(
        "encrypted disk",
        disk.get("Encrypted", False),
        f"shared disk: {account.share} is not encrypted: make one that is, as AWS encrypts no disk "
        f"later.",
    )
    targets = efs.describe_mount_targets(FileSystemId=account.share)["MountTargets"]
    reached = {target.get("AvailabilityZoneName") for target in targets}
    zones = sorted({subnet["AvailabilityZone"] for subnet in _subnets(account)} - reached)
    found.note(
        "shared disk",
        not zones,
        f"shared disk: {account.share} has no mount target in {', '.join(zones)}, where a subnet "
        f"lies.",
    )
    if account.access_point:
        listed = efs.describe_access_points(AccessPointId=account.access_point)["AccessPoints"]
        found.note(
            "access point",
            [one["FileSystemId"] for one in listed] == [account.share],
            f"access point: {account.access_point} does not belong to {account.share}.",
        )


def _look_at_profile(account: _Account, found: Findings) -> None:
    name = (account.head.get("IamInstanceProfile") or {}).get("Name")
    if name:
        account.client("iam").get_instance_profile(InstanceProfileName=name)
    found.note("instance profile", bool(name), "head's instance profile: the file names none.")


def _look_at_spot_role(account: _Account, found: Findings) -> None:
    if any(_is_spot(node) for node, _ in account.workers):
        account.client("iam").get_role(RoleName=_SPOT_ROLE)
        found.right.append("role for spot machines")


def _look_at_quotas(account: _Account, found: Findings) -> None:
    for node, most in account.workers:
        kind, code = _QUOTAS[_is_spot(node)]
        machine = node["InstanceType"]
        if not machine.startswith(("g", "vt")):
            found.not_checked.append(f"quota of {machine}")
            continue
        types = account.client("ec2").describe_instance_types(InstanceTypes=[machine])
        needed = types["InstanceTypes"][0]["VCpuInfo"]["DefaultVCpus"] * most
        quotas = account.client("service-quotas")
        quota = quotas.get_service_quota(ServiceCode="ec2", QuotaCode=code)["Quota"]["Value"]
        found.note(
            f"quota of {kind} machines",
            quota >= needed,
            f"quota: {most} {kind} machines {machine} need {needed} vCPUs, and the account has "
            f"{quota:g}: ask AWS for more, or lower the number in the file.",
        )


def _is_spot(node: _Json) -> bool:
    return (node.get("InstanceMarketOptions") or {}).get("MarketType") == "spot"


_LOOKS: Mapping[str, Callable[[_Account, Findings], None]] = {
    "credentials": _look_at_credentials,
    "image": _look_at_image,
    "security group": _look_at_groups,
    "subnets": _look_at_subnets,
    "shared disk": _look_at_disk,
    "head's instance profile": _look_at_profile,
    "role for spot machines": _look_at_spot_role,
    "quota": _look_at_quotas,
}
