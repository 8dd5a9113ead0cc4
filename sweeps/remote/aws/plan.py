"""What `capsweep cluster init aws` makes: a plan that is printed, asked about, and carried out."""

import ipaddress
import re
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from capsmodel.spelling import hint, unknown
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import counted, one_line
from sweeps.remote.aws.account import NOT_THERE, Account, NoRight, code_of, in_sentences
from sweeps.remote.aws.check import quota_of
from sweeps.remote.aws.policies import IMAGE_PARAMETER
from sweeps.remote.aws.prices import (
    SMALLEST_WITH,
    disk_price_text,
    machine_price,
    machine_price_text,
)
from sweeps.remote.aws.resources import (
    AccessPoint,
    Disk,
    GroupRule,
    HeadPolicy,
    HeadProfile,
    HeadRole,
    MountTarget,
    Resource,
    RoleInProfile,
    SecurityGroup,
    SpotRole,
    Subnet,
)
from sweeps.remote.aws.settings import SHIPPED_IDS, ClusterSettings, Values

_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_MOST_WORKERS = 100
_ADDRESS_SERVICE = "https://checkip.amazonaws.com"
_ADDRESS_SECONDS = 10.0
_WORLD = ("0.0.0.0/0", "::/0")


@dataclass(frozen=True)
class ClusterOptions:
    """What the user asks for; None leaves a setting as the file has it.

    Attributes:
        name: The cluster's name.
        region: Its region.
        num_workers: The most workers.
        gpu_type: A type of machine, or the name of a GPU.
        is_on_demand: Whether workers are on-demand machines, and not spot ones.
        ssh_from: From which addresses port 22 is open, None for this machine's own.
        head_profile: An instance profile that is there, None to make one.
    """

    name: str | None = None
    region: str | None = None
    num_workers: int | None = None
    gpu_type: str | None = None
    is_on_demand: bool = False
    ssh_from: str | None = None
    head_profile: str | None = None


@dataclass
class AwsPlan:
    """What a cluster needs, what of it is there, and what its file is going to say.

    Attributes:
        account: The account.
        file: The cluster's file.
        settings: Values for the file, without the ids of what is not made yet.
        resources: All that it needs, in the order in which it is made.
        subnets: Those of its machines.
        ssh_from: From which addresses one may log in.
        facts: Lines on what was found: rights, quota.
        difference: How the file would differ, where it has values of its own; else "".
    """

    account: Account
    file: ClusterSettings
    settings: dict[str, str]
    resources: Sequence[Resource]
    subnets: Sequence[Subnet]
    ssh_from: str
    facts: list[str] = field(default_factory=list[str])
    difference: str = ""

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self.settings["cluster_name"]

    @property
    def missing(self) -> list[Resource]:
        """What is not there yet."""
        return [each for each in self.resources if not (each.found and each.found.is_ready)]

    def lines(self) -> Iterator[str]:
        """Yield the plan, a line for each thing."""
        for resource in self.resources:
            state = "to be made" if resource in self.missing else "there"
            yield f"{state:10}  {resource.title}"
        settings = self.settings
        num_subnets = counted(len(self.subnets), "subnet")
        yield f"{'there':10}  {num_subnets} in {', '.join(each.zone for each in self.subnets)}"
        origin = (
            "as the file says (with ami-0123456789abcdef0 there, the newest)"
            if self.file.own_id("image")
            else f"the newest of {IMAGE_PARAMETER}"
        )
        yield f"{'there':10}  image {settings['image']}, {origin}"
        yield from self.facts
        head, worker = settings["head_type"], settings["worker_type"]
        yield f"Costs: the head, {head}, {machine_price_text(head)};"
        yield f"  each worker, {worker}, at most {machine_price_text(worker)},"
        yield f"  from its start until it has idled as long as the file says{self._ceiling};"
        yield f"  the disk, {disk_price_text()}. All else costs nothing while it idles."

    @property
    def _ceiling(self) -> str:
        """What head and all workers cost together, as a phrase; "" if not known."""
        prices = [machine_price(self.settings[name]) for name in ("head_type", "worker_type")]
        head, worker = prices
        if head is None or worker is None:
            return ""
        num_workers = int(self.settings["max_workers"])
        return f"; with all {num_workers} at most ${head + num_workers * worker:.2f} an hour"

    def carry_out(self, report: Callable[[str], None]) -> None:
        """Make what is missing and write the file.

        Args:
            report: Called with a sentence for each thing that is made.

        Raises:
            BadInput: If AWS refuses a call. What was made stays, and the same call goes on.
        """
        missing, made = self.missing, list[str]()
        try:
            with in_sentences():
                for resource in missing:
                    resource.complete()
                    made.append(resource.title)
                    report(f"made: {resource.title}")
                for resource in missing:
                    if not resource.wait():
                        raise BadInput(f"The {resource.title} is not ready yet.")
        except BadInput as error:
            so_far = f"Made so far: {', '.join(made)}. " * bool(made)
            raise type(error)(*_advised(error, f"{so_far}The same command goes on.")) from error
        self.file.write(self.settings | self.ids())

    def ids(self) -> dict[str, str]:
        """Return the ids of what is there, by the setting of the file that names it."""
        of_kinds: Mapping[type[Resource], str] = {
            SecurityGroup: "security_group",
            Disk: "disk",
            AccessPoint: "access_point",
        }
        return {
            of_kinds[type(each)]: each.id
            for each in self.resources
            if type(each) in of_kinds and each.found
        }


