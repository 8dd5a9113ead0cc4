"""Who, which commit and what for, in tags that MLflow's own pages know."""

import getpass

import pytest

from sweeps.tracking.mlflow.mlflow_store import MlflowStore
from sweeps.tracking.mlflow.mlflow_writer import MlflowWriter
from sweeps.tracking.mlflow.tags import (
    commit_tags,
    is_written_by_capsweep,
    sweep_note,
    who_tags,
)
from tests.sweeps.execution.examples import manifest, spec
from tests.sweeps.published import publish_manifest


def test_a_new_run_says_who_made_it_and_from_which_commit(
    mlflow_store: MlflowStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    writer = mlflow_store.writer()
    assert isinstance(writer, MlflowWriter)
    sweep_id = writer.open_sweep("example", "Which?")
    trial_id = writer.create_trial(spec(git_revision="c0ffee-dirty"), sweep_id, 1)
    sweep, trial = (writer.client.get_run(run_id).data.tags for run_id in (sweep_id, trial_id))
    assert (sweep["mlflow.user"], trial["mlflow.user"]) == ("ada", "ada")
    assert trial["mlflow.source.git.commit"] == "c0ffee"
    assert trial["capsweep.sweep.example"] == "base"
    assert sweep["mlflow.note.content"] == sweep_note("example", "Which?")


@pytest.mark.parametrize("error", [KeyError("uid not found"), OSError("no username")])
def test_a_user_without_a_name_is_left_out(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def nobody() -> str:
        raise error

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert who_tags() == {}


def test_code_outside_of_git_has_no_commit() -> None:
    assert commit_tags("") == {}


def test_a_note_says_what_is_asked_how_the_table_is_made_and_how_trials_are_found() -> None:
    note = sweep_note("example", " Which? ")
    assert note.startswith("Which?\n\n")
    assert "`capsweep report example`" in note
    assert "tags.`capsweep.sweep.example` LIKE '%'" in note
    assert not sweep_note("example", "").startswith("\n")
    assert sweep_note("example", "Which?", ["This one."]).startswith("Which?\n\nThis one.\n\n")


def test_a_note_that_a_person_wrote_is_told_from_one_of_ours() -> None:
    assert is_written_by_capsweep("", "example")
    assert is_written_by_capsweep(sweep_note("example", "another question"), "example")
    assert not is_written_by_capsweep("Which?", "example")
    assert not is_written_by_capsweep(sweep_note("example", "Which?") + " And why?", "example")


def test_labels_of_a_sweep_are_tags_that_its_last_launch_decides(mlflow_store: MlflowStore) -> None:
    writer = mlflow_store.writer()
    assert isinstance(writer, MlflowWriter)
    for labels in ({"tags": ("a", "b"), "note": "Why."}, {"note": "How."}, {}):
        sweep_id = publish_manifest(writer, manifest().model_copy(update=labels))
        tags = writer.client.get_run(sweep_id).data.tags
        assert tags.get("capsweep.tags", "") == ", ".join(labels.get("tags", ()))
        assert tags.get("capsweep.note", "") == labels.get("note", "")


def test_a_sweep_without_labels_has_no_tags_of_them(mlflow_store: MlflowStore) -> None:
    writer = mlflow_store.writer()
    assert isinstance(writer, MlflowWriter)
    for _ in range(2):
        sweep_id = publish_manifest(writer, manifest())
    assert not {"capsweep.tags", "capsweep.note"} & {*writer.client.get_run(sweep_id).data.tags}
