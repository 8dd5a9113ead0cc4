"""Two users share a storage folder as docs/security.md says; a third keeps one to themselves.

Each command is a process of its user, with the group and the umask that the page names.
"""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from tests.end_to_end.command import clean_environment
from tests.end_to_end.storage_view import num_reported_epochs
from tests.end_to_end.sweep_file import write_sweep
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or not shutil.which("setpriv"), reason="takes root and setpriv"
    ),
]

GROUP = 54300
SHARED, PRIVATE = 0o002, 0o077
# A home that only root may enter holds Python here: this right reads there, and writes nowhere.
READING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


class User:
    """A user of the system, by number alone, with a home and a folder to work in."""

    def __init__(self, number: int, base: Path, umask: int, *, has_home: bool = True) -> None:
        self.number = number
        self.umask = umask
        self.has_home = has_home
        self.folder = base / f"user-{number}"
        self.folder.mkdir(mode=0o700)
        os.chown(self.folder, number, GROUP)

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        who = [f"--reuid={self.number}", f"--regid={GROUP}", "--clear-groups"]
        script = Path(sys.executable).with_name("capsweep")
        environment = clean_environment() | {"HOME": str(self.folder), "TMPDIR": "/tmp"}
        if not self.has_home:
            del environment["HOME"]
        return subprocess.Popen(
            ["setpriv", *who, *READING, str(script), *arguments],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            umask=self.umask,
        )

    def run(self, *arguments: str, code: int = 0) -> str:
        with self.start(*arguments) as process:
            printed, _ = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == code, printed
        return printed


@pytest.fixture
def base() -> Generator[Path]:
    """Yield a folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp(prefix="capsweep-users-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def kill_all(process: "subprocess.Popen[str]") -> None:
    """Kill a launch and all that it has started, in the midst of what they do."""
    family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    for member in family:
        member.send_signal(signal.SIGSTOP)
    for member in family:
        member.kill()
    process.communicate()
    psutil.wait_procs(family, timeout=PATIENCE_SECONDS)


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.lstat().st_mode for path in folder.rglob("*")}


def check_shared(storage: Path) -> None:
    """Check that the group may read and write all that anybody has made there."""
    for path in storage.rglob("*"):
        status = path.lstat()
        wanted = 0o2070 if stat.S_ISDIR(status.st_mode) else 0o060
        assert status.st_mode & wanted == wanted, f"{oct(status.st_mode)} of {path}"
        assert status.st_gid == GROUP, path


def test_each_goes_on_with_what_the_other_has_begun(base: Path) -> None:
    ann, bob = User(54301, base, SHARED), User(54302, base, SHARED)
    storage = base / "store"
    storage.mkdir()
    os.chown(storage, ann.number, GROUP)
    storage.chmod(0o2775)
    brake = base / "brake"
    brake.touch()
    file = write_sweep(base / "shared.py", seeds=(0,), epochs=4, seconds=0.3, brake=str(brake))
    place = (f"--storage={storage}", f"--reports={base / 'reports'}")
    (base / "reports").mkdir()
    os.chown(base / "reports", bob.number, GROUP)
    (base / "reports").chmod(0o2775)

    launch = ann.start("run", str(file), *place)
    wait_until(lambda: launch.poll() is not None or num_reported_epochs(storage) > 1)
    assert launch.poll() is None, launch.communicate()[0]
    kill_all(launch)
    check_shared(storage)
    brake.unlink()
    assert "trained now" in bob.run("run", str(file), *place, "--engine", "inline")
    check_shared(storage)
    ann.run("run", str(file), *place, "--seeds", "0,1", "--engine", "inline")
    check_shared(storage)
    ann.run("report", "shared", *place)
    bob.run("report", "shared", *place, "--check")
    check_shared(base / "reports")

    (storage / "mlflow.db").unlink()
    assert "were filled from the cells' folders" in bob.run("repair", place[0])
    check_shared(storage)
    ann.run("delete", "shared", "--yes", place[0])
    assert not list((storage / "cells").iterdir())


def test_what_is_private_by_the_umask_stays_so(base: Path) -> None:
    cid = User(54303, base, PRIVATE)
    file = write_sweep(base / "own.py", seeds=(0,), epochs=1)
    cid.run("run", str(file), "--engine", "inline")
    made = {path: mode for path, mode in modes(cid.folder).items() if path.startswith("capsweep")}
    assert {"capsweep-store/mlflow.db", "capsweep-store/logs"} <= made.keys()
    assert [path for path, mode in made.items() if mode & 0o077] == []


@pytest.mark.nightly  # test_without_sweeps.py has the home that such a user is given
def test_a_number_without_a_name_and_a_home_runs_a_sweep_by_ray(base: Path) -> None:
    dan = User(54304, base, PRIVATE, has_home=False)
    file = write_sweep(base / "nameless.py", seeds=(0,), epochs=1)
    assert "3 trained now, 3 of 3 cells filled" in dan.run("run", str(file))
    assert "3 finished" in dan.run("status", "nameless")
