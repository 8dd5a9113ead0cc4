"""What a submitted sweep prints, as it is shown where it was submitted, and commands for it."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from sweeps.cli import remote_sweeps
from sweeps.cli.commands import run
from sweeps.cli.remote_sweeps import exit_code_of, shown_by
from sweeps.execution.launch.result import SweepResult
from sweeps.records.errors import BadInput
from sweeps.records.launch_command import RESUME_VARIABLE
from sweeps.remote import head
from sweeps.remote.messages import (
    CommandEnded,
    Facts,
    Files,
    Frame,
    JobState,
    Node,
    Nodes,
    Running,
    SlurmFacts,
    Text,
)
from sweeps.remote.submissions import Submission
from tests.sweeps.cli.shell import Shell

RUNNING = JobState(status="RUNNING")
STOPPED = JobState(status="STOPPED", exit_code=130)
NO_LAUNCH = "capsweep: No launch of 'mine' runs over /s, so nothing was stopped.\n"


class Cluster:
    """The head of a cluster, whose agent gives prepared answers.

    Attributes:
        file: The cluster's file.
        answers: Name of a request -> what its next calls give; the last one again and again.
        asked: The requests so far.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.name = "head"
        self.answers: dict[str, list[Any]] = {"running": [Running(is_running=True)]}
        self.asked: list[Any] = []

    def call(
        self, request: Any, _: type[Any], on_reply: Callable[[Text], None] = lambda _: None
    ) -> Any:
        self.asked.append(request)
        answers = self.answers[request.call]
        answer = answers.pop(0) if answers[1:] else answers[0]
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, tuple):
            text, answer = answer
            on_reply(Text(text=text))
        return answer

    def calls(self) -> list[str]:
        return [request.call for request in self.asked]


