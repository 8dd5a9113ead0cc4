"""A launch is ended from another shell, as by Ctrl-C there, and no other process ever is."""

import json
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import psutil
import pytest

from sweeps.execution.launch_process import stop as stopping
from sweeps.execution.sweep_log import is_launching
from sweeps.storage.file_lock import FileLock
from sweeps.storage.folder import Folder
from tests.sweeps.cli.shell import Shell
from tests.waiting import PATIENCE_SECONDS, wait_until

LAUNCH = """
import sys, threading, time
from contextlib import suppress
from pathlib import Path
from sweeps.execution.interruption import interruptible
from sweeps.execution.launch_process.launch_lock import sole_launch
from sweeps.storage.locations import Storage

def launch(heard):
    with interruptible(), sole_launch("example", Storage(Path("capsweep-store").resolve())):
        try:
            Path("started").touch()
            while True:
                time.sleep(0.01)
        except KeyboardInterrupt:
            Path(heard).touch()
            while not Path("may-end").exists():
                time.sleep(0.01)
    raise SystemExit(130)

if "thread" in sys.argv:
    threading.Thread(target=launch, args=["heard"]).start()
else:
    launch("heard")
"""
LOCK = Path("capsweep-store", "journals", "example.lock")


@pytest.fixture
def launch(shell: Shell) -> Generator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a launch of `example` that ends only once it may."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", LAUNCH, "run", "example", "--retrain", *arguments]
        started.append(subprocess.Popen(command, cwd=shell.folder))
        wait_until((shell.folder / "started").exists)
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def others(shell: Shell) -> Generator[subprocess.Popen[bytes]]:
    """A process that is no launch."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


Start = Callable[..., subprocess.Popen[bytes]]


def test_a_launch_is_asked_to_end_and_waited_for(
    shell: Shell, launch: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = launch()
    wait, waits = stopping.RunningLaunch.wait, []

    def see(self: stopping.RunningLaunch) -> None:
        wait_until((shell.folder / "heard").exists)
        waits.append(is_launching(self.journals, self.sweep))
        (shell.folder / "may-end").touch()
        wait(self)

    monkeypatch.setattr(stopping.RunningLaunch, "wait", see)
    answer = shell("stop", "example")
    assert (answer.code, answer.err) == (0, "")
    assert waits == [True], "or it did not wait for its end"
    assert process.wait(PATIENCE_SECONDS) == 130
    assert f"Asked process {process.pid}, the launch of 'example', to end." in answer.out
    assert "It has ended. Finished trials and the last checkpoint" in answer.out
    assert answer.out.endswith("capsweep run example\n"), "without --retrain"
    assert LOCK.read_bytes() == b"", "nobody is noted any more"


def test_who_runs_the_launch_no_more_is_sent_no_signal(
    shell: Shell, others: subprocess.Popen[bytes]
) -> None:
    lock = shell.folder / LOCK
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    ended = stopping.RunningLaunch("example", lock.parent, psutil.Process(others.pid))
    for is_now in (False, True):
        ended.ask_to_end(is_now=is_now)
    assert others.poll() is None
    others.communicate(b"\n")
    assert others.returncode == 0


def test_asked_twice_a_launch_still_ends_as_by_one_ctrl_c(shell: Shell, launch: Start) -> None:
    process = launch()
    for _ in range(3):
        stopping.running_launch("example").ask_to_end(is_now=False)
        wait_until((shell.folder / "heard").exists)
    assert process.poll() is None
    (shell.folder / "may-end").touch()
    assert process.wait(PATIENCE_SECONDS) == 130
    assert LOCK.read_bytes() == b"", "it was left as one interruption leaves it"


@pytest.mark.parametrize("was_asked", [False, True])
def test_at_once_is_as_a_second_ctrl_c(shell: Shell, launch: Start, was_asked: bool) -> None:
    process = launch()
    if was_asked:
        process.send_signal(signal.SIGINT)
        wait_until((shell.folder / "heard").exists)
    answer = shell("stop", "example", "--now")
    assert (answer.code, answer.err) == (0, "")
    assert process.wait(PATIENCE_SECONDS) == 130, "though nobody let it end"
    assert " to end at once." in answer.out


def test_quietly_only_the_end_is_told(shell: Shell, launch: Start) -> None:
    launch()
    (shell.folder / "may-end").touch()
    output = shell("stop", "example", "-q").out
    assert output.count("\n") == 1
    assert output.startswith("It has ended.")


def test_a_store_without_records_is_asked_nothing(
    shell: Shell, launch: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch()
    (shell.folder / "may-end").touch()
    for name in [name for name in sys.modules if name.partition(".")[0] in {"mlflow", "ray"}]:
        monkeypatch.delitem(sys.modules, name)
    assert shell("stop", "example").code == 0
    assert not {"mlflow", "ray"} & set(sys.modules)


def test_a_launch_in_a_thread_hears_no_signals_and_gets_none(shell: Shell, launch: Start) -> None:
    process = launch("thread")
    assert f"runs in a thread of process {process.pid}" in shell.refused("stop", "example")
    assert process.poll() is None


def noted(running: int, **changes: object) -> bytes:
    note = {
        "host": platform.node(),
        "pid": running,
        "started": psutil.Process(running).create_time(),
        "hears_signals": True,
    }
    return json.dumps(note | changes).encode()


@pytest.mark.usefixtures("storage")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"started": 1.0}, "by another process than the", id="a number given anew"),
        pytest.param({"pid": -7}, "by another process than the -7", id="no number"),
        pytest.param({"host": "gpu-7"}, "runs on gpu-7, not on this machine", id="another host"),
        pytest.param({"pid": "x"}, "does not identify itself", id="no note"),
    ],
)
def test_no_process_is_stopped_on_the_word_of_a_file(
    shell: Shell, others: subprocess.Popen[bytes], changes: dict[str, object], message: str
) -> None:
    lock = shell.folder / LOCK
    lock.parent.mkdir(parents=True)
    lock.write_bytes(noted(others.pid, **changes))
    holder = (
        "import sys, time; from pathlib import Path; from sweeps.storage.file_lock import FileLock;"
        "from sweeps.storage.folder import Folder; path = Path(sys.argv[1]);"
        "lock = FileLock(Folder(path.parent), path.name);"
        "assert lock.acquire(); print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        assert message in shell.refused("stop", "example")
        process.kill()
    assert others.poll() is None


def test_what_a_killed_launch_has_noted_is_not_looked_at(
    shell: Shell, storage: Path, others: subprocess.Popen[bytes]
) -> None:
    lock = shell.folder / LOCK
    lock.parent.mkdir(parents=True)
    lock.write_bytes(noted(others.pid))
    assert "No launch of 'example' runs over" in shell.refused("stop", "example")
    assert others.poll() is None
    shutil.rmtree(storage)
    assert "There is no storage folder" in shell.refused("stop", "example")


def test_what_runs_instead_is_named(shell: Shell, storage: Path) -> None:
    (storage / "journals").mkdir()
    assert shell.refused("stop", "../x").endswith("Nothing runs there.")
    with FileLock(Folder(storage, "journals"), "other.lock") as lock:
        assert lock.acquire()
        assert shell.refused("stop", "example").endswith("Running there: other.")


def test_another_user_s_launch_is_said_to_be_another_user_s(
    shell: Shell, launch: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch()

    def refuse(self: psutil.Process, number: int) -> None:
        del number
        raise psutil.AccessDenied(self.pid)

    monkeypatch.setattr(psutil.Process, "send_signal", refuse)
    assert "of another user, and was not stopped" in shell.refused("stop", "example")
