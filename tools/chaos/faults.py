"""Faults for which a machine needs a means: a link that can be cut, a false clock, a small disk.

Each is a context manager. What the machine lacks for one is said in a sentence, and it is skipped.
"""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Self

_DISK_MEGABYTES = 96
_CLOCK = """\
import os
import time

_SET_BACK = os.path.join(os.path.dirname(__file__), "set_back")
_true, _true_ns = time.time, time.time_ns


def _step():
    return 3600 if os.path.exists(_SET_BACK) else 0


time.time = lambda: _true() - _step()
time.time_ns = lambda: _true_ns() - _step() * 10**9
"""


class Link:
    """A network namespace with one link to this machine, as if it were another one.

    Attributes:
        within: Words before a command that is to run there.
        host: Its address.
    """

    def __init__(self) -> None:
        number = os.getpid() % 250
        self._name = f"chaos{os.getpid()}"
        self._here, peer = f"ch{os.getpid()}", f"ct{os.getpid()}"
        self.within = ("ip", "netns", "exec", self._name)
        self.host = f"10.77.{number}.2"
        gateway = f"10.77.{number}.1"
        self._steps = (
            f"netns add {self._name}",
            f"link add {self._here} type veth peer name {peer} netns {self._name}",
            f"addr add {gateway}/24 dev {self._here}",
            f"link set {self._here} up",
            f"-n {self._name} addr add {self.host}/24 dev {peer}",
            f"-n {self._name} link set {peer} up",
            f"-n {self._name} link set lo up",
            f"-n {self._name} route add default via {gateway}",
        )

    @staticmethod
    def lacking() -> str:
        """Return what the machine lacks for it, "" if nothing."""
        if os.geteuid() or not shutil.which("ip"):
            return "link cut: it needs root and the command ip"
        tried = Link()
        try:
            tried.__enter__()
        except subprocess.CalledProcessError as error:
            return f"link cut: no network namespace can be made ({error.stderr.strip()})"
        finally:
            tried.__exit__()
        return ""

    def cut(self) -> None:
        """Let nothing through."""
        _ip(f"link set {self._here} down")

    def mend(self) -> None:
        """Let all through again."""
        _ip(f"link set {self._here} up")

    def __enter__(self) -> Self:
        for step in self._steps:
            _ip(step)
        return self

    def __exit__(self, *error: object) -> None:
        for step in (f"link delete {self._here}", f"netns delete {self._name}"):
            with suppress(subprocess.CalledProcessError):
                _ip(step)


class FalseClock:
    """The time of day of the Python processes that are started in its environment.

    The machine's own clock is never set. The monotonic one is left alone, as no step of a real
    clock moves it; libfaketime (0.9.10) cannot do that without breaking the waits of Python.

    Attributes:
        environment: To be added to a process's own.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "clock"
        others = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
        self.environment = {"PYTHONPATH": os.pathsep.join([str(self._folder), *others])}

    def set_back(self) -> None:
        """Set it back by an hour, for those that run too."""
        (self._folder / "set_back").touch()

    def __enter__(self) -> Self:
        self._folder.mkdir()
        (self._folder / "sitecustomize.py").write_text(_CLOCK)
        return self

    def __exit__(self, *error: object) -> None:
        """Leave it as it is: nobody is left to look at it."""


class SmallDisk:
    """A disk of some megabytes at a folder, which can be filled."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._filler = folder / "filler"

    @staticmethod
    def lacking() -> str:
        """Return what the machine lacks for it, "" if nothing."""
        return "" if os.geteuid() == 0 and shutil.which("mount") else "disk full: it needs root"

    def fill(self) -> None:
        """Leave no room."""
        with self._filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(1 << 16))

    def empty(self) -> None:
        """Make room again."""
        self._filler.unlink()

    def __enter__(self) -> Self:
        self._folder.mkdir()
        size = f"size={_DISK_MEGABYTES}m"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "chaos", str(self._folder)], check=True)
        return self

    def __exit__(self, *error: object) -> None:
        subprocess.run(["umount", "--lazy", str(self._folder)], check=True)


def _ip(arguments: str) -> None:
    subprocess.run(["ip", *arguments.split()], check=True, capture_output=True, text=True)
