"""What `capsweep cluster destroy` deletes: machines, and what `init` has made, and nothing else."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeps.records.plain_text import counted
from sweeps.remote.aws.account import Account, StillInUse
from sweeps.remote.aws.plan import default_network, head_resources
from sweeps.remote.aws.prices import EFS_GB_A_MONTH
from sweeps.remote.aws.resources import (
    AccessPoint,
    Disk,
    MountTarget,
    Resource,
    SecurityGroup,
    SpotRole,
    Subnet,
    mount_targets,
)
from sweeps.remote.aws.settings import SHIPPED_IDS, ClusterSettings
from sweeps.storage.folder import Folder

_ALIVE = ("pending", "running", "stopping", "stopped", "shutting-down")
_GB = 1e9


@dataclass
class Removal:
    """What of a cluster is there.

    Attributes:
        account: The account.
        file: The cluster's file.
        machines: Ids of its machines that have not ended.
        resources: What is deleted, in this order.
        left: What stays, with the reason.
        disk: Its disk, None if it has none.
        key: The file of Ray's key pair of the cluster, None if there is none here.
    """

    account: Account
    file: ClusterSettings
    machines: Sequence[str]
    resources: Sequence[Resource]
    left: list[str]
    disk: Disk | None
    key: Path | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to delete."""
        return not (self.machines or self.resources or self.key)

    @property
    def deletes_records(self) -> bool:
        """Whether the disk is deleted with all that is on it."""
        return self.disk in self.resources

    @property
    def end(self) -> str:
        """What of it goes on costing, as a sentence."""
        name, region = self.file.values["cluster_name"], self.account.region
        if self.disk and not self.deletes_records:
            return (
                f"Of '{name}' in {region} the disk stays with all records: {_disk_text(self.disk)}."
            )
        return f"Nothing that init made for '{name}' in {region} is left to pay for."

    def lines(self) -> Iterator[str]:
        """Yield what is deleted and what stays, a line for each."""
        if self.machines:
            num_machines = counted(len(self.machines), "machine")
            yield f"end     {num_machines}, with what runs there: {', '.join(self.machines)}"
        for resource in self.resources:
            is_disk = isinstance(resource, Disk)
            records = f" with all records, {_size_text(resource)}" if is_disk else ""
            yield f"delete  {resource.title}{records}"
        if self.key:
            yield f"delete  key pair {self.key.stem}, and {self.key}"
        yield from (f"stays   {sentence}" for sentence in self.left)

    def carry_out(self, report: Callable[[str], None]) -> None:
        """Delete it; what turns out to be in use is left.

        Args:
            report: Called with a sentence for each thing.

        Raises:
            BadInput: If AWS refuses a call. The same command goes on from there.
        """
        self._end_machines(report)
        self._delete_key(report)  # before the last of what shows that the cluster is ours
        deleted: list[Resource] = []
        for resource in self.resources:
            try:
                resource.remove()
            except StillInUse as error:
                report(f"left: {resource.title}. {error}")
                continue
            deleted.append(resource)
            report(f"deleted: {resource.title}")
        self.resources = deleted
        self._empty_file()

    def _end_machines(self, report: Callable[[str], None]) -> None:
        if not self.machines:
            return
        self.account.client("ec2").terminate_instances(InstanceIds=[*self.machines])
        if not self.account.wait(lambda: not machines_of(self.account, self.file)):
            raise StillInUse("AWS has not ended the machines yet: give the same command again.")
        report(f"ended: {counted(len(self.machines), 'machine')}")

    def _delete_key(self, report: Callable[[str], None]) -> None:
        if self.key is None:
            return
        self.account.client("ec2").delete_key_pair(KeyName=self.key.stem)
        Folder(self.key.parent).remove(self.key.name)
        report(f"deleted: key pair {self.key.stem}")

    def _empty_file(self) -> None:
        """Write the shipped ids in place of those that are gone."""
        kinds = {type(resource) for resource in self.resources}
        names: dict[str, type[Resource]] = {
            "security_group": SecurityGroup,
            "disk": Disk,
            "access_point": AccessPoint,
        }
        gone = {name for name, kind in names.items() if kind in kinds}
        self.file.write({name: SHIPPED_IDS[name] for name in gone})


