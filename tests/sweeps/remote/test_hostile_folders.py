"""A job's folder, a report and a login node in which others have planted something."""

import json
import os
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sweeps.records.errors import BadInput
from sweeps.remote import node, slurm
from sweeps.remote.head import SlurmLogin
from sweeps.remote.link import Link
from sweeps.remote.messages import GetFiles, JobState, SlurmJob, SubmitToSlurm
from sweeps.remote.submissions import Submission
from sweeps.remote.submit import copy_report_here

STRANGER = 54321
SWEEP_FILE = "mine.py"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")


class Queue:
    """A Slurm that takes every job, and keeps what it was given."""

    def __init__(self) -> None:
        self.submitted: list[str] = []

    def __call__(self, *command: str, input_text: str = "") -> str:
        if command[0] == "sbatch" and command[1] == "--parsable":
            self.submitted.append(input_text)
        return "7" if command[0] == "sbatch" else ""


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    queue = Queue()
    monkeypatch.setattr(slurm, "_slurm", queue)
    return queue


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """Return a folder outside the storage folder, with a file of the user's."""
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "file").write_text("untouched")
    return tmp_path / "victim"


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def submit(storage: Path) -> None:
    request = SubmitToSlurm(
        sweep="mine",
        arguments=(SWEEP_FILE,),
        resume="",
        storage=str(storage),
        job=SlurmJob(seconds=3600),
        files={SWEEP_FILE: "SWEEP = 1\n"},
    )
    slurm.submit(request, lambda _: None)


@pytest.mark.parametrize("kind", ["file", "new file"])
@pytest.mark.parametrize("name", ["words", "job.sbatch", "job", "job.out", "exit", SWEEP_FILE])
def test_a_job_is_written_through_no_link(
    tmp_path: Path, victim: Path, queue: Queue, name: str, kind: str
) -> None:
    folder = tmp_path / "store" / "slurm" / "mine"
    folder.mkdir(parents=True)
    (folder / name).symlink_to(victim / kind)
    if name == "job":  # which is read first
        with pytest.raises(BadInput, match="job is not a regular file but a link"):
            submit(tmp_path / "store")
    else:
        submit(tmp_path / "store")
        assert not (folder / name).is_symlink()
        assert "\nrun=(./mine.py " in queue.submitted[0]
    assert contents(victim) == {"file": "untouched"}


@pytest.mark.parametrize("place", ["slurm", "slurm/mine", "logs"])
def test_a_jobs_folder_that_is_a_link_is_refused(
    tmp_path: Path, victim: Path, queue: Queue, place: str
) -> None:
    link = tmp_path / "store" / place
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    with pytest.raises(BadInput, match=f"{place} is a link or not a folder"):
        submit(tmp_path / "store")
    assert contents(victim) == {"file": "untouched"}
    assert queue.submitted == []


@as_root
@pytest.mark.parametrize("place", ["slurm", "slurm/mine"])
def test_a_strangers_job_is_never_handed_on(tmp_path: Path, queue: Queue, place: str) -> None:
    storage = tmp_path / "store"
    folder = storage / "slurm" / "mine"
    folder.mkdir(parents=True)
    (folder / "job.sbatch").write_text("#!/bin/bash\nrm -rf ~\n")
    storage.chmod(0o777)
    for path in (storage / place, *(storage / place).rglob("*")):
        os.chown(path, STRANGER, STRANGER)
        path.chmod(0o777)
    with pytest.raises(BadInput, match=f"{place} belongs to user {STRANGER}"):
        submit(storage)
    assert queue.submitted == []


def test_a_folder_into_which_everybody_may_write_gets_no_job(tmp_path: Path, queue: Queue) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store").chmod(0o777)
    with pytest.raises(BadInput, match="Everybody may put files into"):
        submit(tmp_path / "store")
    assert queue.submitted == []


def test_what_a_job_executes_can_be_replaced_by_its_user_alone(
    tmp_path: Path, queue: Queue
) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store").chmod(0o2775)
    before = os.umask(0o002)
    try:
        submit(tmp_path / "store")
        folder = tmp_path / "store" / "slurm" / "mine"
        assert folder.stat().st_mode & 0o777 == 0o755
        folder.chmod(0o775)
        with pytest.raises(BadInput, match=r"is executed, and user .* or others may write"):
            submit(tmp_path / "store")
    finally:
        os.umask(before)
    assert len(queue.submitted) == 1


def test_the_scratch_folder_of_a_job_cannot_be_guessed() -> None:
    script = slurm.job_file(
        SubmitToSlurm(
            sweep="mine", arguments=("mine",), resume="", storage="/x", job=SlurmJob(seconds=3600)
        )
    )
    (scratch,) = [line for line in script.splitlines() if line.startswith("scratch=/")]
    assert "/dev/urandom" in scratch
    assert 'mkdir -m 700 "$0"' in script
    assert '[ -O "$0" ]' in script, "one that is there is our own"


