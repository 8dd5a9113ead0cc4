"""Words are completed from folders alone, and nothing is ever said of an error."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sweeps.cli import completion
from tests.sweeps.cli.shell import Answer, Shell

KEY = "0123456789abcdef0123"


@pytest.fixture
def press_tab(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> "PressTab":
    return PressTab(shell, monkeypatch)


class PressTab:
    """A shell in which Tab is pressed behind a last word."""

    def __init__(self, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shell = shell
        self._monkeypatch = monkeypatch

    def answer(self, *arguments: str) -> Answer:
        line = ["capsweep", *arguments]
        self._monkeypatch.setenv("_CAPSWEEP_COMPLETE", "complete_bash")
        self._monkeypatch.setenv("COMP_WORDS", " ".join(line))
        self._monkeypatch.setenv("COMP_CWORD", str(len(line) - 1))
        return self.shell()

    def __call__(self, *arguments: str) -> list[str]:
        answer = self.answer(*arguments)
        assert (answer.code, answer.err) == (0, "")
        return answer.out.split()


def test_commands_are_completed(press_tab: PressTab) -> None:
    assert press_tab("re") == ["report", "repair"]


@pytest.mark.parametrize("command", ["plan", "run", "grid"])
def test_shipped_sweeps_and_files_are_completed(press_tab: PressTab, command: str) -> None:
    (press_tab.shell.folder / "quick_and_mine.py").touch()
    assert press_tab(command, "quick") == [
        "quickstart",
        "quickstart_search",
        "quick_and_mine.py",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["best"],
        ["report"],
        ["repair"],
        ["clean"],
        ["ablate"],
        ["confirm"],
        ["report", "x", "--compare"],
        ["run", "quickstart", "--warm-start"],
    ],
)
def test_launched_sweeps_are_completed(press_tab: PressTab, arguments: list[str]) -> None:
    journals = press_tab.shell.folder / "capsweep-store" / "journals"
    journals.mkdir(parents=True)
    names = ("mine.jsonl", "mine.lock", "mellow.jsonl", "mellow.jsonl.damaged-1", "other.jsonl")
    queues = (f"recorder-{'a' * 12}.db", "recorder-embedded-mlflow.db.db")
    for name in (*names, "mecorder.txt", *queues):
        (journals / name).touch()
    assert press_tab(*arguments, "m") == ["mellow", "mine"]
    assert press_tab(*arguments, "rec") == []
    (press_tab.shell.folder / "mile.py").touch()
    assert press_tab(*arguments, "mi") == ["mine", "mile.py"]


def test_trial_keys_are_completed_from_the_storage_that_is_named(press_tab: PressTab) -> None:
    (press_tab.shell.folder / "elsewhere" / "cells" / KEY).mkdir(parents=True)
    assert press_tab("show", "01") == []
    assert press_tab("show", "--storage", "elsewhere", "01") == [KEY]


@pytest.mark.parametrize("arguments", [["status", ""], ["show", ""], ["run", "-x"]])
def test_where_nothing_is_known_nothing_is_said(press_tab: PressTab, arguments: list[str]) -> None:
    assert press_tab(*arguments) == []


def test_an_error_is_not_told(press_tab: PressTab, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[str]:
        raise RuntimeError("the disk is on fire")

    monkeypatch.setattr(completion, "_names_in", broken)
    answer = press_tab.answer("show", "")
    assert (answer.code, answer.out, answer.err) == (1, "", "")


def test_what_is_said_of_a_word_stays_on_its_line(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_CAPSWEEP_COMPLETE", "complete_fish")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "capsweep plan ")
    lines = shell().out.splitlines()
    assert len(lines) > 5
    assert all("\t" in line for line in lines)


def test_completing_loads_nothing_that_trains_or_opens_a_store(tmp_path: Path) -> None:
    program = (
        "import atexit, json, sys; from sweeps.cli import main;"
        "heavy = ['torch', 'ray', 'mlflow', 'pandas', 'sqlite3.dump', 'numpy'];"
        "atexit.register(lambda: print(json.dumps([h for h in heavy if h in sys.modules])));"
        "sys.argv = ['capsweep']; main()"
    )
    for line in ("capsweep run q", "capsweep status q", "capsweep show 0"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={
                "_CAPSWEEP_COMPLETE": "complete_bash",
                "COMP_WORDS": line,
                "COMP_CWORD": "2",
                "PYTHONPATH": ":".join(sys.path),
            },
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=True,
        )
        assert json.loads(done.stdout.splitlines()[-1]) == []
        assert done.stderr == ""
