"""`capsweep ui` as it is used: started, asked on loopback, and ended by its own process id."""

import os
import re
import signal
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psutil

from tools.fuzz.command import ended, family, has_ended, started
from tools.fuzz.mutations import NOT_YOURS

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_EXPERIMENTS = "ajax-api/2.0/mlflow/experiments/search?max_results=100"
_MOST_QUESTIONS = 100
_ANSWER_SECONDS = 10.0
_END_SECONDS = 5.0  # of processes whose parent has ended
_BYTES = 4096

Fault = tuple[str, str]


def served(
    base: Path, command: tuple[str, ...], limit: float, questions: list[str]
) -> tuple[int | None, list[Fault]]:
    """Start the UI, ask it where it answers, end it; one that refuses has said why.

    Args:
        base: Where the commands work.
        words: Of the command.
        limit: Seconds that it may take to begin or to refuse, and to end.
        questions: What it is asked, as paths of its address.

    Returns:
        The exit code, None where it had to be killed, and kinds and words of what must not be.
    """
    pid = started(base, command)
    address = _address(base / "out", pid, time.monotonic() + limit)
    if address is None:
        code = ended(pid, 0.0)
        return code, [] if code else [("no answer", "it ended without a word")] * (code == 0)
    processes = family(pid)
    faults = [*_answers(address, questions), *_listens_elsewhere(processes)]
    os.kill(pid, signal.SIGTERM)
    code = ended(pid, limit)
    return code, [*faults, *_left(processes)]


def _left(processes: list[psutil.Process]) -> Iterator[Fault]:
    """Yield the processes that the UI's end has left, and end them."""
    deadline = time.monotonic() + _END_SECONDS
    while any(map(_lives, processes)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in filter(_lives, processes):
        yield "left process", f"{process.pid}"
        process.kill()


def _lives(process: psutil.Process) -> bool:
    """Return whether a process runs; one that nobody waits for has ended all the same."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def questions_of(storage: Path) -> list[str]:
    """Return the requests to the UI of a store: its experiments, and files of its runs."""
    artifacts = storage / "artifacts"
    questions = [_EXPERIMENTS]
    for path in sorted(path for path in artifacts.rglob("*") if path.is_file()):
        run, _, name = path.relative_to(artifacts).as_posix().partition("/artifacts/")
        questions.append(f"get-artifact?path={quote(name)}&run_uuid={run}")
    return questions[:_MOST_QUESTIONS]


def _address(out: Path, pid: int, deadline: float) -> str | None:
    """Wait until the command prints its address. None if it ended or printed nothing."""
    while time.monotonic() < deadline:
        is_over = has_ended(pid)  # first, so that its last words are read
        if match := _ADDRESS.search(out.read_text(errors="replace")):
            return match[0]
        if is_over:
            return None
        time.sleep(0.05)
    return None


def _answers(address: str, questions: list[str]) -> Iterator[Fault]:
    """Yield the requests that get no answer, or one with contents from outside the storage."""
    for question in ("", *questions):
        try:
            with urllib.request.urlopen(f"{address}/{question}", timeout=_ANSWER_SECONDS) as answer:
                content = answer.read(_BYTES)
        except urllib.error.HTTPError as error:  # of a damaged row; the page itself has none
            content = error.read(_BYTES)
            if not question:
                yield "no answer", f"the page: {error}"
        except OSError as error:
            yield "no answer", f"{question or 'the page'}: {error}"
            return
        if NOT_YOURS.encode().strip() in content:
            yield "read outside", question


def _listens_elsewhere(processes: list[psutil.Process]) -> Iterator[Fault]:
    for process in processes:
        for connection in process.net_connections():
            if connection.status == psutil.CONN_LISTEN and connection.laddr.ip != "127.0.0.1":
                yield "listens elsewhere", f"{connection.laddr.ip}:{connection.laddr.port}"