@pytest.mark.parametrize("name", ["report.html", "figure.png"])
def test_no_file_of_a_report_is_read_through_a_link(
    tmp_path: Path, victim: Path, name: str
) -> None:
    folder = tmp_path / "reports" / "mine"
    folder.mkdir(parents=True)
    (folder / "other.md").write_text("ours")
    asked = GetFiles(storage=str(tmp_path), names=("reports", "mine"))
    assert set(node.read_files(asked, lambda _: None).files) == {"other.md"}
    (folder / name).symlink_to(victim / "file")
    with pytest.raises(BadInput, match=f"{name} is not a regular file but a link"):
        node.read_files(asked, lambda _: None)


def test_a_report_that_leads_elsewhere_is_not_read(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "mine").symlink_to(victim)
    with pytest.raises(BadInput, match="mine is a link or not a folder"):
        node.read_files(GetFiles(storage=str(tmp_path), names=("reports", "mine")), lambda _: None)
    for name in ("..", "", "a/b"):
        with pytest.raises(BadInput, match="is no name of a file"):
            node.read_files(GetFiles(storage=str(tmp_path), names=(name,)), lambda _: None)


# A login node that lies. It answers every request with the same lines.


def saying(*lines: bytes) -> Link:
    program = f"import sys; sys.stdin.readline(); sys.stdout.buffer.write({b''.join(lines)!r})"
    return Link([sys.executable, "-c", program], "login")


def answer(value: Any) -> bytes:
    return line({"type": "answer", "value": value})


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def files(**named: str) -> dict[str, Any]:
    return {"files": {name: b64encode(text.encode()).decode() for name, text in named.items()}}


def login(link: Link) -> SlurmLogin:
    head = object.__new__(SlurmLogin)
    head.on, head.storage, head.link = "login", "/there", link
    return head


def snapshot(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


LIES: dict[str, tuple[Callable[[], bytes], str]] = {
    "up": (lambda: answer(files(**{"../x": "x"})), "'../x' is no name of a file"),
    "the folder above": (lambda: answer(files(**{"..": "x"})), "'..' is no name of a file"),
    "the folder": (lambda: answer(files(**{".": "x"})), "'.' is no name of a file"),
    "no name": (lambda: answer(files(**{"": "x"})), "'' is no name of a file"),
    "absolute": (lambda: answer(files(**{"/x": "x"})), "'/x' is no name of a file"),
    "a line": (lambda: answer(files(**{"a\nb": "x"})), "a text that cannot be shown"),
    "an escape": (lambda: answer(files(**{"\x1b[2J": "x"})), "a text that cannot be shown"),
    "a direction": (lambda: answer(files(**{"a\u202eb": "x"})), "a text that cannot be shown"),
    "spaces": (lambda: answer(files(**{"a  b": "x"})), "which no report has"),
    "a long name": (lambda: answer(files(**{"a" * 300: "x"})), "which no report has"),
    "many": (lambda: answer(files(**dict.fromkeys(map(str, range(1001)), "x"))), "1,001 files"),
    "no base64": (lambda: answer({"files": {"report.html": "?"}}), "not in base64"),
    "no files": (lambda: answer({"files": 7}), "what is no Files"),
    "depth": (lambda: b'{"type":"answer","value":' + b"[" * 10**4 + b"\n", "without an answer"),
    "no line end": (lambda: b"x" * 2**10, "without an answer"),
    "a refusal": (
        lambda: (
            json.dumps({"type": "failed", "sentence": "no\n\x1b[2Jyes" * 1000}).encode() + b"\n"
        ),
        "no ",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_a_login_node_sends_is_checked_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lines, sentence = LIES[lie]
    place = {"to": "slurm", "on": "login", "storage": "/there"}
    submission = Submission(sweep="mine", folder=str(tmp_path / "work"), **place)
    with pytest.raises(BadInput) as refused:
        copy_report_here(login(saying(lines())), submission)
    assert sentence in str(refused.value)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 2500
    assert snapshot(tmp_path) == []


def test_a_line_without_an_end_is_not_read_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sweeps.execution.channel._LONGEST_LINE", 2**18)
    endless = Link(["bash", "-c", "read _; exec tr '\\0' x < /dev/zero"], "login")
    with pytest.raises(BadInput, match="sends a line of more than 262,144 bytes"):
        login(endless).queued_job(Submission(sweep="mine", folder="/"))


def test_a_state_that_acts_on_the_terminal_is_refused() -> None:
    reply = answer({"status": "RUNNING", "message": "\x1b]0;owned\x07"})
    with pytest.raises(BadInput, match="a text that cannot be shown, and is not believed"):
        login(saying(reply)).link.call(GetFiles(storage="/", names=()), JobState)


def test_a_report_goes_through_no_link(
    tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "mine").symlink_to(victim)
    submission = Submission(
        sweep="mine", folder=str(tmp_path), to="slurm", on="login", storage="/there"
    )
    head = login(saying(answer(files(**{"report.html": "x"}))))
    with pytest.raises(BadInput, match="mine is a link or not a folder"):
        copy_report_here(head, submission)
    assert contents(victim) == {"file": "untouched"}
    (tmp_path / "reports" / "mine").unlink()
    folder = copy_report_here(head, submission)
    assert contents(folder) == {"report.html": "x"}
