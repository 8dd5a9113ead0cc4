"""What a cluster needs of an account, each with how it is found, made and deleted.

Each is known by a name of its own that AWS keeps unique, so that a make that was interrupted, or
comes second, makes nothing twice. What `init` has made has its tag; a resource of that name
without the tag is somebody else's, and is neither used nor deleted.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import unquote

from sweeps.records.errors import BadInput
from sweeps.remote.aws.account import NOT_THERE, Account, code_of
from sweeps.remote.aws.policies import SPOT_ROLE, SPOT_SERVICE, TRUST, head_policy

TAG = "capsweep-cluster"
_ROOT = {
    "Path": "/capsweep",
    "CreationInfo": {"OwnerUid": 1000, "OwnerGid": 1000, "Permissions": "750"},
}
_UBUNTU = {"Uid": 1000, "Gid": 1000}  # its user `ubuntu`
_NOT_YET = (
    r"NotFound|NoSuchEntity|IncorrectFileSystemLifeCycleState|IncorrectMountTargetState|"
    r"ConcurrentModification"
)
_IN_USE = r"DependencyViolation|DeleteConflict|InUse|ConcurrentModification|LifeCycleState"
_Json = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """A resource that is there.

    Attributes:
        id: By which the cluster's file, or another resource, names it.
        is_ours: Whether `init` has made it.
        is_ready: Whether it can be used.
    """

    id: str
    is_ours: bool = True
    is_ready: bool = True


class Resource(ABC):
    """One resource of a cluster.

    Args:
        account: Whose it is.
        cluster: The cluster's name.

    Attributes:
        kind: The kind, as a sentence names it.
        name: Its name, which no other of its kind has.
        parent: The resource that it is part of, None if it stands alone.
        found: It, once it was found.
    """

    kind: ClassVar[str]
    made_before: ClassVar[str] = r"AlreadyExists|Duplicate|Conflict|LimitExceeded"
    """Pattern of the errors of a make that comes second."""

    def __init__(
        self, account: Account, cluster: str, parent: "Resource | None" = None, name: str = ""
    ) -> None:
        self.account = account
        self.cluster = cluster
        self.parent = parent
        self.name = name or cluster
        self.found: Found | None = None

    @abstractmethod
    def look(self) -> Found | None:
        """Ask AWS for it; errors that it is not there may pass."""

    @abstractmethod
    def make(self) -> None:
        """Make it; its parent is there."""

    @abstractmethod
    def delete(self) -> None:
        """Delete it."""

    def users(self) -> tuple[str, ...]:
        """Return what else uses it, so that it has to stay."""
        return ()

    @property
    def title(self) -> str:
        """Its kind and its name."""
        return f"{self.kind} {self.name}"

    @property
    def id(self) -> str:
        """Its id, once it was found."""
        assert self.found is not None, self.title
        return self.found.id

    @property
    def parent_id(self) -> str:
        """The id of its parent."""
        assert self.parent is not None
        return self.parent.id

    @property
    def tags(self) -> list[dict[str, str]]:
        """The tags of what is made."""
        return [{"Key": TAG, "Value": self.cluster}, {"Key": "Name", "Value": self.cluster}]

    def find(self) -> Found | None:
        """Return it, None if it is not there."""
        from botocore.exceptions import ClientError

        self.found = None
        if self.parent is not None and self.parent.found is None:
            return None
        try:
            self.found = self.look()
        except ClientError as error:
            if not NOT_THERE.search(code_of(error)):
                raise
        return self.found

    def complete(self) -> None:
        """Make it, unless it is there.

        Raises:
            BadInput: If somebody else has made one of that name.
        """
        if not self.find():
            self.account.call(self.make, not_yet=_NOT_YET, done=self.made_before)
            self.account.wait(self.find)
        self.check_own()

    def check_own(self) -> None:
        """Make sure that it is not somebody else's, if it is there.

        Raises:
            BadInput: If it is.
        """
        if self.found and not self.found.is_ours:
            raise BadInput(
                f"{self.account.region} has another {self.title}, which this command has not made: "
                f"give the cluster another name by --name."
            )

    def wait(self) -> bool:
        """Wait until it can be used; return whether it can."""
        return self.account.wait(lambda: (found := self.find()) is not None and found.is_ready)

    def find_surely(self) -> Found | None:
        """Return it, also if it was made a moment ago; None if it is not there."""
        return self.account.wait(self.find, tries=3)

    def remove(self) -> None:
        """Delete it and wait until it is gone.

        Raises:
            StillInUse: If something else uses it.
        """
        self.account.call(self.delete, not_yet=_IN_USE, done=NOT_THERE.pattern)
        self.account.wait(lambda: self.find() is None)

    def is_tagged(self, tags: Iterable[_Json] | None) -> bool:
        """Return whether tags say that `init` has made it for this cluster."""
        return any(tag["Key"] == TAG and tag["Value"] == self.cluster for tag in tags or ())


# The head's rights.


class HeadRole(Resource):
    """The role of the head, which starts and ends workers."""

    kind = "role"

    def look(self) -> Found:
        role = self.account.client("iam").get_role(RoleName=self.name)["Role"]
        return Found(self.name, self.is_tagged(role.get("Tags")))

    def users(self) -> tuple[str, ...]:
        """Return the policies that others have attached."""
        attached = self.account.client("iam").list_attached_role_policies(RoleName=self.name)
        return tuple(f"policy {each['PolicyName']}" for each in attached["AttachedPolicies"])

    def make(self) -> None:
        self.account.client("iam").create_role(
            RoleName=self.name, AssumeRolePolicyDocument=json.dumps(TRUST), Tags=self.tags
        )

    def delete(self) -> None:
        self.account.client("iam").delete_role(RoleName=self.name)


class HeadPolicy(Resource):
    """What the head's role may do."""

    kind = "policy"

    @property
    def _wanted(self) -> _Json:
        return head_policy(self.cluster, self.account.region)

    def look(self) -> Found | None:
        iam = self.account.client("iam")
        there = iam.get_role_policy(RoleName=self.parent_id, PolicyName=self.name)
        document = there["PolicyDocument"]
        if isinstance(document, str):
            document = json.loads(unquote(document))
        return Found(self.name, is_ready=document == self._wanted)

    def complete(self) -> None:
        """Make it, also over one that is not as it has to be."""
        if not (self.find() and self.found and self.found.is_ready):
            self.account.call(self.make, not_yet=_NOT_YET)
            self.wait()

    def make(self) -> None:
        self.account.client("iam").put_role_policy(
            RoleName=self.parent_id, PolicyName=self.name, PolicyDocument=json.dumps(self._wanted)
        )

    def delete(self) -> None:
        self.account.client("iam").delete_role_policy(RoleName=self.parent_id, PolicyName=self.name)


