"""Hosts on one machine: each has an address, processes, a home and an ssh server of its own.

They are network, process and mount namespaces, joined by a bridge in that of the first. All see the
same root file system; /root, /run, /tmp, /mnt and /dev/shm are each host's own. `ubuntu` is there a
second name of root.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tests.waiting import PATIENCE_SECONDS

_SSHD = "/usr/sbin/sshd"
_NEEDED = ("ip", "unshare", "nsenter", "setpriv", "ssh", "ssh-keygen")
_OWN = ("/root", "/run", "/tmp", "/mnt")
_SSHD_SETTINGS = """\
Port 22
HostKey /run/hostkey
AuthorizedKeysFile /root/.ssh/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
MaxStartups 100:30:200
PidFile none
"""
# the first process of a host; $1 its name, $2 its disk, the others what all hosts see
_INIT = """\
set -eu
name=$1; disk=$2; shift 2
hostname "$name"
for folder in "$@"; do
  mkdir -p "$disk$folder"
  mount --bind "$folder" "$disk$folder"
done
for file in hosts passwd; do mount --bind "$disk/run/$file" "/etc/$file"; done
for folder in /root /run /tmp /mnt; do mount --rbind "$disk$folder" "$folder"; done
mount -t proc proc /proc
mount -t tmpfs -o size=1g,mode=1777 tmpfs /dev/shm
cd /root
exec /usr/sbin/sshd -D -e -f /run/sshd_config
"""


def why_no_hosts(*programs: str) -> str:
    """Return why hosts with these programs cannot be made here, or "" if they can."""
    if os.geteuid():
        return "namespaces of networks need root"
    if missing := [name for name in (*_NEEDED, _SSHD, *programs) if not shutil.which(name)]:
        return f"not installed: {', '.join(missing)}"
    tried = f"cs{os.getpid()}-try"  # two processes may try at the same time
    try:
        _ip("netns", "add", tried)
    except subprocess.CalledProcessError:
        return "no namespace of a network can be made here"
    _ip("netns", "del", tried)
    return ""


class Hosts:
    """Several hosts; the first is the one on which a user sits.

    Args:
        names: Their names.
        shared: Folders that all of them see, besides those of the repository and its Python.

    Attributes:
        folder: Holds their disks.
        namespaces: Name -> that of its network.
    """

    def __init__(self, names: Sequence[str], shared: Sequence[Path] = ()) -> None:
        self._first, *_ = self._names = tuple(names)
        self.folder = Path(tempfile.mkdtemp(prefix="hosts-", dir="/var/tmp"))
        self._addresses = {name: (f"10.77.0.{10 + place}",) for place, name in enumerate(names)}
        self.namespaces: dict[str, str] = {}
        self._inits: dict[str, subprocess.Popen[bytes]] = {}
        repository = Path(__file__).parents[2]
        seen = (repository, Path(sys.prefix), Path(sys.base_prefix), *shared)
        # those below a folder that each host has for itself would not be seen
        self._shared = sorted({str(path) for path in seen if str(path).startswith(_OWN)})

    def __enter__(self) -> "Hosts":
        _remove_abandoned()
        try:
            self._make_keys()
            for name in self._names:
                self.add(name, self._addresses[name])
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, name: str, addresses: Sequence[str], image: Path | None = None) -> None:
        """Make one more host and start it.

        Args:
            name: Its name, of 13 characters at most.
            addresses: Under which the others reach it; the first is where it comes from.
            image: What its /root has at first, None for that of a machine of a user's own.
        """
        self._addresses[name] = tuple(addresses)
        self._make_network(name)
        self._make_disk(name, image)
        self.boot(name)

    def remove(self, name: str) -> None:
        """Kill a host for good."""
        self.kill(name)
        _ip("netns", "del", self.namespaces.pop(name))

    def address(self, name: str) -> str:
        """Return the address of a host."""
        return self._addresses[name][0]

    def path(self, name: str, path: str) -> Path:
        """Return where a file of a host lies, below a folder that each host has for itself."""
        assert path.startswith(_OWN)
        return self.folder / name / path.removeprefix("/")

    def root(self, name: str) -> Path:
        """Return where the /root of a host lies."""
        return self.path(name, "/root")

    def command(self, name: str, command: Sequence[str]) -> list[str]:
        """Return the command that runs another command on a host."""
        environment = [
            "env",
            "-i",
            "HOME=/root",
            "TERM=dumb",
            "LC_ALL=C.UTF-8",
            f"PATH={Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin",
        ]
        return ["nsenter", "-t", str(self._first_process(name)), "-a", "-w", *environment, *command]

    def run(
        self, name: str, *command: str, folder: str = "/root", timeout: float = PATIENCE_SECONDS
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command on a host and return how it ended."""
        return subprocess.run(
            self.command(name, ["env", f"--chdir={folder}", *command]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def kill(self, name: str) -> None:
        """Kill all processes of a host at once, as when its power goes."""
        subprocess.run(["kill", "-9", str(self._first_process(name))], check=True)
        self._inits.pop(name).wait(PATIENCE_SECONDS)

    def boot(self, name: str) -> None:
        """Start a host, with the disk that it had."""
        disk = self.folder / name
        command = ["setpriv", "--pdeathsig", "KILL"]  # no host outlives its test
        command += ["ip", "netns", "exec", self.namespaces[name], "unshare", "--pid", "--mount"]
        command += [
            "--uts",
            "--ipc",
            "--fork",
            "--kill-child",
            "--propagation",
            "private",
            "bash",
            "-c",
            _INIT,
        ]
        with (self.folder / f"{name}.log").open("ab") as log:
            self._inits[name] = subprocess.Popen(
                [*command, "init", name, str(disk), *self._shared],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + PATIENCE_SECONDS
        log_file = self.folder / f"{name}.log"
        while "Server listening" not in log_file.read_text().rpartition("booted")[2]:
            assert self._inits[name].poll() is None, log_file.read_text()
            assert time.monotonic() < deadline, log_file.read_text()
            time.sleep(0.02)
        with log_file.open("a") as log:
            log.write("booted\n")

    def cut(self, name: str) -> None:
        """Cut a host from the others."""
        _ip("-n", self.namespaces[self._first], "link", "set", f"v-{name}", "down")

    def heal(self, name: str) -> None:
        """Undo a cut."""
        _ip("-n", self.namespaces[self._first], "link", "set", f"v-{name}", "up")

    def processes(self) -> list[str]:
        """Return the command lines of all processes on the hosts."""
        lines: list[str] = []
        for name in self.namespaces:
            for pid in self._pids(name):
                with suppress(psutil.Error):
                    lines.append(" ".join(psutil.Process(int(pid)).cmdline()))
        return lines

    def close(self) -> None:
        """End all processes of the hosts and remove all that was made; nothing may be left."""
        for name in list(self._inits):
            with suppress(AssertionError, subprocess.SubprocessError):
                self.kill(name)
        processes = self.processes()
        for namespace in self.namespaces.values():
            _ip("netns", "del", namespace)
        shutil.rmtree(self.folder)
        assert not processes
        assert str(self.folder) not in Path("/proc/self/mounts").read_text()

    def _pids(self, name: str) -> list[str]:
        command = ["ip", "netns", "pids", self.namespaces[name]]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()

    def _first_process(self, name: str) -> int:
        """Return the process of a host that is the first one there."""
        for pid in self._pids(name):
            with suppress(OSError):
                status = Path("/proc", pid, "status").read_text()
                line = next(line for line in status.splitlines() if line.startswith("NSpid"))
                if line.split()[-1] == "1":
                    return int(pid)
        raise AssertionError(f"{name} does not run")

    def _make_keys(self) -> None:
        for key in ("hostkey", "user"):
            path = str(self.folder / key)
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)

    def _make_network(self, name: str) -> None:
        namespace = f"cs{os.getpid()}-{name}"
        _ip("netns", "add", namespace)
        self.namespaces[name] = namespace
        first = self.namespaces[self._first]
        _ip("-n", namespace, "link", "set", "lo", "up")
        if namespace == first:
            device = "br0"
            _ip("-n", first, "link", "add", device, "type", "bridge")
        else:
            veth, device = f"v-{name}", "eth0"
            _ip("link", "add", veth, "netns", first, "type", "veth", "peer", "name", device,
                "netns", namespace)  # fmt: skip
            _ip("-n", first, "link", "set", veth, "master", "br0")
            _ip("-n", first, "link", "set", veth, "up")
        for address in self._addresses[name]:
            _ip("-n", namespace, "addr", "add", f"{address}/32", "dev", device)
        _ip("-n", namespace, "link", "set", device, "up")
        # all addresses are on the bridge
        _ip("-n", namespace, "route", "add", "default", "dev", device, "src", self.address(name))

    def _make_disk(self, name: str, image: Path | None) -> None:
        disk = self.folder / name
        for folder in ("run/sshd", "tmp", "mnt"):
            (disk / folder).mkdir(parents=True)
        (disk / "tmp").chmod(0o1777)
        numbers = {address: host for host, (address, *_) in self._addresses.items()}
        lines = [f"{address} {host}\n" for address, host in numbers.items()]
        (disk / "run/hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))
        users = Path("/etc/passwd").read_text()
        (disk / "run/passwd").write_text(f"{users}ubuntu:x:0:0::/root:/bin/bash\n")
        (disk / "run/sshd_config").write_text(_SSHD_SETTINGS)
        shutil.copy(self.folder / "hostkey", disk / "run/hostkey")
        if image:
            shutil.copytree(image, disk / "root", symlinks=True)
        else:
            self._give_keys(disk / "root/.ssh", numbers)
        for path in (disk / "root", disk / "root/.ssh"):
            path.chmod(0o700)

    def _give_keys(self, folder: Path, numbers: Mapping[str, str]) -> None:
        """Let a user go from each host to all of them, and know their keys."""
        folder.mkdir(parents=True)
        shutil.copy(self.folder / "user", folder / "id_ed25519")
        shutil.copy(self.folder / "user.pub", folder / "authorized_keys")
        key = (self.folder / "hostkey.pub").read_text()
        known = [f"{host},{address} {key}" for address, host in numbers.items()]
        (folder / "known_hosts").write_text("".join(known))


def _remove_abandoned() -> None:
    """Remove the namespaces of tests that were killed."""
    listed = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True)
    for namespace in re.findall(r"^cs(\d+)-\S+", listed.stdout, re.MULTILINE):
        if not Path("/proc", namespace).exists():
            for name in re.findall(rf"^cs{namespace}-\S+", listed.stdout, re.MULTILINE):
                subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
