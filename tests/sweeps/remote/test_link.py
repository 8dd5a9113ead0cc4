"""Calls of an agent: by a real process here, with what a login shell and ssh put in between."""

import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pytest

from sweeps.records.errors import BadInput
from sweeps.remote.cluster_file import ClusterMachine
from sweeps.remote.link import Link, link_to, link_to_here, tunnel
from sweeps.remote.messages import (
    CommandEnded,
    Frame,
    GetNodes,
    GetRunning,
    HoldLock,
    Nodes,
    Probe,
    Probed,
    RunCommand,
    Running,
    Text,
)

_AGENT = [sys.executable, "-m", "sweeps.remote.agent"]


def link(*before: str, agent: Sequence[str] = _AGENT) -> Link:
    script = "; ".join([*before, "exec " + " ".join(agent)])
    return Link(["bash", "-c", script], "there")


def test_what_a_command_prints_is_sent_and_its_exit_code(tmp_path: Path) -> None:
    printed: list[Text | Frame] = []
    request = RunCommand(arguments=("report", "mine", "--storage", str(tmp_path / "none")))
    assert link("echo welcome").call(request, CommandEnded, printed.append).exit_code == 2
    text = "".join(reply.text for reply in printed)
    assert text.startswith(f"capsweep: There is no tracking store at {tmp_path}/none")


def test_another_release_is_named_on_both_sides() -> None:
    request = GetRunning(sweep="mine", release="0.0.1")
    with pytest.raises(BadInput) as error:
        link().call(request, Running)
    assert f"has capsweep {version('capsweep')} and this machine 0.0.1" in str(error.value)


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("exit 127", "capsweep is not installed on there"),
        ("echo 'no such folder' >&2; exit 3", "has ended without an answer: no such folder"),
        ("echo hello; exit 0", "has ended without an answer: it has said nothing"),
    ],
)
def test_a_machine_without_an_answer_is_named_with_its_last_words(
    script: str, sentence: str
) -> None:
    with pytest.raises(BadInput) as error:
        link(script).call(GetRunning(sweep="mine"), Running)
    assert sentence in str(error.value)


def test_a_machine_that_ssh_does_not_reach_is_named_with_the_command_that_has_to_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    machine = ClusterMachine("nobody@127.0.0.1", ssh_options=("-p", "9"))
    with pytest.raises(BadInput) as error:
        link_to(machine).call(GetRunning(sweep="mine"), Running)
    assert "nobody@127.0.0.1 cannot be reached by ssh" in str(error.value)
    assert "Make 'ssh -p 9 nobody@127.0.0.1' work first." in str(error.value)
    with pytest.raises(BadInput, match=r"No tunnel to nobody@127\.0\.0\.1"), tunnel(machine, 5000):
        pass


def test_a_machine_without_ssh_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BadInput, match="There is no 'ssh' here: install OpenSSH's client"):
        link_to(ClusterMachine("there")).call(GetRunning(sweep="mine"), Running)


def test_a_lock_of_one_agent_is_seen_by_another_and_goes_with_its_connection(
    tmp_path: Path,
) -> None:
    probe = Probe(storage=str(tmp_path), data=str(tmp_path), name="held")
    with link().opened(HoldLock(storage=str(tmp_path), name="held")) as connection:
        assert connection.reply() == Text(text="held")
        probed = link().call(probe, Probed)
        assert probed.sees_lock is True
        assert probed.seen_after_seconds is not None
        assert probed.data == ("held",)
    assert not list(tmp_path.iterdir())
    free = tmp_path / "held"
    free.touch()
    assert link().call(probe, Probed).sees_lock is False


def test_a_dashboard_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    with pytest.raises(BadInput) as error:
        link_to_here("x").call(GetNodes(dashboard="http://127.0.0.1:9"), Nodes)
    assert str(error.value).startswith("Ray's dashboard at http://127.0.0.1:9 does not answer")


def test_a_cluster_that_is_down_is_named_before_a_token_is_missed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    down = "Ray does not run on head: start it with capsweep cluster up /m.txt."
    with pytest.raises(BadInput) as error:
        link_to_here("x").call(GetNodes(dashboard="http://127.0.0.1:9", down=down), Nodes)
    assert str(error.value) == down


def test_a_cluster_whose_token_is_not_here_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    with pytest.raises(BadInput, match="There is no token for the cluster at"):
        link_to_here("x").call(GetNodes(dashboard="http://127.0.0.1:9"), Nodes)