class HeadProfile(Resource):
    """The instance profile by which the head's machine gets its role."""

    kind = "instance profile"

    def look(self) -> Found:
        iam = self.account.client("iam")
        profile = iam.get_instance_profile(InstanceProfileName=self.name)["InstanceProfile"]
        return Found(self.name, self.is_tagged(profile.get("Tags")))

    def make(self) -> None:
        self.account.client("iam").create_instance_profile(
            InstanceProfileName=self.name, Tags=self.tags
        )

    def delete(self) -> None:
        self.account.client("iam").delete_instance_profile(InstanceProfileName=self.name)


class RoleInProfile(Resource):
    """The head's role in its instance profile."""

    kind = "its role, put into the instance profile"

    def look(self) -> Found | None:
        iam = self.account.client("iam")
        profile = iam.get_instance_profile(InstanceProfileName=self.parent_id)["InstanceProfile"]
        names = [role["RoleName"] for role in profile["Roles"]]
        return Found(self.name) if self.name in names else None

    def make(self) -> None:
        self.account.client("iam").add_role_to_instance_profile(
            InstanceProfileName=self.parent_id, RoleName=self.name
        )

    def delete(self) -> None:
        self.account.client("iam").remove_role_from_instance_profile(
            InstanceProfileName=self.parent_id, RoleName=self.name
        )


