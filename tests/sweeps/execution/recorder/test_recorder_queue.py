"""The recorder's queue outlives drivers and recorders, and follows what sweeps want now."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sweeps.execution.recorder.recorder_queue import RecorderQueue
from sweeps.records.trial_record import Outcome


def test_the_queue_keeps_the_first_sweep_that_asked(tmp_path: Path) -> None:
    with closing(RecorderQueue(tmp_path, "sqlite:///x")) as queue:
        queue.add(["a" * 20, "b" * 20], "first", "p1")
        queue.add(["b" * 20, "c" * 20], "second", "p2")
        assert [(cell.trial_key[0], cell.sweep) for cell in queue.open_cells()] == [
            ("a", "first"),
            ("b", "first"),
            ("c", "second"),
        ]
        queue.update("b" * 20, is_closed=1, record_id="r", outcome="finished", carried_bytes=9)
        assert [cell.trial_key[0] for cell in queue.open_cells()] == ["a", "c"]
    with closing(RecorderQueue(tmp_path, "sqlite:///x")) as reopened:
        cell = reopened.cell("b" * 20)
        assert cell is not None
        assert (cell.record_id, cell.outcome, cell.is_closed) == ("r", Outcome.FINISHED, True)
        assert reopened.cell("d" * 20) is None
    with closing(RecorderQueue(tmp_path, "sqlite:///y")) as other:
        assert other.open_cells() == [], "each tracking store has a queue of its own"


def test_an_open_cell_belongs_to_its_sweeps_record_of_now(tmp_path: Path) -> None:
    with closing(RecorderQueue(tmp_path, "sqlite:///x")) as queue:
        queue.add(["a" * 20], "first", "p1")
        queue.add(["a" * 20, "b" * 20], "second", "p2")
        queue.add(["a" * 20], "first", "p3")
        sweep_ids = {cell.trial_key[0]: cell.sweep_id for cell in queue.open_cells()}
        assert sweep_ids == {"a": "p3", "b": "p2"}


def test_a_sweep_wants_what_it_asked_for_last(tmp_path: Path) -> None:
    with closing(RecorderQueue(tmp_path, "sqlite:///x")) as queue:
        queue.add(["a" * 20, "b" * 20, "c" * 20], "first", "p")
        queue.add(["c" * 20], "second", "p")
        queue.add(["a" * 20], "first", "p")
        assert {cell.trial_key[0]: cell.is_wanted for cell in queue.open_cells()} == {
            "a": True,
            "b": False,
            "c": True,
        }
        assert [cell.trial_key[0] for cell in queue.open_cells("first")] == ["a"]


def test_its_files_need_no_shared_memory(tmp_path: Path) -> None:
    with closing(RecorderQueue(tmp_path, "sqlite:///x")) as queue:
        queue.add(["a" * 20], "first", "p1")
        for path in tmp_path.glob("*.db"):
            with closing(sqlite3.connect(path)) as database:
                assert database.execute("pragma journal_mode").fetchone() != ("wal",)
        assert len(list(tmp_path.glob("*.db"))) == 1


def test_the_queue_of_the_folders_own_store_goes_with_the_folder(tmp_path: Path) -> None:
    first, moved = tmp_path / "first", tmp_path / "moved"
    (first / "journals").mkdir(parents=True)
    with closing(RecorderQueue(first / "journals", f"sqlite:///{first}/mlflow.db")) as queue:
        queue.add(["a" * 20], "example", "own")
    first.rename(moved)
    with closing(RecorderQueue(moved / "journals", f"sqlite:///{moved}/mlflow.db")) as queue:
        assert [cell.trial_key for cell in queue.open_cells()] == ["a" * 20]
        stem = queue.stem
    for other in (f"sqlite:///{moved}/other.db", f"sqlite:///{tmp_path}/mlflow.db", "http://host"):
        with closing(RecorderQueue(moved / "journals", other)) as queue:
            assert queue.stem != stem
            assert queue.open_cells() == []


@pytest.mark.parametrize(
    "tampering",
    [
        "update cells set outcome = 'x'",
        "update cells set last_epoch = 'x'",
        "update cells set run_id = x'00ff'",
        "alter table cells drop column outcome",
    ],
)
def test_a_queue_that_holds_what_none_does_is_made_anew(tmp_path: Path, tampering: str) -> None:
    with closing(RecorderQueue(tmp_path, "sqlite:///x")) as queue:
        queue.add(["a" * 20], "first", "p1")
    (path,) = tmp_path.glob("*.db")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(tampering)
    with closing(RecorderQueue(tmp_path, "sqlite:///x")) as queue:
        assert queue.open_cells() == []
    assert [file.name for file in tmp_path.glob("*.damaged-*")] == [f"{path.name}.damaged-1"]