def _advised(error: BadInput, advice: str) -> tuple[str, ...]:
    """Return the arguments of an error with more advice."""
    message = f"{error} {advice}"
    return (message, error.operation) if isinstance(error, NoRight) else (message,)


def region_of(options: ClusterOptions, file: ClusterSettings, of_user: str | None) -> str:
    """Return the region: the asked one, the user's own, or the file's.

    Args:
        options: What is asked for.
        file: The cluster's file.
        of_user: That of the user's settings of AWS.
    """
    own = of_user if file.is_shipped else None
    return options.region or own or file.values["region"]


def check_options(options: ClusterOptions) -> None:
    """Check what can be checked without asking AWS.

    Raises:
        BadInput: If an option is not valid.
    """
    name = options.name
    if name is not None and not _NAME.fullmatch(name):
        raise BadInput(
            f"--name is '{one_line(name)}': give up to 31 small letters, digits and hyphens, a "
            f"letter first."
        )
    workers = options.num_workers
    if workers is not None and not 1 <= workers <= _MOST_WORKERS:
        raise BadInput(f"--workers is {workers}: give 1 to {_MOST_WORKERS}.")
    if options.ssh_from is not None:
        _network(options.ssh_from)


def _network(addresses: str) -> str:
    try:
        return str(ipaddress.ip_network(addresses))
    except ValueError as error:
        raise BadInput(
            f"--ssh-from is '{one_line(addresses)}': give addresses such as 198.51.100.7/32 or "
            f"198.51.100.0/24."
        ) from error


def make_plan(account: Account, file: ClusterSettings, options: ClusterOptions) -> AwsPlan:
    """Look at an account, and plan what a cluster needs.

    Args:
        account: The account, in the cluster's region.
        file: The cluster's file.
        options: What is asked for.

    Raises:
        BadInput: If the account cannot have the cluster: a region without the machines, no public
            subnet, no quota, or a resource of somebody else.
    """
    account.client("sts").get_caller_identity()
    if options.head_profile:
        _check_profile(account, options.head_profile)
    _forget_gone(account, file)
    settings = _settings(account, file, options)
    network, subnets = _subnets(account, file, settings)
    settings["subnets"] = ", ".join(subnet.id for subnet in subnets)
    settings["image"] = _image(account, file)
    ssh_from = _network(options.ssh_from or _own_address())
    resources = _resources(account, settings, options, (network, subnets, ssh_from))
    plan = AwsPlan(account, file, settings, resources, subnets, ssh_from)
    for resource in plan.resources:
        resource.find()
        resource.check_own()
    plan.facts += _facts(plan)
    plan.difference = _difference(plan)
    return plan


