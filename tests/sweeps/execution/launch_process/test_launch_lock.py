"""What surrounds a launch: interruption, locks, scratch folders, and a terminal that goes away."""

import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeps.execution.engine.process import scratch
from sweeps.execution.engine.process.scratch import scratch_folder
from sweeps.execution.interruption import Interrupted, interruptible, listen, set_time_limit
from sweeps.execution.launch_process.launch_lock import sole_launch
from sweeps.execution.sweep_log import SweepLog
from sweeps.execution.view.board import Board
from sweeps.execution.view.live_view import show_in_terminal
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock, is_locked
from sweeps.storage.folder import Folder
from sweeps.storage.locations import Storage
from tests.waiting import wait_until


def signal_oneself(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)
    wait_for_the_signal()


def wait_for_the_signal() -> None:
    wait_until(lambda: False)


def acquired_elsewhere(path: Path) -> bool:
    code = (
        "import sys; from pathlib import Path; from sweeps.storage.file_lock import FileLock;"
        "from sweeps.storage.folder import Folder; path = Path(sys.argv[1]);"
        "sys.exit(FileLock(Folder(path.parent), path.name).acquire())"
    )
    return bool(subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode)


def as_ray_does() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    listen()
    signal_oneself(signal.SIGTERM)


def wait_for_the_limit() -> None:
    set_time_limit(0.2)
    wait_for_the_signal()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_interrupts_the_block_and_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Interrupted), interruptible():
        signal_oneself(number)
    assert signal.getsignal(number) is before


def test_handlers_set_by_others_in_the_block_are_taken_back() -> None:
    with pytest.raises(Interrupted), interruptible():
        as_ray_does()


IN_A_HANDLER = """
import os, signal, sys
from sweeps.execution.interruption import on_forced_exit, interruptible

original = signal.signal

def signalled_meanwhile(number, handler):
    signal.signal = original
    os.kill(os.getpid(), int(sys.argv[1]))
    return original(number, handler)

try:
    with interruptible(), on_forced_exit(lambda: print("at once", flush=True)):
        signal.signal = signalled_meanwhile
        os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("as by one")
"""


@pytest.mark.parametrize(
    ("number", "ending"),
    [
        (signal.SIGINT, "at once"),
        (signal.SIGTERM, "at once"),
        (signal.SIGALRM, "as by one"),
    ],
)
def test_a_second_signal_counts_also_while_the_first_is_handled(
    number: signal.Signals, ending: str
) -> None:
    command = [sys.executable, "-c", IN_A_HANDLER, str(int(number))]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (ended.stdout.strip(), ended.returncode) == (ending, 130 if ending == "at once" else 0)


def test_a_time_limit_interrupts() -> None:
    with pytest.raises(Interrupted), interruptible():
        wait_for_the_limit()


def test_a_block_that_ends_in_time_is_not_interrupted_later() -> None:
    with interruptible():
        set_time_limit(3600)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_one_process_is_granted_a_lock_once(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        FileLock(Folder(path.parent), path.name) as first,
        FileLock(Folder(path.parent), path.name) as second,
    ):
        assert first.acquire()
        assert not second.acquire()
        second.release()
        assert is_locked(Folder(path.parent), path.name)
        assert not acquired_elsewhere(path)
        first.release()
        assert second.acquire()


@pytest.mark.parametrize("line", ["", "why Ray did not start"])
def test_a_refused_launch_leaves_only_a_log_that_says_something(tmp_path: Path, line: str) -> None:
    storage = Storage(tmp_path / "store")
    log = storage.logs / "example.log"
    launch = sole_launch("example", storage)
    launch.__enter__()
    log.write_text(line)
    launch.__exit__(BadInput, BadInput("see the log"), None)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [log] * bool(line)
    assert line or not storage.root.exists()


def test_a_scratch_folder_goes_with_its_block() -> None:
    with scratch_folder() as folder:
        assert folder.is_dir()
    assert not folder.exists()


@pytest.fixture
def old_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """All scratch is old; not that of real sweeps, whose folders are no business of a test."""
    monkeypatch.setattr(scratch, "_YOUNG_SECONDS", -math.inf)
    monkeypatch.setattr(scratch, "_PREFIX", f"test-of-scratch-{os.getpid()}-")


@pytest.mark.usefixtures("old_scratch")
def test_scratch_of_a_killed_process_goes_and_of_a_living_one_stays() -> None:
    with scratch_folder() as living:
        abandoned = Path(f"{living}-abandoned")
        abandoned.mkdir()
        (abandoned / "in-use.lock").touch()
        with scratch_folder():
            assert living.exists()
            assert not abandoned.exists()


@pytest.mark.usefixtures("old_scratch")
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/null")])
def test_what_somebody_else_left_in_place_of_scratch_stops_nobody(
    make: Callable[[Path], None],
) -> None:
    with scratch_folder() as living:
        strange = Path(f"{living}-strange")
        strange.mkdir()
        make(strange / "in-use.lock")
        with scratch_folder() as folder:
            assert folder.is_dir()
        assert strange.is_dir()
        shutil.rmtree(strange)


def test_a_pipe_that_nobody_reads_only_ends_the_show(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    board = Board([], {}, SweepLog(tmp_path, "example"))
    board.num_done = 1
    terminal = os.fdopen(writing, "w", buffering=1)
    with show_in_terminal(board, "example", terminal):
        pass
    with pytest.raises(BrokenPipeError):
        terminal.close()


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ('"release": "99.1", ', "another process, which runs capsweep 99.1 (this is "),
        ("", "another process, which runs an earlier capsweep (this is "),
    ],
)
def test_a_lock_of_another_release_says_so(tmp_path: Path, release: str, expected: str) -> None:
    storage = Storage(tmp_path)
    storage.journals.mkdir()
    with FileLock(Folder(storage.journals), "example.lock") as lock:
        assert lock.acquire()
        text = f'{{{release}"host": "h", "pid": 1, "started": 1, "hears_signals": true, "more": 1}}'
        os.pwrite(lock.descriptor, text.encode(), 0)
        with pytest.raises(BadInput) as refused, sole_launch("example", storage):
            pass
    assert expected in str(refused.value)


def refused() -> None:
    raise BadInput("No.")


def test_a_refused_launch_leaves_what_another_launch_of_the_folders_uses(tmp_path: Path) -> None:
    storage = Storage(tmp_path / "storage")
    with pytest.raises(BadInput), sole_launch("first", storage), sole_launch("second", storage):
        assert refused() is None
    assert not storage.root.exists(), "both were refused"
    with sole_launch("second", storage):
        with pytest.raises(BadInput), sole_launch("first", storage):
            refused()
        assert (storage.root / "format.json").exists()
        assert storage.cells.is_dir()
        assert not (storage.journals / "first.lock").exists()


@pytest.mark.parametrize("error", [BadInput("No."), KeyboardInterrupt()], ids=type)
def test_a_launch_that_ends_before_it_trained_leaves_no_lock(
    tmp_path: Path, error: BaseException
) -> None:
    storage = Storage(tmp_path)
    with sole_launch("other", storage):
        (storage.cells / ("0" * 20)).mkdir()
    with pytest.raises(type(error)), sole_launch("example", storage):
        raise error
    assert [path.name for path in storage.journals.iterdir()] == ["other.lock"]


def test_a_refused_second_launch_in_one_process_leaves_the_first_its_lock(tmp_path: Path) -> None:
    storage = Storage(tmp_path)
    with sole_launch("example", storage):
        with pytest.raises(BadInput, match="being run already"), sole_launch("example", storage):
            pass
        assert not acquired_elsewhere(storage.journals / "example.lock")
