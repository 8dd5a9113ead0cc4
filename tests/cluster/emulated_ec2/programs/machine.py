"""The machine that a program runs on, as EC2 knows it."""

import os
import socket
from typing import Any

import boto3


def client(service: str) -> Any:
    """Return a client of a service, whose calls are none of capsweep's."""
    keys = {"aws_access_key_id": "observer", "aws_secret_access_key": "none"}
    return boto3.client(service, region_name="us-west-2", **keys)


def this_machine() -> dict[str, Any]:
    """Return EC2's description of this machine."""
    host, _, port = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as link:
        filters = [{"Name": "private-ip-address", "Values": [link.getsockname()[0]]}]
    # moto leaves its address to a machine that has ended, and gives it to the next one too
    filters += [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    return client("ec2").describe_instances(Filters=filters)["Reservations"][0]["Instances"][0]