class SpotRole(Resource):
    """The role by which AWS starts spot machines, one for the whole account."""

    kind = "role of AWS for spot machines, shared and free:"
    stays = "the whole account shares it"
    made_before = r"InvalidInput|AlreadyExists"

    def __init__(self, account: Account, cluster: str) -> None:
        super().__init__(account, cluster, name=SPOT_ROLE)

    def look(self) -> Found:
        self.account.client("iam").get_role(RoleName=SPOT_ROLE)
        return Found(SPOT_ROLE)

    def make(self) -> None:
        self.account.client("iam").create_service_linked_role(AWSServiceName=SPOT_SERVICE)

    def delete(self) -> None:
        """Never: other clusters of the account may use it."""
        raise NotImplementedError


# The network.


class SecurityGroup(Resource):
    """The security group of all machines and of the disk.

    Args:
        account: Whose it is.
        cluster: The cluster's name.
        network: The id of its VPC, None to find it in any.
    """

    kind = "security group"

    def __init__(self, account: Account, cluster: str, network: str | None = None) -> None:
        super().__init__(account, cluster)
        self._network = network

    @property
    def rules(self) -> Sequence[_Json]:
        """The rules for what comes in, as they are now."""
        described = self.account.client("ec2").describe_security_groups(GroupIds=[self.id])
        return described["SecurityGroups"][0]["IpPermissions"]

    def look(self) -> Found | None:
        filters = [{"Name": "group-name", "Values": [self.name]}]
        if self._network:
            filters.append({"Name": "vpc-id", "Values": [self._network]})
        ec2 = self.account.client("ec2")
        listed = ec2.describe_security_groups(Filters=filters)["SecurityGroups"]
        ours = sorted(listed, key=lambda group: not self.is_tagged(group.get("Tags")))
        return Found(ours[0]["GroupId"], self.is_tagged(ours[0].get("Tags"))) if ours else None

    def users(self) -> tuple[str, ...]:
        """Return the machines that use it, and are not the cluster's."""
        described = self.account.client("ec2").describe_instances(
            Filters=[{"Name": "instance.group-id", "Values": [self.id]}]
        )
        return tuple(
            f"machine {machine['InstanceId']}"
            for each in described["Reservations"]
            for machine in each["Instances"]
            if machine["State"]["Name"] != "terminated" and not self._is_cluster(machine)
        )

    def _is_cluster(self, machine: _Json) -> bool:
        tags = {tag["Key"]: tag["Value"] for tag in machine.get("Tags", ())}
        return tags.get("ray-cluster-name") == self.cluster

    def make(self) -> None:
        self.account.client("ec2").create_security_group(
            GroupName=self.name,
            Description=f"Machines and disk of {self.cluster}, a cluster of capsweep",
            VpcId=self._network,
            TagSpecifications=[{"ResourceType": "security-group", "Tags": self.tags}],
        )

    def delete(self) -> None:
        self.account.client("ec2").delete_security_group(GroupId=self.id)


class GroupRule(Resource):
    """A rule of the security group; it goes with the group.

    Args:
        account: Whose it is.
        group: The group.
        addresses: From where port 22 is open, "" for everything from the group itself.
    """

    kind = "rule of the security group:"

    def __init__(self, account: Account, group: SecurityGroup, addresses: str = "") -> None:
        title = f"port 22 from {addresses}" if addresses else "everything from the group itself"
        super().__init__(account, group.cluster, group, title)
        self._group, self._addresses = group, addresses

    def look(self) -> Found | None:
        for rule in self._group.rules:
            if self._addresses:
                ranges = [each.get("CidrIp") for each in rule.get("IpRanges", ())]
                ranges += [each.get("CidrIpv6") for each in rule.get("Ipv6Ranges", ())]
                is_it = rule.get("FromPort") == rule.get("ToPort") == 22
                is_it = is_it and self._addresses in ranges
            else:
                groups = [pair.get("GroupId") for pair in rule.get("UserIdGroupPairs", ())]
                is_it = rule["IpProtocol"] == "-1" and self._group.id in groups
            if is_it:
                return Found(self.name)
        return None

    def make(self) -> None:
        pairs = [{"GroupId": self._group.id}]
        rule: dict[str, Any] = {"IpProtocol": "-1", "UserIdGroupPairs": pairs}
        if self._addresses:
            is_new = ":" in self._addresses  # of IP version 6
            ranges = [{"CidrIpv6" if is_new else "CidrIp": self._addresses}]
            rule = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}
            rule["Ipv6Ranges" if is_new else "IpRanges"] = ranges
        self.account.client("ec2").authorize_security_group_ingress(
            GroupId=self._group.id, IpPermissions=[rule]
        )

    def delete(self) -> None:
        """Do nothing: rules go with their group."""


