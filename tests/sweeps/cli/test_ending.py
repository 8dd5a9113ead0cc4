"""A command's process is gone as soon as all is said, and nothing that matters is lost by it."""

import subprocess
import sys

_END = """
import atexit, sys, threading
from sweeps.cli import entry

class Loaded:
    def __del__(self):
        sys.stderr.write("taken apart\\n")

def main():
    print("x" * 200_000)
    raise SystemExit(7)

sys.modules["loaded"] = Loaded()
atexit.register(print, "registered")
entry.main = main
{before}
entry.main_process()
"""
_THREAD = """
went_on = threading.Event()
end_at_once = entry.end_at_once

def end(exit_code):
    end_at_once(exit_code)
    went_on.set()

def work():
    went_on.wait()
    print("worked")

entry.end_at_once = end
threading.Thread(target=work, daemon={daemon}).start()
"""


def ended(before: str = "") -> subprocess.CompletedProcess[str]:
    program = _END.format(before=before)
    return subprocess.run(
        [sys.executable, "-E", "-c", program], capture_output=True, text=True, check=False
    )


def test_what_was_said_is_written_and_what_is_loaded_is_left() -> None:
    done = ended()
    assert done.stdout == "x" * 200_000 + "\nregistered\n"
    assert (done.returncode, done.stderr) == (7, "")


def test_a_thread_at_work_is_waited_for() -> None:
    done = ended(_THREAD.format(daemon=False))
    assert sorted(done.stdout.split("\n")[1:]) == ["", "registered", "worked"]
    assert (done.returncode, done.stderr) == (7, "taken apart\n")


def test_a_thread_in_the_background_is_not_waited_for() -> None:
    done = ended(_THREAD.format(daemon=True))
    assert "worked" not in done.stdout
    assert done.returncode == 7


def test_where_nobody_listens_it_ends_quietly() -> None:
    program = _END.format(before="").replace("200_000", "10")
    command = [sys.executable, "-E", "-c", f"import sys\nsys.stdin.read()\n{program}"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (7, "")
