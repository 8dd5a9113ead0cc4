"""A command is run once at the end of a launch, told how it ended, and stored nowhere."""

import json
import shlex
import subprocess
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from sweeps.execution.launch import launch as launch_module
from sweeps.execution.launch import notification
from sweeps.execution.launch_process.launch_lock import running_sweeps
from sweeps.execution.view.live_view import VIEW_VARIABLE
from sweeps.records.cell_contents import TrialSpec
from sweeps.records.errors import BadInput, StoreUnreachable
from sweeps.records.launch_command import RESUME_VARIABLE
from tests.sweeps.execution.launch.launches import Launches, design, falling_with_the_rate
from tests.waiting import wait_until

TOKEN = "s3cr3t-t0k3n"


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    return Launches(tmp_path, design(2, seeds=(0,)), monkeypatch)


def command(folder: Path, then: str = "") -> str:
    """Return a command that appends what it is told to a file."""
    return shlex.join(["sh", "-c", f"cat >> {folder}/told; {then}", TOKEN])


def told(folder: Path) -> dict[str, Any]:
    """Return what the command was told, once and in one line."""
    text = (folder / "told").read_text()
    (folder / "told").unlink()
    assert text.count("\n") == 1
    return json.loads(text)


def test_a_launch_that_completes_tells_the_answer_and_the_page(
    launches: Launches, tmp_path: Path
) -> None:
    result = launches.run(notify=command(tmp_path))
    assert result.report
    message = told(tmp_path)
    page = Path(message.pop("report"))
    assert page.is_absolute()
    assert message["answer"] in unescape(page.read_text())
    assert message == {
        "sweep": "example",
        "outcome": "complete",
        "answer": result.report.headline,
        "num_cells": 2,
        "num_filled": 2,
        "num_failed": 0,
    }
    launches.run(notify=command(tmp_path))
    assert told(tmp_path)["outcome"] == "complete", "also where nothing was left to do"
    launches.run()
    assert not (tmp_path / "told").exists(), "a relaunch without it runs none"


def test_a_launch_with_a_failed_cell_tells_how_many(launches: Launches, tmp_path: Path) -> None:
    def fails_at_the_second(spec: TrialSpec, epoch: int) -> float:
        if spec.arm == "rate 2":
            raise ValueError("no")
        return falling_with_the_rate(spec, epoch)

    launches.score = fails_at_the_second
    result = launches.run(notify=command(tmp_path))
    assert result.exit_code == 3
    message = told(tmp_path)
    assert (message["outcome"], message["num_filled"], message["num_failed"]) == ("failed", 1, 1)
    assert message["report"] is not None


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (KeyboardInterrupt(), "interrupted"),
        (BadInput("The plan proposes a cell twice."), "failed"),
        (ZeroDivisionError(), "failed"),
    ],
)
def test_a_launch_that_breaks_off_tells_so_without_an_answer(
    launches: Launches,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    error: BaseException,
    outcome: str,
) -> None:
    def breaks(*_: Any) -> None:
        raise error

    monkeypatch.setattr(launch_module, "fill", breaks)
    if isinstance(error, KeyboardInterrupt):
        assert launches.run(notify=command(tmp_path)).exit_code == 130
    else:
        with pytest.raises(type(error)):
            launches.run(notify=command(tmp_path))
    message = told(tmp_path)
    assert (message["outcome"], message["answer"], message["report"]) == (outcome, None, None)