# The shared disk.


@dataclass(frozen=True)
class Subnet:
    """A subnet that gives machines a public address.

    Attributes:
        id: Its id.
        zone: Its zone, such as `us-west-2a`.
    """

    id: str
    zone: str


class Disk(Resource):
    """The encrypted EFS disk that all machines share: cells, records, data."""

    kind = "EFS disk"

    def look(self) -> Found | None:
        listed = self._client.describe_file_systems(CreationToken=self.name)["FileSystems"]
        there = [each for each in listed if each["LifeCycleState"] not in {"deleting", "deleted"}]
        if not there:
            return None
        disk = there[0]
        is_ready = disk["LifeCycleState"] in {"available", "updating"}
        return Found(disk["FileSystemId"], self.is_tagged(disk.get("Tags")), is_ready)

    def users(self) -> tuple[str, ...]:
        """Return the access points of others."""
        listed = self._client.describe_access_points(FileSystemId=self.id)["AccessPoints"]
        return tuple(
            f"access point {point['AccessPointId']}"
            for point in listed
            if not self.is_tagged(point.get("Tags"))
        )

    def num_bytes(self) -> int:
        """Return how many bytes it holds."""
        listed = self._client.describe_file_systems(FileSystemId=self.id)["FileSystems"]
        return int(listed[0]["SizeInBytes"]["Value"])

    def make(self) -> None:
        self._client.create_file_system(CreationToken=self.name, Encrypted=True, Tags=self.tags)

    def delete(self) -> None:
        self._client.delete_file_system(FileSystemId=self.id)

    @property
    def _client(self) -> Any:
        return self.account.client("efs")


class MountTarget(Resource):
    """The disk's address in a zone.

    Args:
        account: Whose it is.
        disk: The disk.
        group: The security group that reaches it.
        subnet: The subnet in which it lies.
    """

    kind = "mount target"

    def __init__(self, account: Account, disk: Disk, group: SecurityGroup, subnet: Subnet) -> None:
        super().__init__(account, disk.cluster, disk, f"in {subnet.zone}")
        self._group, self._subnet = group, subnet

    def look(self) -> Found | None:
        for target in mount_targets(self.account, self.parent_id):
            here = (self._subnet.id, self._subnet.zone)  # a zone has one target at most
            if target["SubnetId"] == here[0] or target.get("AvailabilityZoneName") == here[1]:
                return Found(
                    target["MountTargetId"], is_ready=target["LifeCycleState"] == "available"
                )
        return None

    def make(self) -> None:
        self.account.client("efs").create_mount_target(
            FileSystemId=self.parent_id, SubnetId=self._subnet.id, SecurityGroups=[self._group.id]
        )

    def delete(self) -> None:
        self.account.client("efs").delete_mount_target(MountTargetId=self.id)


def mount_targets(account: Account, disk: str) -> Sequence[_Json]:
    """Return the mount targets of a disk, those that are being deleted too."""
    return account.client("efs").describe_mount_targets(FileSystemId=disk)["MountTargets"]


class AccessPoint(Resource):
    """The folder of the disk that machines mount, which belongs to their user."""

    kind = "access point"

    def look(self) -> Found | None:
        efs = self.account.client("efs")
        for point in efs.describe_access_points(FileSystemId=self.parent_id)["AccessPoints"]:
            if point.get("ClientToken") == self.name and point["LifeCycleState"] != "deleting":
                return Found(
                    point["AccessPointId"],
                    self.is_tagged(point.get("Tags")),
                    point["LifeCycleState"] == "available",
                )
        return None

    def make(self) -> None:
        self.account.client("efs").create_access_point(
            ClientToken=self.name,
            FileSystemId=self.parent_id,
            PosixUser=_UBUNTU,
            RootDirectory=_ROOT,
            Tags=self.tags,
        )

    def delete(self) -> None:
        self.account.client("efs").delete_access_point(AccessPointId=self.id)