def _check_profile(account: Account, name: str) -> None:
    """Make sure that there is an instance profile.

    Raises:
        BadInput: If there is none.
    """
    if not HeadProfile(account, "", name=name).find_surely():
        raise BadInput(
            f"The account has no instance profile '{one_line(name)}': ask an administrator for "
            f"its name, or leave out --head-profile to have one made."
        )


def _forget_gone(account: Account, file: ClusterSettings) -> None:
    """Have the file forget the ids of what is not there any more, as after `destroy`."""
    if file.values["region"] != account.region:
        return
    ec2, efs = account.client("ec2"), account.client("efs")
    looks: Mapping[str, Callable[[str], object]] = {
        "security_group": lambda name: ec2.describe_security_groups(GroupIds=[name]),
        "disk": lambda name: efs.describe_file_systems(FileSystemId=name),
        "access_point": lambda name: efs.describe_access_points(AccessPointId=name),
    }
    for setting, look in looks.items():
        name = file.own_id(setting)
        if name and not account.wait(partial(_is_there, look, name), tries=3):
            file.forget(setting)


def _is_there(look: Callable[[str], object], name: str) -> bool:
    from botocore.exceptions import ClientError

    try:
        look(name)
    except ClientError as error:
        if not NOT_THERE.search(code_of(error)):
            raise
        return False
    return True


def _settings(account: Account, file: ClusterSettings, options: ClusterOptions) -> dict[str, str]:
    """Return what the file is going to say, without what depends on the account."""
    before = file.values
    name = options.name or before["cluster_name"]
    machine = _machine_type(options.gpu_type) or before["worker_type"]
    cpus, gpus = _size(account, machine)
    settings = {
        "cluster_name": name,
        "region": account.region,
        "key_name": f"{name}_{account.region}",
        "head_profile": options.head_profile or f"{name}-head",
        "head_type": before["head_type"],
        "worker_type": machine,
        "worker_resources": f"CPU: {cpus}, GPU: {gpus}",
        "price": before["price"],
        **_numbers_of_workers(before, options),
    }
    price = machine_price(machine)
    if machine != before["worker_type"]:
        if price is None:
            raise BadInput(
                f"This release does not know the price of {machine}: write the type, its "
                f"resources and its price into {file.path}, and leave out --gpu-type."
            )
        settings["price"] = f"{price:.2f}"
    return settings


def _numbers_of_workers(before: Values, options: ClusterOptions) -> dict[str, str]:
    names = ("max_workers", "max_spot_workers", "max_on_demand_workers")
    if options.num_workers is None and not options.is_on_demand:
        return {name: before[name] for name in names}
    workers = str(options.num_workers or before["max_workers"])
    if options.is_on_demand or before["max_spot_workers"] == "0":
        return dict(zip(names, (workers, "0", workers), strict=True))
    return dict(zip(names, (workers, workers, before["max_on_demand_workers"]), strict=True))


def _machine_type(asked: str | None) -> str | None:
    """Return the type of machine that is meant, by its name or that of its GPU.

    Raises:
        BadInput: If there is no such GPU.
    """
    if asked is None or "." in asked:
        return asked
    gpus = {name.lower(): machine for name, machine in SMALLEST_WITH.items()}
    if asked.lower() not in gpus:
        raise BadInput(
            f"{unknown('GPU', asked, [*SMALLEST_WITH])} A type of machine, such as g5.xlarge, may "
            f"stand there too."
        )
    return gpus[asked.lower()]


def _size(account: Account, machine: str) -> tuple[int, int]:
    """Return how many cores and GPUs a machine has.

    Raises:
        BadInput: If there is no such type, or it has no GPU of NVIDIA's.
    """
    from botocore.exceptions import ClientError

    try:
        described = account.client("ec2").describe_instance_types(InstanceTypes=[machine])
    except ClientError as error:
        if "InvalidInstanceType" not in code_of(error):
            raise
        raise BadInput(
            f"{account.region} knows no machine '{one_line(machine)}': give one such as g5.xlarge, "
            f"or a GPU: {', '.join(SMALLEST_WITH)}.{hint(machine, [*SMALLEST_WITH.values()])}"
        ) from error
    (kind,) = described["InstanceTypes"]
    gpus = (kind.get("GpuInfo") or {}).get("Gpus") or []
    num_gpus = sum(gpu["Count"] for gpu in gpus if gpu.get("Manufacturer") == "NVIDIA")
    if not num_gpus:
        raise BadInput(f"{machine} has no GPU of NVIDIA's: give a type that has one, as g5.xlarge.")
    return kind["VCpuInfo"]["DefaultVCpus"], num_gpus


