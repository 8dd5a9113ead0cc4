"""Logs of trials and launches are printed whole, from their end or as they grow, and safely."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.launch_process import logs
from sweeps.storage.locations import Storage
from sweeps.storage.store_format import write_format
from tests.sweeps.cli.shell import Shell
from tests.waiting import PATIENCE_SECONDS, wait_until

KEY = "0a" * 10
OTHER = "0b" * 10


@pytest.fixture
def cell(storage: Path) -> CellFolder:
    """A cell with a log of three lines, and another one beside it without."""
    write_format(Storage(storage))
    (storage / "cells" / OTHER).mkdir(parents=True)
    folder = CellFolder(storage / "cells", KEY)
    folder.path.mkdir()
    folder.log.write_text("one\ntwo\nthree\n")
    return folder


@pytest.mark.parametrize("name", [KEY, "0a", "0A0a"])
def test_the_log_of_a_trial_is_printed_by_the_beginning_of_its_key(
    shell: Shell, cell: CellFolder, name: str
) -> None:
    assert cell.log.exists()
    answer = shell("logs", name)
    assert (answer.code, answer.out, answer.err) == (0, "one\ntwo\nthree\n", "")
    assert shell("logs", name, "-f").out == answer.out, "it is not under way"
    assert shell("logs", name, "--lines", "2").out == "two\nthree\n"
    assert shell("logs", name, "-n", "99").out == answer.out


def test_the_log_of_a_sweep_is_printed_by_its_name(shell: Shell, storage: Path) -> None:
    (storage / "logs").mkdir()
    (storage / "logs" / "quickstart.log").write_text("Ray speaks")
    assert shell("logs", "quickstart").out == "Ray speaks\n"


def test_an_empty_log_is_said_to_be_empty(shell: Shell, cell: CellFolder) -> None:
    cell.log.write_text("")
    answer = shell("logs", KEY)
    assert (answer.code, answer.out) == (0, "")
    assert answer.err == "The log is empty: nothing was printed.\n"


def test_no_log_commands_the_terminal(shell: Shell, cell: CellFolder) -> None:
    cell.log.write_bytes(
        b"\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J \xff \xe2\x80\xae \x1b\x1b[0m[31m\n"
        b"1 %\r2 %\r\n"
    )
    output = shell("logs", KEY).out
    assert output == "red \ufffd]0;title\ufffd \ufffd[2J \ufffd \ufffd \ufffd[31m\n1 %\n2 %\n"


def test_a_log_of_any_length_is_read_in_pieces(cell: CellFolder) -> None:
    line = "\N{GREEK SMALL LETTER ALPHA}" * 40
    cell.log.write_text(f"{line}\n" * 5000 + "x" * 300_000, encoding="utf-8")
    storage = cell.path.parent.parent
    pieces = list(logs.find_log(KEY, storage).texts())
    assert max(map(len, pieces)) <= 2 * 65536 + 1
    assert "".join(pieces) == cell.log.read_text(encoding="utf-8") + "\n"
    last = "".join(logs.find_log(KEY, storage).texts(3001))
    assert last == f"{line}\n" * 3000 + "x" * 300_000 + "\n"


def test_a_log_is_followed_until_its_trial_has_ended(cell: CellFolder) -> None:
    chunks: list[str] = []

    def follow() -> None:
        chunks.extend(logs.find_log(KEY, cell.path.parent.parent).texts(1, is_followed=True))

    with cell.lease():
        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        wait_until(lambda: chunks == ["three\n"])
        with cell.log.open("a") as log:
            log.write("four\nfi")
            log.flush()
            wait_until(lambda: chunks == ["three\n", "four\n"])
            log.write("ve")
        assert thread.is_alive()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    assert "".join(chunks) == "three\nfour\nfive\n"


FOLLOWED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run behind
from sweeps.cli import main
from sweeps.execution.cells.folder import CellFolder
sys.argv = ["capsweep", "logs", sys.argv[1], "-f"]
CellFolder.is_busy = lambda self: True
main()
"""


def test_ctrl_c_ends_what_is_followed_without_a_traceback(shell: Shell, cell: CellFolder) -> None:
    assert cell.log.exists()
    with subprocess.Popen(
        [sys.executable, "-c", FOLLOWED, KEY],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        try:
            assert process.stdout.readline() == "one\n"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
    assert (process.returncode, errors) == (130, "")


REFUSALS = {
    "no such trial": (["ffff"], "There is no trial 'ffff'"),
    "no such sweep": (["quikstart"], "Did you mean 'quickstart'?"),
    "a sweep that trained nothing here": (["quickstart"], "has no log of its own"),
    "several trials": (["0"], "2 trials begin with '0'"),
    "a trial that was not begun": ([OTHER], "has no log in"),
    "a path": (["../../secret"], "is neither a sweep nor the beginning"),
    "a pattern": (["*"], "'*' is neither a sweep nor"),
    "nothing": ([""], "'' is neither a sweep nor"),
    "no lines": ([KEY, "-n", "0"], "--lines takes a number of lines of at least 1, given was 0."),
    "no number of lines": ([KEY, "-n", "x"], "'--lines'"),
    "no storage folder": ([KEY, "--storage", "nowhere"], "There is no storage folder"),
}


@pytest.mark.usefixtures("cell")
@pytest.mark.parametrize("case", REFUSALS)
def test_a_log_that_is_not_there_is_refused(shell: Shell, case: str) -> None:
    arguments, message = REFUSALS[case]
    assert message in shell.refused("logs", *arguments)


def test_a_link_in_place_of_a_log_is_refused(shell: Shell, cell: CellFolder) -> None:
    (shell.folder / "secret").write_text("key")
    cell.log.unlink()
    cell.log.symlink_to(shell.folder / "secret")
    assert "is not a regular file but a link" in shell.refused("logs", KEY)
    folder = Storage(cell.path.parent.parent).logs
    folder.mkdir()
    (folder / "quickstart.log").symlink_to(shell.folder / "secret")
    assert "is not a regular file but a link" in shell.refused("logs", "quickstart")
