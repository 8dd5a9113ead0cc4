"""Moto's account on AWS as a server, in an environment that has moto.

With --bare the account has what AWS gives it, and nothing that a user makes by hand. With
--unsteady it is as AWS is in its first seconds. It prints lines of JSON: first where it is and the
ids of an account that has what docs/aws.md asks for; with --watch also the machines and the keys of
users whenever they have changed.
"""

import argparse
import io
import json
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import boto3
from aws_request import Answer, Request, parsed_request, refusal
from calls import Calls
from corrections import IMAGE_PARAMETER, Corrections, end_interface_with
from moto.server import DomainDispatcherApplication, create_backend_app
from unsteady import Unsteady
from werkzeug.serving import make_server

_POLL_SECONDS = 0.3
_OBSERVER = "observer"  # the key id of whoever looks on: steady, and in no record
_NO_SPOT = "We currently do not have sufficient capacity."


def main() -> None:
    """Serve until the process is killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("port", type=int, help="0 for any that is free")
    parser.add_argument("--no-spot", type=Path, help="while it exists, no spot machine can be had")
    parser.add_argument("--calls", type=Path, help="gets a line of JSON for each request")
    for option in ("--bare", "--unsteady", "--watch"):
        parser.add_argument(option, action="store_true")
    given = parser.parse_args()
    account = _Account(given.no_spot, Calls(given.calls), given.unsteady)
    server = make_server(given.address, given.port, account, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://{given.address}:{server.server_port}"
    session = boto3.Session(_OBSERVER, "none", region_name="us-west-2")
    ec2, iam, ssm = (session.client(name, endpoint_url=url) for name in ("ec2", "iam", "ssm"))
    account.furnish = lambda: {"url": url, **({} if given.bare else _furnished(ec2, iam, ssm))}
    last = json.dumps(account.furnish())
    print(last, flush=True)  # noqa: T201
    while True:
        if given.watch and (now := json.dumps(_state(ec2, account.requests))) != last:
            last = now
            print(now, flush=True)  # noqa: T201
        time.sleep(_POLL_SECONDS)


@dataclass
class _Failure:
    """Requests that are to fail.

    Attributes:
        action: Of which action.
        code: What they are answered.
        message: Its message.
        times: How many more.
    """

    action: str
    code: str
    message: str
    times: int


class _Account:
    """The application that answers all requests.

    Args:
        no_spot: While it is there, no spot machine can be had.
        calls: Gets each request.
        is_unsteady: Whether the account is as AWS is in its first seconds.

    Attributes:
        requests: Id of each machine -> what was asked for.
        furnish: Makes what a user makes by hand, and returns the ids.
    """

    furnish: Callable[[], dict]

    def __init__(self, no_spot: Path | None, calls: Calls, is_unsteady: bool) -> None:
        self.requests: dict[str, dict[str, str]] = {}
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._no_spot = no_spot
        self._calls = calls
        self._corrections = Corrections()
        self._unsteady = Unsteady() if is_unsteady else None
        self._failures: list[_Failure] = []
        self._lock = threading.Lock()

    def __call__(self, environment: dict, start: Callable) -> Iterable[bytes]:
        body = environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
        if environment["PATH_INFO"].startswith("/emulated/"):
            answer = self._obey(environment["PATH_INFO"], json.loads(body or b"{}"))
        else:
            request = parsed_request(environment, body)
            with self._lock:  # what is hidden from one request must not be so from others
                answer = self._answer(request, environment, body)
        start(answer.status, answer.headers)
        return [answer.body]

    def _obey(self, path: str, values: dict) -> Answer:
        """Do what a test asks for."""
        answer: object = None
        match path:
            case "/emulated/fail":
                self._failures.append(_Failure(**values))
            case "/emulated/quotas":
                self._corrections.quotas |= values
            case "/emulated/reset":
                answer = self._reset()
        return Answer("200 OK", [("Content-Type", "application/json")], json.dumps(answer).encode())

    def _reset(self) -> dict:
        reset = {"REQUEST_METHOD": "POST", "PATH_INFO": "/moto-api/reset", "SERVER_NAME": "-"}
        reset |= {"SERVER_PORT": "0", "wsgi.url_scheme": "http"}
        with self._lock:
            assert not self._run(reset, b"").is_error
        made = self.furnish()
        with self._lock:
            self.requests.clear()
            self._failures.clear()
            self._corrections.forget()
            self._calls.forget()
            if self._unsteady:
                self._unsteady.forget()
        return made

    def _answer(self, request: Request | None, environment: dict, body: bytes) -> Answer:
        if not request:
            return self._run(environment, body)
        unsteady = None
        if request.key != _OBSERVER:
            unsteady = self._unsteady
            self._calls.record(request)
        if answer := self._refused(request) or self._corrections.answer(request):
            if unsteady and answer.is_error:
                unsteady.let_time_pass()
            return answer
        if request.name == "ec2:RunInstances":
            body = _as_many_as_may_be(request, body)

        def run() -> Answer:
            return self._run(environment, body)

        answer = unsteady.answer(request, run) if unsteady else run()
        self._note_machines(request, answer)
        return answer

    def _note_machines(self, request: Request, answer: Answer) -> None:
        if request.name != "ec2:RunInstances":
            return
        for machine in re.findall(rb"<instanceId>(i-\w+)<", answer.body):
            end_interface_with(machine.decode(), request.region)
            self.requests[machine.decode()] = dict(request.values)

    def _refused(self, request: Request) -> Answer | None:
        """Refuse what a test has said is to fail, and spot machines while there are none."""
        for failure in self._failures:
            if failure.action == request.name and failure.times:
                failure.times -= 1
                return refusal(request, failure.code, failure.message)
        is_spot = request.values.get("InstanceMarketOptions.MarketType") == "spot"
        if is_spot and self._no_spot and self._no_spot.exists():
            return refusal(request, "InsufficientInstanceCapacity", _NO_SPOT)
        return None

    def _run(self, environment: dict, body: bytes) -> Answer:
        """Have moto answer."""
        started: list = []
        more = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        chunks = self._moto({**environment, **more}, lambda *given: started.extend(given))
        body = b"".join(chunks)
        return Answer(started[0], started[1], body)


def _as_many_as_may_be(request: Request, body: bytes) -> bytes:
    """Return a request for the most machines: moto starts as many as there have to be."""
    return re.sub(rb"MinCount=\d+", b"MinCount=" + request.values["MaxCount"].encode(), body)


def _furnished(ec2, iam, ssm) -> dict:
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
    iam.create_service_linked_role(AWSServiceName="spot.amazonaws.com")
    subnets = ec2.describe_subnets()["Subnets"]
    return {
        "image": ssm.get_parameter(Name=IMAGE_PARAMETER)["Parameter"]["Value"],
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
    main()