def default_network(account: Account) -> str | None:
    """Return the id of the region's default VPC, None if it has none."""
    filters = [{"Name": "is-default", "Values": ["true"]}]
    listed = account.client("ec2").describe_vpcs(Filters=filters)["Vpcs"]
    return listed[0]["VpcId"] if listed else None


def _subnets(
    account: Account, file: ClusterSettings, settings: Values
) -> tuple[str, Sequence[Subnet]]:
    """Return the default VPC and its public subnets in zones that have the machines.

    Raises:
        BadInput: If there is none.
    """
    network = default_network(account)
    if network is None:
        raise BadInput(f"{account.region} has no default VPC: make one, or take another --region.")
    ec2 = account.client("ec2")
    machines = (settings["head_type"], settings["worker_type"])
    zones = set.intersection(*(_zones(account, machine) for machine in machines))
    if not zones:
        raise BadInput(
            f"{account.region} has {' and '.join(machines)} in no common zone: take another "
            f"--region or --gpu-type."
        )
    listed = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [network]}])["Subnets"]
    public = {
        each["AvailabilityZone"]: Subnet(each["SubnetId"], each["AvailabilityZone"])
        for each in sorted(listed, key=lambda each: each["SubnetId"], reverse=True)
        if each["MapPublicIpOnLaunch"] and each["AvailabilityZone"] in zones
    }
    own = file.own_id("subnets") if file.values["region"] == account.region else None
    subnets = [each for _, each in sorted(public.items()) if not own or each.id in own]
    if not subnets:
        raise BadInput(
            f"No subnet of the default VPC {network} gives machines a public address in "
            f"{', '.join(sorted(zones))}: enable it for a subnet in the VPC console, or take "
            f"another --region."
        )
    return network, subnets


def _zones(account: Account, machine: str) -> set[str]:
    offered = account.client("ec2").describe_instance_type_offerings(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [machine]}]
    )
    return {each["Location"] for each in offered["InstanceTypeOfferings"]}


def _image(account: Account, file: ClusterSettings) -> str:
    """Return the image that the file names, if it is there, or the newest one.

    Raises:
        BadInput: If AWS has no parameter of that name.
    """
    from botocore.exceptions import ClientError

    own = file.own_id("image")
    if own and file.values["region"] == account.region:
        images = account.client("ec2").describe_images(
            Filters=[{"Name": "image-id", "Values": [own]}]
        )
        if not images["Images"]:
            raise BadInput(
                f"{file.path} names the image {own}, which {account.region} does not have: write "
                f"{SHIPPED_IDS['image']} in its place for the newest."
            )
        return own
    try:
        return account.client("ssm").get_parameter(Name=IMAGE_PARAMETER)["Parameter"]["Value"]
    except ClientError as error:
        if "ParameterNotFound" not in code_of(error):
            raise
        raise BadInput(
            f"{account.region} has no parameter {IMAGE_PARAMETER}: write the id of an image with "
            f"NVIDIA's driver and Python 3.11 or later into {file.path}."
        ) from error


def _own_address() -> str:
    """Return the address from which AWS sees this machine.

    Raises:
        BadInput: If AWS's service does not answer.
    """
    try:
        with urllib.request.urlopen(_ADDRESS_SERVICE, timeout=_ADDRESS_SECONDS) as answer:
            return str(ipaddress.ip_address(answer.read(100).decode().strip()))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{_ADDRESS_SERVICE} does not say from which address AWS sees this machine: give "
            f"--ssh-from ADDRESS/32."
        ) from error


