"""Files are whole or not there; a lock dies with its process."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeps.storage.file_lock import FileLock, is_locked, read_lock

HOLD = """
import sys
from pathlib import Path
from sweeps.storage.file_lock import FileLock
lock = FileLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
sys.stdin.readline()
"""

LOOK = """
import sys
from pathlib import Path
from sweeps.storage.file_lock import is_locked
for _ in sys.stdin:
    print(is_locked(Path(sys.argv[1])), flush=True)
"""


def holding(path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    process.first_word = process.stdout.readline().strip()  # pyright: ignore
    return process


def end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        assert stream
        stream.close()


def test_a_lock_is_exclusive_between_processes_and_freed_by_sigkill(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    process = holding(path)
    try:
        assert not FileLock(path).acquire()
        assert is_locked(path)
    finally:
        end(process)
    assert not is_locked(path)
    with FileLock(path) as lock:
        assert lock.acquire()


def test_looking_at_a_lock_never_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    assert not path.exists(), "looking does not even make the file"
    path.touch()
    looker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from sweeps.storage.file_lock import is_locked\n"
            "print('looking', flush=True)\n"
            "while True: assert not is_locked(Path(sys.argv[1])) or True",
            str(path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert looker.stdout
        looker.stdout.readline()
        for _ in range(300):
            with FileLock(path) as lock:
                assert lock.acquire(), "a look was taken for a lock"
    finally:
        end(looker)


def test_a_lock_can_be_taken_again_after_its_release(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    for _ in range(2):
        assert lock.acquire()
        lock.release()
    lock.release()


@pytest.mark.parametrize("look", [is_locked, lambda path: read_lock(path, 1)], ids=["is", "read"])
def test_a_look_in_another_thread_never_drops_a_lock(
    tmp_path: Path, look: Callable[[Path], object]
) -> None:
    path = tmp_path / "lock"
    path.touch()
    is_over = threading.Event()

    def look_on() -> None:
        while not is_over.is_set():
            look(path)

    looker = threading.Thread(target=look_on)
    command = [sys.executable, "-c", LOOK, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin
        assert other.stdout
        looker.start()
        try:
            for _ in range(300):
                with FileLock(path) as lock:
                    assert lock.acquire()
                    other.stdin.write("\n")
                    other.stdin.flush()
                    assert other.stdout.readline() == "True\n", "another process sees it free"
        finally:
            is_over.set()
            looker.join()
