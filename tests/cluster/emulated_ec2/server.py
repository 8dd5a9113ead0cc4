"""Moto's EC2 as a server, in an environment that has moto.

    python server.py ADDRESS PORT NO_SPOT

While the file NO_SPOT is there, no spot machine can be had. It prints lines of JSON: first the ids
of an account that has what docs/aws.md asks for, and then the machines and the keys of users
whenever they have changed.
"""

import io
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import parse_qs

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

_POLL_SECONDS = 0.3
_APPLICATION = DomainDispatcherApplication(create_backend_app)
_NO_SPOT = b"""<Response><Errors><Error><Code>InsufficientInstanceCapacity</Code>
<Message>We currently do not have sufficient capacity.</Message></Error></Errors></Response>"""


def main(address: str, port: int, no_spot: Path) -> None:
    """Serve until the process is killed."""

    requests: dict[str, dict[str, str]] = {}

    def answer(environment: dict, start: Callable) -> Iterable[bytes]:
        return _answer(environment, start, no_spot, requests)

    server = make_server(address, port, answer, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    session = boto3.Session(region_name="us-west-2", **keys)
    url = f"http://{address}:{port}"
    ec2, iam = (session.client(name, endpoint_url=url) for name in ("ec2", "iam"))
    last = json.dumps(_account(ec2, iam))
    print(last, flush=True)  # noqa: T201
    while True:
        if (now := json.dumps(_state(ec2, requests))) != last:
            last = now
            print(now, flush=True)  # noqa: T201
        time.sleep(_POLL_SECONDS)


def _answer(
    environment: dict, start: Callable, no_spot: Path, requests: dict[str, dict[str, str]]
) -> Iterable[bytes]:
    """Answer a request; moto starts as many machines as there have to be, EC2 as there may be.

    Args:
        environment: The request.
        start: Takes the status and the headers.
        no_spot: While it is there, no spot machine can be had.
        requests: Gets id of each machine -> what was asked for.
    """
    body = environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
    if b"Action=RunInstances" in body and b"MarketType=spot" in body and no_spot.exists():
        start("400 Bad Request", [("Content-Type", "text/xml")])
        return [_NO_SPOT]
    if b"Action=RunInstances" in body and (most := re.search(rb"MaxCount=(\d+)", body)):
        body = re.sub(rb"MinCount=\d+", b"MinCount=" + most[1], body)
    environment["wsgi.input"] = io.BytesIO(body)
    environment["CONTENT_LENGTH"] = str(len(body))
    answered = list(_APPLICATION(environment, start))
    if b"Action=RunInstances" in body:
        asked = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        for machine in re.findall(rb"<instanceId>(i-\w+)<", b"".join(answered)):
            requests[machine.decode()] = asked
    return answered


def _account(ec2, iam) -> dict:
    """Make what a user makes once, and return the ids."""
    iam.create_role(RoleName="capsweep-head", AssumeRolePolicyDocument="{}")
    iam.create_instance_profile(InstanceProfileName="capsweep-head")
    iam.add_role_to_instance_profile(InstanceProfileName="capsweep-head", RoleName="capsweep-head")
    network = ec2.describe_vpcs()["Vpcs"][0]["VpcId"]
    group = ec2.create_security_group(GroupName="capsweep", Description="-", VpcId=network)
    rules = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group["GroupId"]}]}]
    laptop = [{"CidrIp": "10.77.0.10/32"}]
    rules += [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": laptop}]
    ec2.authorize_security_group_ingress(GroupId=group["GroupId"], IpPermissions=rules)
    iam.create_role(RoleName="AWSServiceRoleForEC2Spot", AssumeRolePolicyDocument="{}")
    subnets = ec2.describe_subnets()["Subnets"]
    return {
        "image": ec2.describe_images()["Images"][0]["ImageId"],
        "security_group": group["GroupId"],
        "subnets": [subnet["SubnetId"] for subnet in subnets[:2]],
    }


def _state(ec2, requests: dict[str, dict[str, str]]) -> dict:
    listed = [
        instance
        for each in ec2.describe_instances()["Reservations"]
        for instance in each["Instances"]
    ]
    machines = [
        {
            "id": instance["InstanceId"],
            "is_there": instance["State"]["Name"] in {"pending", "running"},
            "addresses": [instance.get("PrivateIpAddress"), instance.get("PublicIpAddress")],
            "tags": {tag["Key"]: tag["Value"] for tag in instance.get("Tags", ())},
            "request": requests[instance["InstanceId"]],
        }
        for instance in listed
        if instance["InstanceId"] in requests
    ]
    pairs = ec2.describe_key_pairs(IncludePublicKey=True)["KeyPairs"]
    return {"machines": machines, "keys": [pair["PublicKey"].strip() for pair in pairs]}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
