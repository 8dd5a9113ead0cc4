"""The command lines of jobs."""

import subprocess
import sys
from pathlib import Path

import pytest

from sweeps.cli.hints import resume_command
from sweeps.remote.jobs import launch_line
from sweeps.remote.messages import SubmitSweep


def test_a_submitted_launch_is_resumed_by_submitting_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resume = "capsweep submit quickstart --on 'my cluster.yaml' --seeds=0"
    request = SubmitSweep(
        dashboard="", sweep="q", words=("quickstart",), resume=resume, storage=str(tmp_path / "a b")
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