def machines_of(account: Account, file: ClusterSettings) -> list[str]:
    """Return the ids of a cluster's machines that have not ended."""
    filters = [
        {"Name": "tag:ray-cluster-name", "Values": [file.values["cluster_name"]]},
        {"Name": "instance-state-name", "Values": [*_ALIVE]},
    ]
    described = account.client("ec2").describe_instances(Filters=filters)["Reservations"]
    return [machine["InstanceId"] for each in described for machine in each["Instances"]]


def plan_removal(account: Account, file: ClusterSettings, *, with_records: bool) -> Removal:
    """Look at what of a cluster is there.

    Args:
        account: The account, in the cluster's region.
        file: The cluster's file.
        with_records: Whether the disk is to be deleted.

    Raises:
        BadInput: If AWS refuses a call.
    """
    name = file.values["cluster_name"]
    left: list[str] = []
    group, disk = SecurityGroup(account, name), Disk(account, name)
    group.find_surely()
    wanted = _of_disk(disk, group, left, with_records=with_records) if disk.find_surely() else []
    if group.found and _is_deleted(group, left):
        wanted.append(group)
    wanted += _of_head(account, name, left)
    has_machines = group.found is not None and group.found.is_ours
    is_made = bool(wanted) or has_machines
    if SpotRole(account, name).find():
        left.append(f"{SpotRole.kind}: {SpotRole.stays}")
    if network := default_network(account):
        left.append(f"default VPC {network} with its subnets: others may use it")
    path = Path("~/.ssh").expanduser() / f"{file.values['key_name']}.pem"
    return Removal(
        account,
        file,
        machines_of(account, file) if has_machines else [],
        wanted,
        left,
        disk if disk.found and disk.found.is_ours else None,
        _key(path, left, account) if is_made else None,
    )


def _of_disk(
    disk: Disk, group: SecurityGroup, left: list[str], *, with_records: bool
) -> list[Resource]:
    """Return what of the disk is deleted: its mount targets, and all of it with its records."""
    if not _is_deleted(disk, left, asks=with_records):
        return []
    wanted = _targets(disk.account, disk, group)
    if not with_records:
        left.append(f"{disk.title} ({disk.id}) with all records, {_disk_text(disk)}")
        return wanted
    point = AccessPoint(disk.account, disk.cluster, disk)
    return [*wanted, *([point] if point.find_surely() else []), disk]


def _of_head(account: Account, cluster: str, left: list[str]) -> list[Resource]:
    """Return what of the head's rights is deleted."""
    role, policy, profile, role_in_profile = head_resources(account, cluster)
    wanted: list[Resource] = []
    for whole, part in ((profile, role_in_profile), (role, policy)):
        if whole.find_surely() and _is_deleted(whole, left):
            wanted += [part] if part.find_surely() else []
            wanted.append(whole)
    return wanted


def _is_deleted(resource: Resource, left: list[str], *, asks: bool = True) -> bool:
    """Return whether a resource is ours and nobody else uses it; else why it stays is noted.

    Args:
        resource: The resource, which is there.
        left: Gets a sentence.
        asks: Whether to ask who uses it.
    """
    assert resource.found is not None
    if not resource.found.is_ours:
        left.append(f"{resource.title}: this command has not made it")
        return False
    if asks and (users := resource.users()):
        left.append(f"{resource.title}: {', '.join(users)} of others")
        return False
    return True


def _targets(account: Account, disk: Disk, group: SecurityGroup) -> list[Resource]:
    """Return the mount targets of the disk."""
    targets: list[Resource] = []
    for each in mount_targets(account, disk.id):
        place = Subnet(each["SubnetId"], each.get("AvailabilityZoneName") or each["SubnetId"])
        target = MountTarget(account, disk, group, place)
        if target.find_surely():
            targets.append(target)
    return targets


def _disk_text(disk: Disk) -> str:
    costs = disk.num_bytes() / _GB * EFS_GB_A_MONTH
    return f"{_size_text(disk)}, about ${costs:.2f} a month (--records-too deletes it)"


def _size_text(disk: Disk) -> str:
    return f"{disk.num_bytes() / _GB:.2g} GB"


def _key(path: Path, left: list[str], account: Account) -> Path | None:
    """Return the file of Ray's key pair, if its pair is the cluster's own."""
    filters = [{"Name": "key-name", "Values": [path.stem]}]
    pairs = account.client("ec2").describe_key_pairs(Filters=filters)["KeyPairs"]
    if path.exists():
        return path
    if pairs:
        left.append(f"key pair {path.stem}: its private key is not on this machine")
    return None
