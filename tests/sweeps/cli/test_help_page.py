"""The help of the whole program fits on one screen, and says which release this is."""

from importlib.metadata import version
from pathlib import Path

import pytest

from sweeps.cli.program import COMMANDS
from tests.sweeps.cli.shell import Shell


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_every_command_stands_on_one_screen_behind_its_group(shell: Shell) -> None:
    lines = shell("--help").out.splitlines()
    assert len(lines) <= 26
    assert max(map(len, lines)) <= 80
    shown, group = {}, ""
    for line in lines[1:]:
        first, name, *_ = line.split() if line[0] != " " else (group, *line.split())
        group = first
        shown[name] = group
    assert shown == {name: command.group for name, command in COMMANDS.items()}


def test_no_line_of_the_help_is_cut_off(shell: Shell) -> None:
    output = shell("--help").out
    for command in COMMANDS.values():
        assert command.summary in output


def test_without_a_command_the_help_is_told_as_an_error(shell: Shell) -> None:
    answer = shell()
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == shell("--help").out


def test_the_release_is_told_and_where_its_pages_are(shell: Shell) -> None:
    answer = shell("--version")
    assert (answer.code, answer.err) == (0, "")
    release, pages = answer.out.splitlines()
    assert release == f"capsweep {version('capsweep')}"
    assert Path(pages.removeprefix("Its pages, docs/*.md: "), "json.md").exists()
