"""What a trial has found is recorded whole, or not at all."""

from pathlib import Path

import pytest

from sweeps.execution.cells.sealed_files import delete_weights, sealed
from sweeps.records.errors import BadInput
from tests.sweeps.execution.examples import reported
from tests.sweeps.execution.recorder.scene import START, Scene

FILES = ["weights", "predictions"]
DAMAGES = {"missing": None, "bytes instead of": b"tr", "content was changed": b"wrong"}


def finish(scene: Scene) -> None:
    scene.report(START, reported(1), reported(2))
    paths = [scene.cell.predictions, scene.cell.weights]
    for path in paths:
        path.write_bytes(b"right")
    scene.cell.log.write_text("log")
    files = sealed(scene.cell, *paths)
    scene.finish(files=files)
    for path in paths:
        path.write_bytes(b"right")


def test_weights_are_deleted_with_a_note_that_is_no_link(scene: Scene, tmp_path: Path) -> None:
    finish(scene)
    (scene.cell.path / "weights.deleted").symlink_to(tmp_path / "made")
    with pytest.raises(BadInput, match=r"weights\.deleted is not a regular file but a link"):
        delete_weights(scene.cell)
    assert not (tmp_path / "made").exists()
    assert scene.cell.weights.exists()


def damage(path: Path, content: bytes | None) -> None:
    path.unlink()
    if content is not None:
        path.write_bytes(content)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("why", DAMAGES)
def test_a_file_that_is_not_as_it_was_is_not_recorded_until_it_is_put_back(
    scene: Scene, file: str, why: str
) -> None:
    finish(scene)
    path: Path = getattr(scene.cell, file)
    damage(path, DAMAGES[why])
    recorder = scene.recorder()
    recorder.drain()
    assert str(path) in recorder.error
    assert why in recorder.error
    assert "train its cell again" in recorder.error
    assert path.name not in scene.stored_run().files
    assert scene.outcome() == "running"
    assert len(scene.queue.open_cells()) == 1
    path.write_bytes(b"right")
    recorder.drain()
    assert recorder.error == ""
    scene.check_finished()


def test_weights_that_were_not_to_be_kept_are_not_missed_when_a_store_is_filled_again(
    scene: Scene,
) -> None:
    finish(scene)
    assert delete_weights(scene.cell) == 5
    assert delete_weights(scene.cell) == 0
    recorder = scene.recorder()
    recorder.drain()
    assert recorder.error == ""
    assert scene.outcome() == "finished"
    assert scene.cell.weights.name not in scene.stored_run().files


def test_a_final_record_without_files_seals_nothing(scene: Scene) -> None:
    scene.finish()
    assert "files" not in (scene.cell.path / "final.json").read_text()
    scene.recorder().drain()
    scene.check_finished()
