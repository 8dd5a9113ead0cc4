"""The command lines of jobs, and how jobs are followed."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeps.cli.hints import resume_command
from sweeps.records.errors import BadInput
from sweeps.remote import submit
from sweeps.remote.jobs import launch_line
from sweeps.remote.messages import JobState, SubmitSweep, Text


def test_a_submitted_launch_is_resumed_by_submitting_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resume = "capsweep submit quickstart --on 'my cluster.yaml' --seeds=0"
    request = SubmitSweep(
        dashboard="",
        sweep="q",
        arguments=("quickstart",),
        resume=resume,
        storage=str(tmp_path / "a b"),
    )
    program = tmp_path / "capsweep"
    program.write_text(
        f"#!{sys.executable}\nimport os\nprint(os.environ['CAPSWEEP_RESUME_COMMAND'])\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    line = launch_line(request)
    printed = subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout
    assert printed == f"{resume}\n"
    monkeypatch.setenv("CAPSWEEP_RESUME_COMMAND", resume)
    assert resume_command() == resume


class UnreachableHead:
    """A head that is reached only after some losses of the connection, each time."""

    def __init__(self, *num_losses: int) -> None:
        self.num_losses = list(num_losses)

    def follow(self, _submission: object, show: Callable[[Text], None], _position: int) -> JobState:
        if self.num_losses[0]:
            self.num_losses[0] -= 1
            raise BadInput("No answer.")
        del self.num_losses[0]
        show(Text(text="an epoch"))
        return JobState(status="RUNNING" if self.num_losses else "SUCCEEDED")


def test_a_lost_connection_is_made_anew_sixty_times_after_each_word_of_the_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sweeps.remote.submit._RETRY_SECONDS", 0)

    def follow(*num_losses: int) -> JobState:
        head: Any = UnreachableHead(*num_losses)
        submission: Any = None
        return submit.follow(head, submission, lambda _: None, lambda _: None)

    assert follow(60, 60).status == "SUCCEEDED"
    with pytest.raises(BadInput, match="No answer"):
        follow(60, 61)
