"""Hosts on one machine: each has an address, processes, a home and an ssh server of its own.

They are network, process and mount namespaces, joined by a bridge in that of the first. All see the
same root file system; /root, /run, /tmp and /dev/shm are each host's own.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.waiting import PATIENCE_SECONDS

_SSHD = "/usr/sbin/sshd"
_NEEDED = ("ip", "unshare", "nsenter", "setpriv", "ssh", "ssh-keygen")
_OWN = ("/root", "/run", "/tmp")
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
mount --bind "$disk/run/hosts" /etc/hosts
for folder in /root /run /tmp; do mount --rbind "$disk$folder" "$folder"; done
mount -t proc proc /proc
mount -t tmpfs -o size=1g,mode=1777 tmpfs /dev/shm
cd /root
exec /usr/sbin/sshd -D -e -f /run/sshd_config
"""


def why_no_hosts() -> str:
    """Return why hosts cannot be made here, "" if they can."""
    if os.geteuid():
        return "namespaces of networks need root"
    if missing := [name for name in (*_NEEDED, _SSHD) if not shutil.which(name)]:
        return f"not installed: {', '.join(missing)}"
    try:
        _ip("netns", "add", "capsweep-try")
    except subprocess.CalledProcessError:
        return "no namespace of a network can be made here"
    _ip("netns", "del", "capsweep-try")
    return ""


class Hosts:
    """Several hosts; the first is the one on which a user sits.

    Args:
        names: Their names.
        shared: Folders that all of them see, beside those of the repository and its Python.

    Attributes:
        folder: Holds their disks.
        namespaces: Name -> that of its network.
    """

    def __init__(self, names: Sequence[str], shared: Sequence[Path] = ()) -> None:
        self.names = tuple(names)
        self.folder = Path(tempfile.mkdtemp(prefix="hosts-", dir="/var/tmp"))
        self._addresses = {name: f"10.77.0.{10 + place}" for place, name in enumerate(names)}
        self.namespaces = {name: f"cs{os.getpid()}-{name}" for name in names}
        self._inits: dict[str, subprocess.Popen[bytes]] = {}
        repository = Path(__file__).parents[2]
        seen = (repository, Path(sys.prefix), Path(sys.base_prefix), *shared)
        # those below a folder that each host has for itself would not be seen
        self._shared = sorted({str(path) for path in seen if str(path).startswith(_OWN)})

    def __enter__(self) -> "Hosts":
        _remove_abandoned()
        try:
            self._make_keys()
            for name in self.names:
                self._make_network(name)
                self._make_disk(name)
                self.boot(name)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def address(self, name: str) -> str:
        """Return the address of a host."""
        return self._addresses[name]

    def root(self, name: str) -> Path:
        """Return where the /root of a host lies."""
        return self.folder / name / "root"

    def command(self, name: str, words: Sequence[str]) -> list[str]:
        """Return a command that runs another one on a host."""
        environment = [
            "env",
            "-i",
            "HOME=/root",
            "TERM=dumb",
            "LC_ALL=C.UTF-8",
            f"PATH={Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin",
        ]
        return ["nsenter", "-t", str(self._first_process(name)), "-a", "-w", *environment, *words]

    def run(
        self, name: str, *words: str, folder: str = "/root", timeout: float = PATIENCE_SECONDS
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command on a host and return how it ended."""
        return subprocess.run(
            self.command(name, ["env", f"--chdir={folder}", *words]),
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
        words = ["setpriv", "--pdeathsig", "KILL"]  # no host outlives its test
        words += ["ip", "netns", "exec", self.namespaces[name], "unshare", "--pid", "--mount"]
        words += [
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
                [*words, "init", name, str(disk), *self._shared],
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
        _ip("-n", self.namespaces[self.names[0]], "link", "set", f"v-{name}", "down")

    def heal(self, name: str) -> None:
        """Undo a cut."""
        _ip("-n", self.namespaces[self.names[0]], "link", "set", f"v-{name}", "up")

    def close(self) -> None:
        """End all processes of the hosts and remove all that was made."""
        for name in list(self._inits):
            with suppress(AssertionError, subprocess.SubprocessError):
                self.kill(name)
        for namespace in self.namespaces.values():
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True, check=False)
        shutil.rmtree(self.folder)

    def _first_process(self, name: str) -> int:
        """Return the process of a host that is the first one there."""
        listed = subprocess.run(
            ["ip", "netns", "pids", self.namespaces[name]],
            capture_output=True,
            text=True,
            check=True,
        )
        for pid in listed.stdout.split():
            with suppress(OSError):
                status = Path("/proc", pid, "status").read_text()
                line = next(one for one in status.splitlines() if one.startswith("NSpid"))
                if line.split()[-1] == "1":
                    return int(pid)
        raise AssertionError(f"{name} does not run")

    def _make_keys(self) -> None:
        for key in ("hostkey", "user"):
            path = str(self.folder / key)
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)

    def _make_network(self, name: str) -> None:
        namespace, first = self.namespaces[name], self.namespaces[self.names[0]]
        _ip("netns", "add", namespace)
        _ip("-n", namespace, "link", "set", "lo", "up")
        if namespace == first:
            _ip("-n", first, "link", "add", "br0", "type", "bridge")
            _ip("-n", first, "addr", "add", f"{self.address(name)}/24", "dev", "br0")
            _ip("-n", first, "link", "set", "br0", "up")
            return
        veth = f"v-{name}"
        _ip("link", "add", veth, "netns", first, "type", "veth", "peer", "name", "eth0",
            "netns", namespace)  # fmt: skip
        _ip("-n", first, "link", "set", veth, "master", "br0")
        _ip("-n", first, "link", "set", veth, "up")
        _ip("-n", namespace, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
        _ip("-n", namespace, "link", "set", "eth0", "up")
        gateway = self.address(self.names[0])
        _ip("-n", namespace, "route", "add", "default", "via", gateway)

    def _make_disk(self, name: str) -> None:
        disk = self.folder / name
        for folder in ("root/.ssh", "run/sshd", "tmp"):
            (disk / folder).mkdir(parents=True)
        (disk / "tmp").chmod(0o1777)
        lines = [f"{address} {host}\n" for host, address in self._addresses.items()]
        (disk / "run/hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))
        (disk / "run/sshd_config").write_text(_SSHD_SETTINGS)
        shutil.copy(self.folder / "hostkey", disk / "run/hostkey")
        shutil.copy(self.folder / "user", disk / "root/.ssh/id_ed25519")
        shutil.copy(self.folder / "user.pub", disk / "root/.ssh/authorized_keys")
        key = (self.folder / "hostkey.pub").read_text()
        known = [f"{host},{address} {key}" for host, address in self._addresses.items()]
        (disk / "root/.ssh/known_hosts").write_text("".join(known))
        for path in (disk / "root", disk / "root/.ssh"):
            path.chmod(0o700)


def _remove_abandoned() -> None:
    """Remove the namespaces of tests that were killed."""
    listed = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True)
    for namespace in re.findall(r"^cs(\d+)-\S+", listed.stdout, re.MULTILINE):
        if not Path("/proc", namespace).exists():
            for name in re.findall(rf"^cs{namespace}-\S+", listed.stdout, re.MULTILINE):
                subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
