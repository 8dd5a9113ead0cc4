"""A sweep is checked in a process of its own: code that ends it or hangs in it is named."""

import re

import pytest

from sweeps.execution import check_process
from tests.sweeps.cli.shell import Shell
from tests.sweeps.execution.test_sweep_check import broken

CODE = "its process ended with code "
KILLED = "its process was killed by "
ROUTE = "        return poses\n"
LOAD = "        return splits\n"
# Where it stands, what is there instead, and how the process ends.
ENDS = {
    "an exit in a routing": (ROUTE, "        import os; os._exit(0)\n", CODE + "0"),
    "a crash in a routing": (ROUTE, "        import ctypes; ctypes.string_at(0)\n", "SIGSEGV"),
    "a termination in a routing": (
        ROUTE,
        "        import os; os.kill(os.getpid(), 15)\n",
        "SIGTERM",
    ),
    "an abort in load": (LOAD, "        import os; os.abort()\n", KILLED + "SIGABRT"),
    "a signal of its own in load": (
        LOAD,
        "        import signal; signal.raise_signal(12)\n",
        "SIGUSR2",
    ),
    "an exit in a plan": (
        "        arms = {",
        "        import os; os._exit(1); arms = {",
        CODE + "1",
    ),
    "an exit in an import": ("import torch\n", "import os; os._exit(0)\n", CODE + "0"),
}


pytestmark = pytest.mark.usefixtures("forked_check")


@pytest.mark.parametrize("name", ENDS)
def test_code_that_ends_the_process_is_named_with_its_line(shell: Shell, name: str) -> None:
    before, after, how = ENDS[name]
    _, line = broken(shell.folder, before, after)
    answer = shell("check", "mine.py")
    assert answer.code == 2
    assert how in answer.err
    assert f" (mine.py, line {line}). " in answer.err
    assert re.search(rf"^> +{line} \| ", answer.out, re.MULTILINE)


@pytest.mark.parametrize(
    "hanging",
    [
        "while True: pass",
        "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()",
    ],
)
def test_code_that_hangs_is_named_with_its_line(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, hanging: str
) -> None:
    monkeypatch.setattr(check_process, "_SILENT_SECONDS", 5)
    monkeypatch.setattr(check_process, "_ANSWER_SECONDS", 0.2)
    _, line = broken(
        shell.folder, "        splits = super().load", f"        {hanging}; super().load"
    )
    expected = f"it is at mine.py, line {line}: "
    with check_process.CheckProcess("mine.py", None) as process:
        assert any(expected in repr(report) for report in process.reports())