def test_a_launch_whose_store_is_lost_is_incomplete(
    launches: Launches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise StoreUnreachable("The tracking store does not answer.")

    monkeypatch.setattr(launch_module, "write_report", lost)
    assert launches.run(notify=command(tmp_path)).exit_code == 3
    message = told(tmp_path)
    assert (message["outcome"], message["report"], message["num_filled"]) == ("incomplete", None, 2)


def test_a_refused_launch_runs_no_command(launches: Launches, tmp_path: Path) -> None:
    launches.run()
    with pytest.raises(BadInput, match="leaves out"):
        launches.run(notify=command(tmp_path), seeds=(1,))
    assert not (tmp_path / "told").exists()


def test_the_sweep_is_free_while_the_command_runs(
    launches: Launches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[object] = []
    journals = launches.storage.journals
    monkeypatch.setattr(notification, "_run", lambda *_: running.append(running_sweeps(journals)))
    launches.run(notify=command(tmp_path))
    assert running == [set()]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("sh -c 'exit 7' T", "--notify: 'sh' ended with exit code 7."),
        ("sh -c 'kill -9 $$' T", "--notify: 'sh' was killed by signal 9."),
        ("./gone T", "--notify: 'gone' cannot be run (No such file or directory)."),
        ("sh -c 'exec 0<&-' T", ""),
        ("sh -c 'echo printed by the command' T", ""),
    ],
)
def test_a_command_that_fails_is_a_line_and_changes_nothing(
    launches: Launches,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    words: str,
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    gone = Path("gone")
    gone.write_text("#!/bin/sh")
    gone.chmod(0o755)
    launches.score = lambda *_: gone.unlink(missing_ok=True) or 0.5
    result = launches.run(notify=words.replace(" T", f" {TOKEN}"))
    captured = capfd.readouterr()
    assert result.exit_code == 0
    lines = [line for line in captured.out.splitlines() if "--notify" in line]
    ended = " The launch has ended as it says."
    assert lines == ([sentence + ended] if sentence else [])
    assert TOKEN not in captured.out + captured.err
    assert ("printed by the command" in captured.err) == ("printed" in words)
    assert "printed by the command" not in captured.out


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (subprocess.TimeoutExpired("sh", 60), "took more than 60 s and was killed"),
        (KeyboardInterrupt(), "was interrupted and killed"),
    ],
)
def test_a_command_that_hangs_is_killed_with_all_that_it_started(
    launches: Launches,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    error: BaseException,
    why: str,
) -> None:
    started = tmp_path / "pid"

    class Hanging(subprocess.Popen[str]):
        def communicate(self, input: Any = None, timeout: Any = None) -> Any:  # noqa: A002
            if input is None:
                return super().communicate()
            assert timeout == 60
            wait_until(lambda: started.exists() and started.read_text().endswith("\n"))
            raise error

    names = {"PIPE": subprocess.PIPE, "TimeoutExpired": subprocess.TimeoutExpired}
    monkeypatch.setattr(notification, "subprocess", SimpleNamespace(Popen=Hanging, **names))
    script = f"sleep 3600 & echo $! > {started}; wait"
    assert launches.run(notify=shlex.join(["sh", "-c", script])).exit_code == 0
    assert f"--notify: 'sh' {why}." in capsys.readouterr().out
    wait_until(lambda: has_ended(int(started.read_text())))


def has_ended(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", "--notify names no program"),
        ("  ", "--notify names no program"),
        ("''", "--notify names no program"),
        ("mail 'me", "--notify cannot be split into words (No closing quotation)"),
        ("no-such-program x", "--notify: 'no-such-program' is no program on this machine"),
        ("/no/such/program", "--notify: 'program' is no program on this machine"),
        (f"KEY={TOKEN} curl x", "--notify: 'KEY' is no program on this machine"),
        ("cat > file", "--notify has > among its words. No shell reads it: for a pipe"),
        pytest.param("cat \0", "--notify has a zero byte", id="zero byte"),
        ("x" * 10_000, f"--notify: '{'x' * 97}...' is no program"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused_before_anything_is_written(
    launches: Launches, words: str, sentence: str
) -> None:
    with pytest.raises(BadInput) as caught:
        launches.run(notify=words)
    assert str(caught.value).startswith(sentence)
    assert TOKEN not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not launches.storage.root.exists()


def test_a_launch_that_the_command_starts_is_no_submitted_one(
    launches: Launches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RESUME_VARIABLE, "capsweep submit example --to slurm")
    monkeypatch.setenv(VIEW_VARIABLE, str(tmp_path / "view"))
    launches.run(notify=shlex.join(["sh", "-c", f"env > {tmp_path}/env"]))
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert "PATH" in names
    assert not {RESUME_VARIABLE, VIEW_VARIABLE} & names


def test_the_command_is_in_no_file_and_in_no_manifest(launches: Launches, tmp_path: Path) -> None:
    launches.run()
    before = launches.store.manifest("example")
    launches.run(notify=command(tmp_path))
    assert launches.store.manifest("example") == before
    (tmp_path / "told").unlink()
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes(), path
