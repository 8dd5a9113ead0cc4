"""The script of a job, run by bash between programs that play Slurm, Ray and capsweep."""

import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from sweeps.remote import slurm
from sweeps.remote.messages import SlurmJob, SubmitToSlurm

PROGRAMS = {
    "srun": """#!/bin/bash
while [[ $1 == -* ]]; do [ "$1" = -w ] && shift; shift; done
[ "${{SLURM_EXPORT_ENV:-ALL}}" = NONE ] && exec env -i PATH="$PATH" "$@"
exec "$@"
""",
    "ray": """#!{python}
import os, socket, sys
options = dict(word.split("=", 1) for word in sys.argv if "=" in word)
with open("{folder}/token", "w") as file:
    file.write(os.environ.get("RAY_AUTH_TOKEN", ""))
server = socket.create_server((options["--node-ip-address"], int(options["--port"])))
server.accept()
""",
    "capsweep": """#!/bin/bash
trap 'exit 130' ALRM
kill -USR1 "$PPID"
while :; do sleep 0.05; done
""",
    "scontrol": "#!/bin/sh\nexit 1\n",
    "sbatch": '#!/bin/sh\necho "$*" > {folder}/sbatch-arguments\necho 8\nexit {exit_code}\n',
}


class Ended(NamedTuple):
    """A job that has ended.

    Attributes:
        code: Its exit code.
        printed: What it printed.
        folder: The sweep's folder of jobs.
    """

    code: int
    printed: str
    folder: Path


def run_job(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str, sbatch_exit_code: int = 0
) -> Ended:
    """Run a job whose time runs out, and which Slurm does not requeue."""
    programs = folder / "bin"
    programs.mkdir()
    for name, text in PROGRAMS.items():
        program = programs / name
        values = {"python": sys.executable, "folder": folder, "exit_code": sbatch_exit_code}
        program.write_text(text.format(**values))
        program.chmod(0o755)
    monkeypatch.setattr(slurm, "sys", SimpleNamespace(executable=str(programs / "python")))
    request = SubmitToSlurm(
        sweep="mine",
        arguments=("mine",),
        resume="capsweep submit mine",
        storage=str(folder / "store"),
        job=SlurmJob(seconds=600),
    )
    jobs = folder / "store" / "slurm" / "mine"
    jobs.mkdir(parents=True, mode=0o755)
    script = jobs / "job.sbatch"
    script.write_text(slurm.job_file(request))
    variables = {
        "SLURM_JOB_ID": str(_job_id_of_a_free_port()),
        "SLURM_JOB_NODELIST": "n1",
        "SLURM_NNODES": "1",
        "SLURM_CPUS_PER_TASK": "2",
        "SLURM_EXPORT_ENV": "NONE",
    }
    ended = subprocess.run(
        ["bash", str(script), *arguments],
        env={"PATH": f"{programs}:{os.environ['PATH']}", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, jobs)


def _job_id_of_a_free_port() -> int:
    """Return the number of a job whose port nothing listens on."""
    for job_id in range(os.getpid(), os.getpid() + 2000):
        with suppress(OSError), socket.create_server(("", 20_000 + job_id % 2000 * 5)):
            return job_id
    raise AssertionError("no port is free")


def test_a_job_that_may_not_be_requeued_is_submitted_anew_and_counts_its_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = run_job(tmp_path, monkeypatch, "3")
    assert (ended.code, (ended.folder / "job").read_text()) == (0, "8\n")
    assert "attempt 3 of 10" in ended.printed
    assert (tmp_path / "sbatch-arguments").read_text() == "--parsable job.sbatch 4\n"


def test_what_the_job_exports_reaches_its_nodes_under_export_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_job(tmp_path, monkeypatch)
    assert len((tmp_path / "token").read_text()) == 64


def test_where_slurm_takes_no_other_job_the_launch_has_ended_as_by_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = run_job(tmp_path, monkeypatch, sbatch_exit_code=1)
    assert (ended.code, (ended.folder / "exit").read_text()) == (130, "130\n")
    assert "Slurm does not take the job again: submit the sweep again" in ended.printed
