"""What a store or a cell refuses is complained of and keeps nothing else back."""

from typing import Any

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.recorder.recorder_queue import QueuedCell
from sweeps.records.errors import StoreRefused, StoreUnreachable
from sweeps.tracking.record_facts import TAG_OUTCOME
from tests.sweeps.execution.examples import KEY, final, reported, start
from tests.sweeps.execution.recorder.scene import SPEC, START, Scene


def test_a_record_that_somebody_deleted_is_carried_anew(scene: Scene) -> None:
    scene.report(START, reported(1))
    scene.recorder().drain()
    deleted = scene.stored_run()
    deleted.is_deleted = True
    scene.report(reported(2))
    scene.finish()
    scene.recorder().drain()
    assert scene.stored_run().record_id != deleted.record_id
    scene.check_finished()


def test_a_store_that_does_not_answer_is_not_taken_for_a_deleted_record(scene: Scene) -> None:
    scene.report(START, reported(1))
    scene.recorder().drain()
    scene.report(reported(2))
    scene.store.backend.is_unreachable = True
    with pytest.raises(StoreUnreachable):
        scene.recorder().drain()
    scene.store.backend.is_unreachable = False
    scene.finish()
    scene.recorder().drain()
    scene.check_finished()


def test_a_refusal_of_a_store_that_has_gone_away_is_no_complaint(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        scene.store.backend.is_unreachable = True
        raise StoreRefused("no", "no")

    scene.report(START, reported(1))
    monkeypatch.setattr(scene.records, "find_trial", refuse)
    recorder = scene.recorder()
    with pytest.raises(StoreUnreachable):
        recorder.drain()
    assert recorder.error == ""


def test_lines_that_nobody_may_read_leave_no_cell_behind(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.report(START, START.model_copy(update={"fence": 2}))
    recorder.drain()
    scene.report(reported(1))  # of a writer that had lost its lease
    recorder.drain()
    (queued,) = scene.queue.open_cells()
    assert not recorder.is_behind(queued)


OTHER = "f" * 20


def other_cell(scene: Scene) -> CellFolder:
    """Return the folder of a second cell of the same sweep."""
    scene.queue.add([KEY, OTHER], "example", "parent")
    folder = CellFolder(scene.cells, OTHER)
    folder.path.mkdir()
    return folder


def test_a_damaged_final_record_is_complained_of_and_keeps_no_other_back(scene: Scene) -> None:
    other = other_cell(scene)
    (scene.cell.path / "final.json").write_text("{")
    other.write_final(final(2, head=SPEC.model_copy(update={"trial_key": OTHER})))
    recorder = scene.recorder()
    recorder.drain()
    assert scene.outcome() == "finished"
    assert str(scene.cell.path) in recorder.error
    (queued,) = scene.queue.open_cells()
    assert recorder.is_behind(queued)
    (scene.cell.path / "final.json").unlink()
    recorder.drain()
    assert recorder.error == ""


def test_a_refused_record_is_complained_of_and_others_are_carried_and_settled(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = other_cell(scene)
    scene.report(START, reported(1))
    other.append(start(key=OTHER))
    recorder = scene.recorder()
    recorder.drain()
    trial = scene.records.find_trial(KEY)
    assert trial is not None
    real = scene.records.log_epochs

    def refuse(record_id: str, epochs: Any) -> None:
        if record_id == trial.record_id:
            raise StoreRefused("It says: metric too strange", "metric too strange")
        real(record_id, epochs)

    monkeypatch.setattr(scene.records, "log_epochs", refuse)
    scene.report(reported(2))
    other.append(reported(1))
    recorder.drain()
    assert recorder.error == "metric too strange"
    recorder.settle_interrupted(lambda sweep: True)
    assert scene.outcome_of(OTHER) == "interrupted"


def test_a_cell_that_no_sweep_wants_is_settled_once_and_forgotten(scene: Scene) -> None:
    recorder = scene.recorder()
    scene.report(START, reported(1))
    recorder.drain()
    scene.queue.add([OTHER], "example", "parent")  # as --replace does
    recorder.settle_interrupted(lambda sweep: True)
    assert scene.stored_run().facts[TAG_OUTCOME] == "interrupted"
    assert [queued.trial_key for queued in scene.queue.open_cells()] == [OTHER]
    other_queued: QueuedCell | None = scene.queue.cell(OTHER)
    assert other_queued is not None
    assert other_queued.is_wanted
