"""`submit --follow` to a cluster on AWS without a head: it offers the command that starts one."""

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from sweeps.remote import cluster_file
from sweeps.remote.aws.settings import SHIPPED_IDS
from tests.pages import ROOT
from tests.sweeps.cli.shell import Shell

SUBMIT = ("submit", "quickstart", "--on", "cluster.yaml", "--gpus-per-trial", "0")


class Ray:
    """Ray's command line, whose cluster has no head until it is started.

    Attributes:
        started: The commands that have started one.
        starts: Whether a start brings one.
    """

    def __init__(self) -> None:
        self.started: list[list[str]] = []
        self.starts = True

    def __call__(self, command: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        if "get-head-ip" in command:
            is_up = self.starts and bool(self.started)
            return subprocess.CompletedProcess(command, not is_up, "" if not is_up else "::1", "-")
        self.started.append(command[1:])
        return subprocess.CompletedProcess(command, int(not self.starts), "", "")


@pytest.fixture
def ray(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Ray:
    text = (ROOT / "cluster.yaml").read_text().replace(SHIPPED_IDS["security_group"], "sg-1")
    (shell.folder / "cluster.yaml").write_text(text)
    ray = Ray()
    monkeypatch.setattr(subprocess, "run", ray)
    monkeypatch.setattr(cluster_file.subprocess, "run", ray)
    return ray


def in_terminal(monkeypatch: pytest.MonkeyPatch, *, answer: bool) -> list[str]:
    """Have a user at a terminal who answers; return what they are asked."""
    asked: list[str] = []
    monkeypatch.setattr(
        "sweeps.cli.commands.submit.sys.stdin", SimpleNamespace(isatty=lambda: True)
    )
    monkeypatch.setattr(typer, "confirm", lambda text, **_: asked.append(text) or answer)
    return asked


@pytest.mark.parametrize("more", [(), ("--follow",)])
def test_without_a_terminal_the_sentence_names_the_command(
    more: tuple[str, ...], shell: Shell, ray: Ray
) -> None:
    sentence = shell.refused(*SUBMIT, *more)
    assert "Its disk keeps what was trained: start the head, ray up " in sentence
    assert sentence.endswith("cluster.yaml, and give the same command again.")
    assert not ray.started


def test_who_follows_is_asked_and_the_head_is_started(
    shell: Shell, ray: Ray, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = in_terminal(monkeypatch, answer=True)
    answer = shell(*SUBMIT, "--follow")  # and then ssh finds nobody at that address
    assert asked == [f"Start it now by ray up {shell.folder / 'cluster.yaml'}?"]
    up = ["up", str(shell.folder / "cluster.yaml"), "--yes", "--disable-usage-stats"]
    assert ray.started[0] == up
    assert "has no head" in answer.err
    assert "Asking ubuntu@::1" in answer.out


def test_who_declines_and_a_start_that_fails_leave_it(
    shell: Shell, ray: Ray, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_terminal(monkeypatch, answer=False)
    assert shell(*SUBMIT, "--follow").code == 2
    assert not ray.started
    in_terminal(monkeypatch, answer=True)
    ray.starts = False
    answer = shell(*SUBMIT, "--follow")
    assert answer.code == 2
    assert len(ray.started) == 1


def test_the_shipped_file_is_to_be_filled_in_first(shell: Shell) -> None:
    (shell.folder / "cluster.yaml").write_text((ROOT / "cluster.yaml").read_text())
    for words in (SUBMIT, ("cluster", "check", "cluster.yaml")):
        sentence = shell.refused(*words)
        assert "does not name what a cluster needs in your account on AWS: capsweep" in sentence
        assert "cluster init aws --file " in sentence
