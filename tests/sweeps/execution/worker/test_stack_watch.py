"""A trial that hangs or is killed leaves the line at which that happened."""

import contextlib
import io
import multiprocessing
from pathlib import Path

import pytest
import torch

from search_spaces.user_code import MODULE_PREFIX
from sweeps.execution.cells.worker_stats import WorkerStats
from sweeps.execution.last_line import last_line
from sweeps.execution.worker import stack_watch
from sweeps.execution.worker.trial import TrialJob, run_trial
from sweeps.storage.folder import Folder
from tests.sweeps.execution.worker.test_trial import SOURCE, job_of_own_routing
from tests.sweeps.execution.worker.trials import folder_of, silent
from tests.waiting import wait_until

# What a part does, and the line of it that is named.
HANGS = {
    "sleeping": ("import time\ntime.sleep(LONG)\n", 2),
    "computing": ("import time\nend = time.time() + LONG\nwhile time.time() < end: pass\n", 3),
    "waiting for a lock": (
        "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire(timeout=LONG)\n",
        4,
    ),
    "reading from nobody": (
        "import select, os\ndef read():\n    select.select([os.pipe()[0]], [], [], LONG)\nread()\n",
        3,
    ),
}


def hang(text: str, seconds: float) -> None:
    """Run a text as the code of a sweep file."""
    names = {"__name__": MODULE_PREFIX + "0", "LONG": seconds}
    exec(compile(text, "mine.py", "exec"), names)


@pytest.mark.parametrize("name", HANGS)
def test_a_trial_whose_batches_do_not_end_is_logged_once_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text, line = HANGS[name]
    monkeypatch.setattr(stack_watch, "STALL_SECONDS", 0.1)
    monkeypatch.setattr(stack_watch, "_NOTE_SECONDS", 0.02)
    stats, log = WorkerStats(Folder(tmp_path)), io.StringIO()
    with stack_watch.stack_watch(stats, log):
        hang(text, 0.6)
    wait_until(stats.line)
    first, *stack = log.getvalue().splitlines()
    assert first == f"no batch has ended for 0 s: the trial is at mine.py, line {line}"
    assert f'  File "mine.py", line {line}, in ' in "\n".join(stack)
    assert log.getvalue().count("no batch") == 1


def test_batches_that_end_are_no_stall_however_long_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(stack_watch.time, "monotonic", lambda: now)
    monkeypatch.setattr(stack_watch, "_NOTE_SECONDS", 10.0)
    stats, log = WorkerStats(Folder(tmp_path)), io.StringIO()
    watch, seen = stack_watch.StackWatch(stats, log), dict[int, int]()
    for second in range(0, 700, 10):
        now, num = float(second), min(second // 50, 7)  # the eighth batch never ends
        watch.num_batches = lambda num=num: num
        watch.note()
        seen[second] = stats.stalled_seconds()
    assert [second for second, seconds in seen.items() if seconds] == list(range(490, 700, 10))
    now = 10_000.0  # the process was stopped for that long
    watch.note()
    assert stats.stalled_seconds() - seen[690] == 20


KILLS = {
    "a crash": "ctypes.string_at(0)",
    "an abort": "os.abort()",
    "a kill": "time.sleep(1); os.kill(os.getpid(), 9)",
    "an exit": "time.sleep(1); os._exit(0)",
}


def killed_in_fork(job: TrialJob) -> None:
    torch.set_num_threads(1)  # threads of the parent do not exist here
    with contextlib.suppress(Exception):
        run_trial(job, silent)


@pytest.mark.parametrize("name", KILLS)
def test_a_trial_that_is_killed_leaves_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(stack_watch, "_NOTE_SECONDS", 0.05)
    kill = KILLS[name]
    source = "import ctypes, os, time\n" + SOURCE.replace('print("routing by the mean")', kill)
    job = job_of_own_routing(tmp_path, source)
    child = multiprocessing.get_context("fork").Process(target=killed_in_fork, args=(job,))
    child.start()
    child.join()
    cell, line = folder_of(job), source[: source.index(kill)].count("\n") + 1
    found = last_line(cell.end_of_log(0), ("mine.py",)) or cell.stats.line()
    assert str(found).startswith(f"mine.py, line {line}")