def _resources(
    account: Account,
    settings: Values,
    options: ClusterOptions,
    place: tuple[str, Sequence[Subnet], str],
) -> list[Resource]:
    """Return all that a cluster needs; what the user may lack the right for comes first."""
    name, (network, subnets, ssh_from) = settings["cluster_name"], place
    resources: list[Resource] = []
    if options.head_profile is None:
        resources += head_resources(account, name)
    if settings["max_spot_workers"] != "0":
        resources.append(SpotRole(account, name))
    group, disk = SecurityGroup(account, name, network), Disk(account, name)
    resources += [group, GroupRule(account, group), GroupRule(account, group, ssh_from), disk]
    resources += [MountTarget(account, disk, group, subnet) for subnet in subnets]
    return [*resources, AccessPoint(account, name, disk)]


def head_resources(account: Account, cluster: str) -> list[Resource]:
    """Return the head's rights, in the order in which they are made."""
    name = f"{cluster}-head"
    role, profile = HeadRole(account, cluster, name=name), HeadProfile(account, cluster, name=name)
    return [
        role,
        HeadPolicy(account, cluster, role, name),
        profile,
        RoleInProfile(account, cluster, profile, name),
    ]


def _facts(plan: AwsPlan) -> Iterator[str]:
    """Yield what was found out about quotas, rights, and open doors.

    Raises:
        BadInput: If the quota is too small, or a right is missing.
    """
    yield _quota(plan)
    yield _rights(plan)
    if plan.ssh_from in _WORLD:
        yield "OPEN: port 22 is open to the whole world, as --ssh-from says."


def _quota(plan: AwsPlan) -> str:
    """Return the quota, and what is asked of it.

    Raises:
        BadInput: If it is too small.
    """
    from botocore.exceptions import ClientError

    settings = plan.settings
    is_spot, machine = settings["max_spot_workers"] != "0", settings["worker_type"]
    try:
        kind, quota = quota_of(plan.account.client("service-quotas"), machine, is_spot=is_spot)
    except ClientError as error:
        return f"quota of {machine}: not known until tried ({code_of(error)})"
    if quota is None:
        return f"quota of {machine}: not known until tried"
    cpus = int(re.findall(r"\d+", settings["worker_resources"])[0])
    needed, num_fitting = cpus * int(settings["max_workers"]), int(quota // cpus)
    if quota < needed:
        fewer = f"or give --workers {num_fitting}" if num_fitting else "or take --on-demand"
        raise BadInput(
            f"The account may have {quota:g} vCPUs of {kind} machines like {machine}, and "
            f"{settings['max_workers']} need {needed}: ask AWS for more (Service Quotas), {fewer}."
        )
    return f"quota of {kind} machines like {machine}: {needed} vCPUs are needed, {quota:g} allowed"


def _rights(plan: AwsPlan) -> str:
    """Return which rights are known, by calls that EC2 checks and does not make.

    Raises:
        BadInput: If one is missing.
    """
    from botocore.exceptions import ClientError

    ec2, settings = plan.account.client("ec2"), plan.settings
    calls: Mapping[str, Callable[[], object]] = {
        "CreateSecurityGroup": lambda: ec2.create_security_group(
            GroupName=f"{plan.cluster}-try", Description="-", DryRun=True
        ),
        "RunInstances": lambda: ec2.run_instances(
            ImageId=settings["image"],
            InstanceType=settings["worker_type"],
            SubnetId=plan.subnets[0].id,
            MinCount=1,
            MaxCount=1,
            DryRun=True,
        ),
        "CreateKeyPair": lambda: ec2.create_key_pair(KeyName=f"{plan.cluster}-try", DryRun=True),
    }
    known: list[str] = []
    for name, call in calls.items():
        try:
            call()
        except ClientError as error:
            if "Unauthorized" in code_of(error):
                raise
            if "DryRun" in code_of(error):
                known.append(name)
    return f"you may call {', '.join(known)}; of the other rights it is not known until tried"


def _difference(plan: AwsPlan) -> str:
    """Return how the file would differ, if it has values of its own; else ""."""
    if plan.file.is_shipped:
        return ""
    changes = plan.settings | plan.ids()
    others = {
        name: value
        for name, value in changes.items()
        if value != plan.file.values[name] and (name not in SHIPPED_IDS or plan.file.own_id(name))
    }
    for name in ("security_group", "disk", "access_point"):
        if name not in changes and plan.file.own_id(name):
            others[name] = "(not made yet)"
    return plan.file.difference(others) if others else ""
