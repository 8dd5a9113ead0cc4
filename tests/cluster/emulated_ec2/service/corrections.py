"""What AWS answers and moto does not, or answers otherwise."""

import json
from collections.abc import Iterator

from aws_request import Answer, Request, refusal
from moto.core import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends
from moto.efs.models import efs_backends
from moto.iam.models import SERVICE_NAME_CONVERSION, iam_backends

SERVICE_NAME_CONVERSION["spot"] = "EC2Spot"  # moto would say AWSServiceRoleForspot
IMAGE_PARAMETER = (
    "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"
)
_IMAGE = "Deep Learning AMI Ubuntu Linux"  # how the name of one of moto's images begins
_QUOTAS = {"L-3819A6DF": 64.0, "L-DB2E81BA": 64.0, "L-7212CCBC": 64.0, "L-417A185B": 64.0}


class Corrections:
    """Answers in the place of moto.

    Attributes:
        quotas: Code of each quota of EC2 -> how many vCPUs.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget the quotas that were set."""
        self.quotas = dict(_QUOTAS)

    def answer(self, request: Request) -> Answer | None:
        """Return the answer to a request, None where moto gives it."""
        values = request.values
        match request.name:
            case "servicequotas:GetServiceQuota" if values.get("QuotaCode") in self.quotas:
                quota = {"ServiceCode": values["ServiceCode"], "QuotaCode": values["QuotaCode"]}
                return _json({"Quota": {**quota, "Value": self.quotas[values["QuotaCode"]]}})
            case "ssm:GetParameter" if values["Name"] == IMAGE_PARAMETER:
                return _image(request)
            case "elasticfilesystem:CreateAccessPoint":
                return _point_is_there(request)
            case "iam:CreateServiceLinkedRole":
                return _role_is_taken(request)
            case "ec2:DeleteSecurityGroup" if not request.is_dry_run:
                return _group_in_use(request)
            case "ec2:RunInstances":
                return _no_profile(request)
        return None


def profile_of(request: Request) -> str:
    """Return the name of the instance profile that machines are asked for with, "" for none."""
    arn = request.values.get("IamInstanceProfile.Arn", "")
    return request.values.get("IamInstanceProfile.Name", arn.rpartition("/")[2])


def refused_profile(request: Request) -> Answer:
    """Return EC2's answer where it does not know an instance profile."""
    message = f"Value ({profile_of(request)}) for parameter iamInstanceProfile.name is invalid. "
    return refusal(request, "InvalidParameterValue", message + "Invalid IAM Instance Profile name")


def refused_group(request: Request, name: str) -> Answer:
    """Return EC2's answer where a security group that is to be deleted is in use."""
    message = f"resource {name} has a dependent object"
    return refusal(request, "DependencyViolation", message)


def end_interface_with(machine: str, region: str) -> None:
    """Have a machine's own network interface end with it, which moto keeps."""
    backend = ec2_backends[DEFAULT_ACCOUNT_ID][region]
    for interface in backend.get_instance(machine).nics.values():
        interface.delete_on_termination = True


def _json(answer: object) -> Answer:
    headers = [("Content-Type", "application/x-amz-json-1.1")]
    return Answer("200 OK", headers, json.dumps(answer).encode())


def _image(request: Request) -> Answer:
    images = ec2_backends[DEFAULT_ACCOUNT_ID][request.region].amis.values()
    image = next(image.id for image in images if image.name.startswith(_IMAGE))
    name = request.values["Name"]
    parameter = {"Name": name, "Type": "String", "Value": image, "Version": 1}
    parameter["ARN"] = f"arn:aws:ssm:{request.region}::parameter{name}"
    return _json({"Parameter": {**parameter, "DataType": "aws:ec2:image"}})


def _point_is_there(request: Request) -> Answer | None:
    """Refuse a second access point of one client token; moto makes it."""
    points = efs_backends[DEFAULT_ACCOUNT_ID][request.region].access_points.values()
    token, disk = request.values["ClientToken"], request.values["FileSystemId"]
    if (token, disk) not in {(point.client_token, point.file_system_id) for point in points}:
        return None
    return refusal(request, "AccessPointAlreadyExists", f"There is one of the token {token}")


def _role_is_taken(request: Request) -> Answer | None:
    if request.values["AWSServiceName"] != "spot.amazonaws.com":
        return None
    name = "AWSServiceRoleForEC2Spot"
    if name not in {role.name for role in iam_backends[DEFAULT_ACCOUNT_ID]["aws"].roles.values()}:
        return None
    message = f"Service role name {name} has been taken in this account, "
    return refusal(request, "InvalidInput", message + "please try a different suffix.")


def _group_in_use(request: Request) -> Answer | None:
    """Refuse to delete a group that something belongs to or refers to; moto deletes it."""
    backend = ec2_backends[DEFAULT_ACCOUNT_ID][request.region]
    name = request.values.get("GroupId") or request.values.get("GroupName", "")
    group = backend.get_security_group_by_name_or_id(name)
    if group and group.id in set(_groups_in_use(backend, group.id)):
        return refused_group(request, name)
    return None


def _groups_in_use(backend, but: str) -> Iterator[str]:
    """Yield the groups of interfaces and machines, and those that rules of others refer to."""
    for interface in backend.enis.values():
        yield from (group.id for group in interface.group_set)
    for reservation in backend.reservations.values():
        for machine in reservation.instances:
            if machine.state != "terminated":
                yield from (group.id for group in machine.security_groups)
    for groups in backend.groups.values():
        for group in groups.values():
            rules = [*group.ingress_rules, *group.egress_rules] if group.id != but else []
            yield from (rule.source_group["GroupId"] for rule in rules if rule.source_group)


def _no_profile(request: Request) -> Answer | None:
    profiles = iam_backends[DEFAULT_ACCOUNT_ID]["aws"].instance_profiles
    name = profile_of(request)
    return refused_profile(request) if name and name not in profiles else None
