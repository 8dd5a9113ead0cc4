"""The rights on AWS that a cluster needs, as policies of IAM."""

from collections.abc import Mapping, Sequence
from typing import Any

IMAGE_PARAMETER = (
    "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id"
)
"""AWS's public parameter with the id of the newest image: driver, CUDA and Python 3.12."""
SPOT_ROLE = "AWSServiceRoleForEC2Spot"
SPOT_SERVICE = "spot.amazonaws.com"
_Policy = dict[str, Any]

TRUST: Mapping[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "ec2.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}
"""Who may take the head's role: machines of EC2."""


def head_policy(cluster: str, region: str) -> _Policy:
    """Return what the head may do: start machines in a region, end and tag the cluster's alone."""
    return _policy(
        _allowed(
            ["ec2:Describe*", "ec2:RunInstances"],
            condition={"StringEquals": {"aws:RequestedRegion": region}},
        ),
        _allowed(
            ["ec2:CreateTags"],
            condition={"StringEquals": {"ec2:CreateAction": "RunInstances"}},
        ),
        _allowed(
            ["ec2:TerminateInstances", "ec2:CreateTags", "ec2:DeleteTags"],
            condition={"StringEquals": {"ec2:ResourceTag/ray-cluster-name": cluster}},
        ),
    )


def user_policy(cluster: str, region: str) -> _Policy:
    """Return what the user needs for `init`, `ray up`, `submit`, `ray down` and `destroy`."""
    head = [
        f"arn:aws:iam::*:role/{cluster}-head",
        f"arn:aws:iam::*:instance-profile/{cluster}-head",
    ]
    here = {"StringEquals": {"aws:RequestedRegion": region}}
    return _policy(
        _allowed(_OF_REGION, condition=here),
        _allowed(
            ["ec2:TerminateInstances"],
            condition={"StringEquals": {"ec2:ResourceTag/ray-cluster-name": cluster}},
        ),
        _allowed(_OF_HEAD, head),
        _allowed(
            ["iam:GetRole", "iam:CreateServiceLinkedRole"],
            [
                f"arn:aws:iam::*:role/aws-service-role/{SPOT_SERVICE}/{SPOT_ROLE}",
                "arn:aws:iam::*:role/aws-service-role/elasticfilesystem.amazonaws.com/*",
            ],
        ),
        _allowed(["sts:GetCallerIdentity"]),
    )


_OF_REGION = [
    "ec2:Describe*",
    "ec2:RunInstances",
    "ec2:CreateTags",
    "ec2:CreateKeyPair",
    "ec2:DeleteKeyPair",
    "ec2:CreateSecurityGroup",
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:DeleteSecurityGroup",
    "ec2:CreateDefaultVpc",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "elasticfilesystem:Describe*",
    "elasticfilesystem:CreateFileSystem",
    "elasticfilesystem:CreateMountTarget",
    "elasticfilesystem:CreateAccessPoint",
    "elasticfilesystem:TagResource",
    "elasticfilesystem:DeleteFileSystem",
    "elasticfilesystem:DeleteMountTarget",
    "elasticfilesystem:DeleteAccessPoint",
    "servicequotas:GetServiceQuota",
    "ssm:GetParameter",
]
_OF_HEAD = [
    "iam:GetRole",
    "iam:CreateRole",
    "iam:TagRole",
    "iam:DeleteRole",
    "iam:ListAttachedRolePolicies",
    "iam:GetRolePolicy",
    "iam:PutRolePolicy",
    "iam:DeleteRolePolicy",
    "iam:GetInstanceProfile",
    "iam:CreateInstanceProfile",
    "iam:TagInstanceProfile",
    "iam:DeleteInstanceProfile",
    "iam:AddRoleToInstanceProfile",
    "iam:RemoveRoleFromInstanceProfile",
    "iam:PassRole",
]


def _policy(*statements: Mapping[str, Any]) -> _Policy:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _allowed(
    actions: Sequence[str],
    resources: str | Sequence[str] = "*",
    condition: Mapping[str, Any] | None = None,
) -> _Policy:
    statement: _Policy = {"Effect": "Allow", "Action": list(actions), "Resource": resources}
    return statement | ({"Condition": condition} if condition else {})
