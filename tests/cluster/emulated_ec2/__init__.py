"""An EC2 on this machine: moto answers its requests, and each of its machines is a host.

What a machine lacks to a real one stands in `_PROGRAMS`: packages come from this repository's
environment instead of the network, and a folder is bound instead of an NFS mounted.
"""

import json
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.hosts import Hosts
from tests.waiting import wait_until

_ROOT = Path(__file__).parents[3]
PYTHON = _ROOT / ".venv-moto" / "bin" / "python"
_PORT = 5555
_PROGRAMS = {
    "bin/sudo": 'exec env "$@"',
    "bin/dpkg": "exit 0",  # Debian's packages are there
    "bin/mount": '[[ $* = "-t efs -o tls,"* ]] && exec /bin/mount --bind "${@: -2:1}" "${@: -1}"',
    "bin/shutdown": f'exec {sys.executable} {Path(__file__).with_name("shutdown.py")} "$@"',
    "venv/bin/pip": "exit 0",  # so are Python's
    "venv/bin/python": f'exec {sys.executable} "$@"',  # a link would have no packages
}
_COMMANDS = ("capsweep", "capsweep-agent", "mlflow", "ray")


def why_no_ec2() -> str:
    """Return why there is no emulated EC2 here, "" if there is."""
    return "" if PYTHON.exists() else "moto is not installed: make .venv-moto/installed"


@dataclass
class Ec2Machine:
    """A machine that was asked for.

    Attributes:
        host: Name of its host.
        request: The request that has started it, name -> value.
        tags: Its tags.
        is_there: Whether it has not ended.
    """

    host: str
    request: Mapping[str, str]
    tags: Mapping[str, str]
    is_there: bool = True

    @property
    def kind(self) -> str:
        """The name of its type in the cluster's file."""
        return self.tags["ray-user-node-type"]


@dataclass
class EmulatedEc2:
    """An EC2 whose machines are hosts; they live as long as the block.

    Attributes:
        hosts: Those of the laptop and of the service itself, "aws".
        machines: Id -> machine, of all that were ever asked for.
        account: What the account has: the ids of an image, a security group and subnets.
    """

    hosts: Hosts
    machines: dict[str, Ec2Machine] = field(default_factory=dict)
    account: dict[str, Any] = field(default_factory=dict)

    @property
    def no_spot(self) -> Path:
        """While this file is there, no spot machine can be had."""
        return self.hosts.folder / "no_spot"

    @property
    def time_is_over(self) -> Path:
        """Once this file is there, each machine shuts down that was to do so later."""
        return self.hosts.folder / "time_is_over"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead `aws` and Ray here."""
        return {
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": f"http://{self.hosts.address('aws')}:{_PORT}",
        }

    def __enter__(self) -> "EmulatedEc2":
        self._make_image()
        command = ["setpriv", "--pdeathsig", "KILL"]  # the kill of nsenter would leave it
        command += [str(PYTHON), str(Path(__file__).with_name("server.py"))]
        command += [self.hosts.address("aws"), str(_PORT), str(self.no_spot)]
        with (self.hosts.folder / "moto.log").open("wb") as log:
            self._server = subprocess.Popen(
                self.hosts.command("aws", command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        wait_until(lambda: self.account or self._server.poll() is not None)
        assert self.account, (self.hosts.folder / "moto.log").read_text()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.kill()
        self._watcher.join()
        with self._server:  # waits for its end and closes its output
            pass

    @property
    def kinds(self) -> list[str]:
        """The kinds of the machines that there are, the oldest first."""
        return [machine.kind for machine in list(self.machines.values()) if machine.is_there]

    @property
    def _image(self) -> Path:
        return self.hosts.folder / "image"

    def _make_image(self) -> None:
        """Make what lies in the home folder of a new machine."""
        for name, line in _PROGRAMS.items():
            path = self._image / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!/bin/bash\n{line}\n")
            path.chmod(0o755)
        for name in _COMMANDS:
            (self._image / "venv/bin" / name).symlink_to(Path(sys.executable).with_name(name))
        environment = {**self.environment, "TIME_IS_OVER": str(self.time_is_over)}
        variables = " ".join(f"{name}={value}" for name, value in environment.items())
        (self._image / ".bashrc").write_text(f'export PATH="$HOME/bin:$PATH" {variables}\n')
        (self._image / ".ssh").mkdir()

    def _watch(self) -> None:
        """Make a host of each machine that there is, and kill that of each that has ended."""
        assert self._server.stdout
        self.account = json.loads(self._server.stdout.readline() or "{}")
        for line in self._server.stdout:
            state = json.loads(line)
            keys = "".join(f"{key}\n" for key in state["keys"])
            (self._image / ".ssh/authorized_keys").write_text(keys)
            for instance in state["machines"]:
                machine = self.machines.get(instance["id"])
                if instance["is_there"] and not machine:
                    host, request = f"i{len(self.machines)}", instance["request"]
                    self.hosts.add(host, instance["addresses"], self._image)
                    self._boot(host, request.get("UserData", ""))
                    self.machines[instance["id"]] = Ec2Machine(host, request, instance["tags"])
                elif machine and machine.is_there and not instance["is_there"]:
                    self.hosts.remove(machine.host)
                    machine.is_there = False

    def _boot(self, host: str, user_data: str) -> None:
        """Run what a machine runs at boot, from its base64."""
        script = self.hosts.root(host) / "user_data"
        script.write_bytes(b64decode(user_data))
        done = self.hosts.run(host, "bash", "-c", ". ~/.bashrc; bash ~/user_data > /dev/null 2>&1")
        assert done.returncode == 0, done.stderr
