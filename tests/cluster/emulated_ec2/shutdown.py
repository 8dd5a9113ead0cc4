"""What happens on EC2 when a machine shuts down: it ends or stops, as it was started to."""

import os
import socket

import boto3

_BEHAVIOUR = "instanceInitiatedShutdownBehavior"


def main() -> None:
    """End or stop the machine that this runs on."""
    host, _, port = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port))) as link:
        filters = [{"Name": "private-ip-address", "Values": [link.getsockname()[0]]}]
    ec2 = boto3.client("ec2", region_name="us-west-2")
    machine = ec2.describe_instances(Filters=filters)["Reservations"][0]["Instances"][0]
    name = machine["InstanceId"]
    asked = ec2.describe_instance_attribute(InstanceId=name, Attribute=_BEHAVIOUR)
    if asked["InstanceInitiatedShutdownBehavior"]["Value"] == "terminate":
        ec2.terminate_instances(InstanceIds=[name])
    else:
        ec2.stop_instances(InstanceIds=[name])


if __name__ == "__main__":
    main()
