"""Where sweeps were submitted is noted, and found by name."""

import os
from pathlib import Path

import pytest

from sweeps.remote import submit
from sweeps.remote.submissions import Submission, submission_of, submissions
from sweeps.remote.submit import sendable


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    for name in ("CAPSWEEP_STORAGE", "CAPSWEEP_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    noted = Submission(sweep="mine", job_id="mine-1", on="/m.txt", folder=str(tmp_path))
    noted.write()
    return noted


def test_a_submitted_sweep_is_found_by_its_name(submission: Submission) -> None:
    assert submission_of("mine") == submission
    assert submission_of("other") is None
    assert submission_of("../mine") is None


def test_a_place_that_is_given_counts_more_than_the_note(submission: Submission) -> None:
    assert submission_of("mine", storage="elsewhere") is None
    assert submission_of("mine", tracking_uri="http://127.0.0.1:5000") is None


def test_the_later_one_of_a_launch_here_and_a_submission_counts(
    submission: Submission, tmp_path: Path
) -> None:
    log = tmp_path / "capsweep-store" / "journals" / "mine.jsonl"
    log.parent.mkdir(parents=True)
    log.touch()
    os.utime(log, (submission.submitted_at - 5, submission.submitted_at - 5))
    assert submission_of("mine") == submission
    os.utime(log, (submission.submitted_at + 5, submission.submitted_at + 5))
    assert submission_of("mine") is None


def test_a_note_that_is_damaged_or_of_another_release_is_read_as_far_as_it_goes(
    submission: Submission, tmp_path: Path
) -> None:
    note = tmp_path / "state" / "capsweep" / "submitted" / "mine.json"
    note.write_text(note.read_text().replace("{", '{"later": 1,', 1))
    assert submission_of("mine") == submission
    note.write_text("{")
    assert submission_of("mine") is None


def test_a_note_is_its_users_alone_whatever_the_umask_is(
    tmp_path: Path,
) -> None:
    before = os.umask(0)
    try:
        Submission(sweep="mine", folder="/x", tracking_uri="http://me:s3cret@host").write()
    finally:
        os.umask(before)
    (note,) = (tmp_path / "state" / "capsweep" / "submitted").iterdir()
    assert note.stat().st_mode & 0o777 == 0o600
    assert note.parent.stat().st_mode & 0o777 == 0o700


def test_notes_that_cannot_be_read_stop_nothing(
    tmp_path: Path,
) -> None:
    Submission(sweep="mine", folder="/x").write()
    notes = tmp_path / "state" / "capsweep" / "submitted"
    (notes / "other.json").symlink_to(notes / "mine.json")
    assert [submission.sweep for submission in submissions()] == ["mine"]
    notes.rename(notes.with_name("elsewhere"))
    notes.symlink_to(notes.with_name("elsewhere"))
    assert submissions() == []
    assert submission_of("mine") is None


def test_files_that_a_sweep_names_are_said_not_to_be_sent(tmp_path: Path) -> None:
    weights, file = tmp_path / "body.pt", tmp_path / "mine.py"
    weights.touch()
    file.write_text(f"WEIGHTS, OTHER, SHORT = {str(weights)!r}, '/nowhere/x.pt', '/' * 9999\n")
    assert sendable(str(file)).note == (
        f"Not sent, and needed at the same path on each machine that trains: '{weights}'."
    )
    file.write_text("WEIGHTS = 'body.pt'\n")
    assert sendable(str(file)).note == sendable("quickstart").note == ""


@pytest.mark.parametrize(
    "printed", ['{\n "a": 1\n}\n', '(pid=1) a note\n{\n "a": 1\n}\nnanobind: leaked 2 types!\n']
)
def test_an_answer_is_read_whatever_libraries_print_around_it(printed: str) -> None:
    assert submit._answer(printed) == {"a": 1}
    assert submit._answer("nanobind: leaked 2 types!\n") is None
