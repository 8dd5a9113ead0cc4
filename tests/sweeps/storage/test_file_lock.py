"""Files are whole or not there; a lock dies with its process."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sweeps.storage.file_lock import FileLock, is_locked, read_lock
from sweeps.storage.folder import Folder

HOLD = """
import sys
from pathlib import Path
from sweeps.storage.file_lock import FileLock
from sweeps.storage.folder import Folder
path = Path(sys.argv[1])
lock = FileLock(Folder(path.parent), path.name)
print(lock.acquire(), flush=True)
sys.stdin.readline()
"""

LOOK = """
import sys
from pathlib import Path
from sweeps.storage.file_lock import is_locked
from sweeps.storage.folder import Folder
for _ in sys.stdin:
    print(is_locked(Folder(Path(sys.argv[1])), "lock"), flush=True)
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
    folder = Folder(tmp_path)
    process = holding(tmp_path / "lock")
    try:
        assert not FileLock(folder, "lock").acquire()
        assert is_locked(folder, "lock")
    finally:
        end(process)
    assert not is_locked(folder, "lock")
    with FileLock(folder, "lock") as lock:
        assert lock.acquire()


def test_the_check_of_a_lock_never_takes_it(tmp_path: Path) -> None:
    folder, path = Folder(tmp_path), tmp_path / "lock"
    assert not is_locked(folder, "lock")
    assert not path.exists(), "a check does not even make the file"
    path.touch()
    checker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from sweeps.storage.file_lock import is_locked\n"
            "from sweeps.storage.folder import Folder; folder = Folder(Path(sys.argv[1]))\n"
            "print('checking', flush=True)\n"
            "while True: assert not is_locked(folder, 'lock') or True",
            str(tmp_path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert checker.stdout
        checker.stdout.readline()
        for _ in range(300):
            with FileLock(folder, "lock") as lock:
                assert lock.acquire(), "a check was taken for a lock"
    finally:
        end(checker)


def test_a_lock_can_be_taken_again_after_its_release(tmp_path: Path) -> None:
    lock = FileLock(Folder(tmp_path), "lock")
    for _ in range(2):
        assert lock.acquire()
        lock.release()
    lock.release()


@pytest.mark.parametrize(
    "check",
    [lambda folder: is_locked(folder, "lock"), lambda folder: read_lock(folder, "lock", 1)],
    ids=["is", "read"],
)
def test_a_check_in_another_thread_never_drops_a_lock(
    tmp_path: Path, check: Callable[[Folder], object]
) -> None:
    folder = Folder(tmp_path)
    (tmp_path / "lock").touch()
    is_over = threading.Event()

    def check_on() -> None:
        while not is_over.is_set():
            check(folder)

    checker = threading.Thread(target=check_on)
    command = [sys.executable, "-c", LOOK, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin
        assert other.stdout
        checker.start()
        try:
            for _ in range(300):
                with FileLock(folder, "lock") as lock:
                    assert lock.acquire()
                    other.stdin.write("\n")
                    other.stdin.flush()
                    assert other.stdout.readline() == "True\n", "another process sees it free"
        finally:
            is_over.set()
            checker.join()