@pytest.fixture
def cluster(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    file = shell.folder / "m.txt"
    file.write_text("storage = /s\nhead\n")
    there = Cluster(file)
    monkeypatch.setattr(head, "link_to", lambda machine: there)
    monkeypatch.setattr(remote_sweeps, "_POLL_SECONDS", 0.0)
    return there


def note(cluster: Cluster, sweep: str = "mine", **fields: Any) -> Submission:
    resume = f"capsweep submit {sweep} --on {cluster.file}"
    on, folder = str(cluster.file), str(cluster.file.parent)
    of_file = Submission(sweep=sweep, job_id=f"{sweep}-1", on=on, folder=folder, resume=resume)
    noted = of_file.model_copy(update=fields)
    noted.write()
    return noted


def test_a_dry_run_asks_the_head_for_the_plan_and_hands_nothing_over(
    shell: Shell, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeps.remote.submit.link_to", lambda machine: cluster)
    plan = {
        "sweep": "quickstart",
        "num_cells": 35,
        "counts": {},
        "gpus_per_trial": 0.0,
        "num_concurrent": 2,
        "estimate_seconds": 7200.0,
        "disk": {"most_bytes": 1, "free_bytes": 2},
        "is_done": False,
    }
    node = Node(address="10.0.0.1", is_alive=True, is_head=True, cpus=4, gpus=0)
    versions = {"python": "3.11", "ray": "2", "torch": "2"}
    facts = Facts(host="head", address="10.0.0.1", cpus=4, gpus=0, **versions)
    cluster.answers |= {
        "nodes": [Nodes(nodes=(node,))],
        "run": [(json.dumps(plan), CommandEnded(exit_code=0))],
        "facts": [facts],
    }
    before = shell.files()
    answer = shell("submit", "quickstart", "--on", str(cluster.file), "--price=3", "--dry-run")
    assert answer.code == 0, answer.err
    assert answer.out.splitlines() == [
        "Asking head ...",
        "quickstart on head: 35 cells; 2 trials at once, no GPU each.",
        "Estimate: about 2 h on 1 machine, 2 machine hours, which cost 6.00.",
        "Dry run: nothing was written or submitted.",
    ]
    assert cluster.calls() == ["nodes", "run", "facts"]
    assert shell.files() == before


def test_a_launch_that_is_starting_is_stopped_once_it_has_begun(
    shell: Shell, cluster: Cluster
) -> None:
    note(cluster)
    cluster.answers["run"] = [
        (NO_LAUNCH, CommandEnded(exit_code=2)),
        ("It ends.\n", CommandEnded(exit_code=0)),
    ]
    cluster.answers["follow"] = [RUNNING]
    answer = shell("stop", "mine")
    assert answer.code == 0
    assert "Job mine-1 is starting: it is stopped once its launch has begun." in answer.out
    assert "It ends." in answer.out
    assert "nothing was stopped" not in answer.out


def test_a_job_that_begins_no_launch_is_ended_by_ray(
    shell: Shell, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    note(cluster)
    monkeypatch.setattr(remote_sweeps, "_START_SECONDS", 0.0)
    cluster.answers["run"] = [(NO_LAUNCH, CommandEnded(exit_code=2))]
    cluster.answers |= {"follow": [RUNNING], "stop_job": [STOPPED]}
    answer = shell("stop", "mine")
    assert answer.code == 0
    assert "Job mine-1 has begun no launch, so Ray ends it." in answer.out
    assert "stop_job" in cluster.calls()


def test_to_stop_what_has_ended_is_refused_by_the_sentence_from_there(
    shell: Shell, cluster: Cluster
) -> None:
    note(cluster)
    cluster.answers |= {"run": [(NO_LAUNCH, CommandEnded(exit_code=2))], "follow": [STOPPED]}
    answer = shell("stop", "mine")
    assert answer.code == 2
    assert answer.out == NO_LAUNCH


def test_how_many_trials_run_at_once_is_changed_where_the_launch_runs(
    shell: Shell, cluster: Cluster
) -> None:
    note(cluster, storage="/s", tracking_uri="http://there")
    cluster.answers["run"] = [("It runs 3.\n", CommandEnded(exit_code=0))]
    answer = shell("limit", "mine", "3")
    assert answer.code == 0
    assert "It runs 3." in answer.out
    (request,) = cluster.asked
    assert request.arguments == ("limit", "mine", "3", "--storage=/s")
    cluster.answers["run"] = [(NO_LAUNCH, CommandEnded(exit_code=2))]
    assert shell("limit", "mine", "3").code == 2


def test_the_same_submit_follows_a_running_launch_without_a_plan_and_a_question(
    shell: Shell, cluster: Cluster
) -> None:
    note(
        cluster,
        "quickstart",
        resume=f"capsweep submit quickstart --on {cluster.file} --seeds=0",
        words=("--seeds=0", "--retrain"),
        is_reported=True,
    )
    done = JobState(status="SUCCEEDED", exit_code=0)
    cluster.answers["follow"] = [RUNNING, ("quickstart: 5 trained now\n", done)]
    answer = shell("submit", "quickstart", "--on", "m.txt", "--seeds=0", "--follow")
    assert answer.code == 0, answer.err
    assert "It is there already, as job quickstart-1." in answer.out
    assert "5 trained now" in answer.out
    assert cluster.calls() == ["follow", "follow"]


def test_to_submit_where_ray_does_not_run_says_what_starts_it(
    shell: Shell, cluster: Cluster
) -> None:
    cluster.answers["nodes"] = [BadInput("Ray is down.")]
    answer = shell("submit", "quickstart", "--on", "m.txt", "--yes")
    assert (answer.code, answer.err) == (2, "capsweep: Ray is down.\n")
    assert answer.out == "Asking head ...\n"
    start = f"capsweep cluster up {cluster.file}"
    assert cluster.asked[0].down == f"Ray does not run on head: start it with {start}."


@pytest.mark.parametrize("command", ["status", "best", "report", "stop", "logs"])
def test_a_name_that_is_not_known_here_is_answered_with_what_was_submitted(
    shell: Shell, cluster: Cluster, command: str
) -> None:
    note(cluster, "long")
    note(cluster, "shares")
    assert shell.refused(command, "sharess") == (
        "No sweep 'sharess' is known here. Did you mean 'shares'? Submitted from this machine: "
        "long, shares."
    )
    assert "no tracking store" in shell.refused("best", "sharess", "--storage", "x")


def test_status_lists_what_was_submitted_where_nothing_is_here(
    shell: Shell, cluster: Cluster
) -> None:
    note(cluster, "long")
    answer = shell("status")
    assert answer.code == 0
    assert "long" in answer.out
    assert str(cluster.file) in answer.out
    assert "Submitted from this machine: long." in shell.refused("show", "ab12")
    (shell.folder / "capsweep-store" / "journals").mkdir(parents=True)
    assert "There is no tracking store" in shell.refused("status")


@pytest.mark.parametrize("has_ended", [False, True])
def test_an_interrupted_view_says_how_to_follow_and_stop_what_goes_on(
    shell: Shell, cluster: Cluster, *, has_ended: bool
) -> None:
    noted = note(cluster, is_reported=True)
    cluster.answers["follow"] = [KeyboardInterrupt(), STOPPED if has_ended else RUNNING]
    answer = shell("logs", "-f", "mine")
    assert answer.code == 130
    goes_on = f"'mine' goes on. Follow it again: {noted.resume} --follow. Stop it: capsweep stop"
    assert (goes_on in answer.out) is not has_ended


def test_a_submitted_launch_names_no_file_of_its_head_and_no_command_for_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = SweepResult("mine", num_cells=5, num_filled=5, num_trained=5, exit_code=0)
    run.print_result(result)
    assert "Next: " in capsys.readouterr().out
    monkeypatch.setenv(RESUME_VARIABLE, "capsweep submit mine --on m.txt")
    run.print_result(result)
    assert "Next: " not in capsys.readouterr().out


def test_an_interrupted_launch_says_that_a_report_is_from_before_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sentence = "This launch has written no report: one that is there is from before it.\n"
    for exit_code in (0, 3, 130):
        run.print_result(SweepResult("mine", 5, num_filled=2, num_trained=1, exit_code=exit_code))
        assert (sentence in capsys.readouterr().out) == (exit_code == 130)


def test_who_follows_a_job_sees_its_tables_as_wide_as_the_terminal(
    shell: Shell, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_sweeps, "_columns", lambda: 83)
    note(cluster, to="slurm", on="login", storage="/s")
    done = JobState(status="SUCCEEDED", exit_code=0)
    cluster.answers |= {
        "slurm": [SlurmFacts(storage="/s")],
        "follow_slurm_job": [("mine: 5 trained now\n", done)],
        "run": [
            ("A table\n\nReport: /tmp/there/report.html (9 more)\n", CommandEnded(exit_code=0))
        ],
        "files": [Files(files={})],
    }
    answer = shell("logs", "-f", "mine")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("mine: 5 trained now\nA table\n\nOn this machine, of 'mine': ")
    (asked,) = (request for request in cluster.asked if request.call == "run")
    assert (asked.arguments, asked.columns) == (
        ("report", "mine", "--name=mine", "--storage=/s"),
        83,
    )
    assert "A table" not in shell("logs", "-f", "mine").out  # they were shown


def test_a_terminal_shows_the_live_view_in_place_and_other_lines_above_it() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=80, color_system=None)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        show = shown_by(live, "mine")
        show(Text(text="2026-11-26 16:25:46,361\tINFO job_manager.py:581 -- Runtime env.\n"))
        show(Text(text="Running entrypoint for job mine-1: exec capsweep\nmine: 6 ce"))
        show(Text(text="lls.\nmine: 0 of 6 cells done, 2 running, 10 s elapsed\n"))
        show(Frame(text="mine: 1 of 6 cells done\x1b]0;title\x07\n"))
        live.refresh()
        shown = out.getvalue()
        show(Text(text="mine: 6 trained now, 6 of 6 cells filled.\n"))
    printed = out.getvalue()
    assert "mine: 1 of 6 cells done" in shown
    assert "\x1b]0;" not in printed
    assert "mine: 6 cells." in printed
    assert "mine: 6 trained now" in printed
    for left_out in ("10 s elapsed", "job_manager", "entrypoint"):
        assert left_out not in printed


def test_the_end_of_a_job_is_the_exit_code_of_its_launch() -> None:
    assert exit_code_of(JobState(status="SUCCEEDED", exit_code=0)) == 0
    assert exit_code_of(JobState(status="FAILED", exit_code=3)) == 3
    assert exit_code_of(JobState(status="STOPPED")) == 130
    assert exit_code_of(JobState(status="FAILED", message="no memory")) == 3
