"""An EC2 on this machine: moto answers its requests, and each of its machines is a host.

What a machine lacks to a real one stands in `_PROGRAMS`: packages come from this repository's
environment instead of the network, and a folder is bound instead of an EFS mounted. Where no
machine has to run, `account.emulated_account` is enough.
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

from tests.cluster.emulated_ec2.account import (
    Call,
    EmulatedAccount,
    emulated_account,
    read_calls,
    server_command,
    variables,
    why_no_ec2,
)
from tests.cluster.hosts import Hosts
from tests.waiting import wait_until

__all__ = [
    "Call",
    "Ec2Machine",
    "EmulatedAccount",
    "EmulatedEc2",
    "emulated_account",
    "why_no_ec2",
]
_FOLDER = Path(__file__).parent
_PORT = 5555
_PROGRAMS = {
    "bin/sudo": 'exec env "$@"',
    "bin/dpkg": "exit 0",  # Debian's packages are there
    "bin/mount": f'exec {sys.executable} {_FOLDER}/programs/mount.py "$@"',
    "bin/shutdown": f'exec {sys.executable} {_FOLDER}/programs/shutdown.py "$@"',
    "venv/bin/pip": "exit 0",  # so are Python's
    "venv/bin/python": f'exec {sys.executable} "$@"',  # a link would have no packages
}
_COMMANDS = ("capsweep", "capsweep-agent", "mlflow", "ray")


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
        bare: Whether the account has nothing that a user makes by hand.
        unsteady: Whether it is as AWS is in its first seconds.
        machines: Id -> machine, of all that were ever asked for.
        account: What the account has: its url and, unless bare, image, security group, subnets.
    """

    hosts: Hosts
    bare: bool = False
    unsteady: bool = False
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
    def disks(self) -> Path:
        """The folder that holds what lies on each file system, by its id."""
        return self.hosts.folder / "disks"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead `aws` and Ray here from the laptop."""
        return variables(self._url, "laptop")

    def calls(self) -> list[Call]:
        """Return the calls so far, whose keys are "laptop" and, from the machines, "head"."""
        return read_calls(self._record)

    def resources(self) -> dict[str, dict[str, Any]]:
        """Return what the account has, as `EmulatedAccount.resources` does."""
        command = (sys.executable, str(_FOLDER / "resources.py"), self._url)
        listed = self.hosts.run("aws", *command)
        assert listed.returncode == 0, listed.stderr
        return json.loads(listed.stdout)

    @property
    def _url(self) -> str:
        return f"http://{self.hosts.address('aws')}:{_PORT}"

    @property
    def _record(self) -> Path:
        return self.hosts.folder / "calls"

    def __enter__(self) -> "EmulatedEc2":
        self._make_image()
        options = ("--watch", "--no-spot", str(self.no_spot))
        host, kind = self.hosts.address("aws"), {"bare": self.bare, "unsteady": self.unsteady}
        command = server_command(host, _PORT, self._record, *options, **kind)
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
        environment = variables(self._url, "head")
        environment |= {"TIME_IS_OVER": str(self.time_is_over), "DISKS": str(self.disks)}
        settings = " ".join(f"{name}={value}" for name, value in environment.items())
        (self._image / ".bashrc").write_text(f'export PATH="$HOME/bin:$PATH" {settings}\n')
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
                    self._end(machine)
        for machine in self.machines.values():
            if machine.is_there:  # else it would end with this thread, and nobody wait for it
                self._end(machine)

    def _end(self, machine: Ec2Machine) -> None:
        self.hosts.remove(machine.host)
        machine.is_there = False

    def _boot(self, host: str, user_data: str) -> None:
        """Run what a machine runs at boot, from its base64."""
        script = self.hosts.root(host) / "user_data"
        script.write_bytes(b64decode(user_data))
        done = self.hosts.run(host, "bash", "-c", ". ~/.bashrc; bash ~/user_data > /dev/null 2>&1")
        assert done.returncode == 0, done.stderr
