"""Files are whole or not there; a lock dies with its process."""

import subprocess
import sys
from pathlib import Path

from sweeps.storage.file_lock import FileLock, is_locked

HOLD = """
import sys
from pathlib import Path
from sweeps.storage.file_lock import FileLock
lock = FileLock(Path(sys.argv[1]))
print(lock.acquire(), flush=True)
sys.stdin.readline()
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
