"""An emulated account on this machine, without machines that run: moto answers its requests."""

import json
import subprocess
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cluster.emulated_ec2.resources import Resources, resources
from tests.waiting import PATIENCE_SECONDS

_PYTHON = Path(__file__).parents[3] / ".venv-moto" / "bin" / "python"
_SERVER = Path(__file__).parent / "service" / "server.py"


def why_no_ec2() -> str:
    """Return why there is no emulated EC2 here, "" if there is."""
    return "" if _PYTHON.exists() else "moto is not installed: make .venv-moto/installed"


def server_command(
    address: str, port: int, record: Path, *options: str, bare: bool, unsteady: bool
) -> list[str]:
    """Return the command that serves an account; it ends with the process that starts it.

    Args:
        address: Where it listens.
        port: The same, 0 for any that is free.
        record: Gets its calls.
        options: More of the server's.
        bare: Whether it has only what AWS gives it, and nothing that a user makes by hand.
        unsteady: Whether it is as AWS is in its first seconds.
    """
    command = ["setpriv", "--pdeathsig", "KILL"]  # the kill of nsenter would leave it
    command += [str(_PYTHON), str(_SERVER), address, str(port), "--calls", str(record), *options]
    return command + ["--bare"] * bare + ["--unsteady"] * unsteady


def variables(url: str, key: str) -> dict[str, str]:
    """Return the variables that lead `aws`, boto3 and Ray to an account.

    Args:
        url: Where it is.
        key: Id of the access key, under which its calls are recorded.
    """
    return {
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": url,
    }


@dataclass(frozen=True)
class Call:
    """A request to an account.

    Attributes:
        service: Such as "ec2".
        action: As in IAM's policies, such as "ec2:RunInstances".
        key: Id of the access key that has signed it.
        dry_run: Whether nothing was to be done.
    """

    service: str
    action: str
    key: str
    dry_run: bool


def read_calls(file: Path) -> list[Call]:
    """Return the calls in a record, the oldest first."""
    return [Call(**json.loads(line)) for line in file.read_text().splitlines()]


@dataclass
class EmulatedAccount:
    """An account, of the region us-west-2.

    Attributes:
        url: Where it is.
        ids: What it has from the start, unless it is bare: image, security group and subnets.
        record: The file of its calls.
    """

    url: str
    ids: dict[str, Any]
    record: Path

    @property
    def variables(self) -> dict[str, str]:
        """The variables that lead a user's programs here, and to nothing else."""
        nowhere = {"AWS_CONFIG_FILE": "/none", "AWS_SHARED_CREDENTIALS_FILE": "/none"}
        region = {"AWS_REGION": "us-west-2", "AWS_DEFAULT_REGION": "us-west-2"}
        return variables(self.url, "laptop") | nowhere | region

    def calls(self) -> list[Call]:
        """Return the calls since the start or the last reset."""
        return read_calls(self.record)

    def resources(self) -> Resources:
        """Return what it has; to look does not count as a read, and is not recorded."""
        return resources(self.url)

    def reset(self) -> None:
        """Make it what it was at the start, with other ids."""
        self.ids = self._order("reset")

    def fail(self, action: str, code: str, message: str = "-", times: int = 1) -> None:
        """Have requests be refused.

        Args:
            action: The requests, such as "iam:CreateRole".
            code: Of the error, such as "AccessDenied".
            message: Of the error.
            times: How many of the next requests, dry runs too.
        """
        self._order("fail", action=action, code=code, message=message, times=times)

    def set_quota(self, code: str, vcpus: float) -> None:
        """Set a quota of EC2, until the next reset.

        Args:
            code: Such as "L-DB2E81BA".
            vcpus: How much it allows.
        """
        self._order("quotas", **{code: vcpus})

    def _order(self, name: str, **values: object) -> Any:
        body = json.dumps(values).encode()
        request = urllib.request.Request(f"{self.url}/emulated/{name}", body, method="POST")
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return json.load(answer)


@contextmanager
def emulated_account(
    folder: Path, *, bare: bool = True, unsteady: bool = False
) -> Generator[EmulatedAccount]:
    """Serve an account for as long as the block runs.

    Args:
        folder: Gets the server's log and the record of calls.
        bare: Whether it has only what AWS gives it, and nothing that a user makes by hand.
        unsteady: Whether it is as AWS is in its first seconds.
    """
    record, log = folder / "calls", folder / "moto.log"
    with (
        log.open("wb") as file,
        subprocess.Popen(
            server_command("127.0.0.1", 0, record, bare=bare, unsteady=unsteady),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
        ) as server,
    ):
        try:
            assert server.stdout
            ids = json.loads(server.stdout.readline() or "{}")
            assert ids, log.read_text()
            yield EmulatedAccount(ids["url"], ids, record)
        finally:
            server.kill()
