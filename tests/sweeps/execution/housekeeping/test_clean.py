"""What nothing needs is told, and freed on demand; what a table needs never is."""

import os
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from capsmodel.whole_file import this_machine
from sweeps.aggregation.rendering import contents
from sweeps.execution.cells.folder import PREDICTIONS, WEIGHTS, CellFolder
from sweeps.execution.cells.sealed_files import sealed
from sweeps.execution.housekeeping.clean import Cleaned
from sweeps.execution.housekeeping.leftovers import Kind
from sweeps.records.errors import BadInput
from sweeps.storage.file_lock import FileLock
from sweeps.storage.folder import Folder
from tests.sweeps.execution.housekeeping.figures import undrawn
from tests.sweeps.execution.launch.launches import Launches, design

DAY_SECONDS = 86_400
UNNAMED = "0" * 64


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    monkeypatch.setattr(contents, "drawn", undrawn)
    launches = Launches(tmp_path, design(), monkeypatch)
    assert launches.run().exit_code == 0
    return launches


def some_cell(launches: Launches) -> CellFolder:
    """Return the folder of a finished trial."""
    return CellFolder(
        launches.storage.cells, min(path.name for path in launches.storage.cells.iterdir())
    )


def unnamed_cell(launches: Launches) -> CellFolder:
    """Return the folder of an unfinished trial that no sweep names."""
    folder = CellFolder(launches.storage.cells, UNNAMED)
    with folder.lease():
        folder.checkpoint.write_bytes(b"unnamed")
    return folder


def unfill(launches: Launches, folder: CellFolder) -> None:
    """Make a trial unfinished, in its folder and in the store."""
    (folder.path / "final.json").unlink()
    launches.store.writer().mark_replaced([folder.trial_key])
    folder.checkpoint.write_bytes(b"half")


def put(path: Path, size: int = 1) -> Path:
    """Write a file of the given size."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(bytes(size))
    return path


def old(path: Path) -> Path:
    """Set the modification time of a file to days ago."""
    os.utime(path, times=(0, time.time() - 3 * DAY_SECONDS))
    return path


def litter(launches: Launches) -> list[Path]:
    """Leave one or more of each kind; return them."""
    cell, storage = some_cell(launches).path, launches.storage
    run = storage.artifacts / "1" / "artifacts"
    run.mkdir(parents=True)
    return [
        put(cell / "checkpoint.safetensors", 1000),
        unnamed_cell(launches).checkpoint,
        put(cell / "checkpoint.damaged"),
        put(cell / "weights.safetensors.4711.unfinished"),
        put(cell / "evaluations" / "x.json.tmp"),
        put(storage.journals / "example.db.damaged-1"),
        put(storage.journals / "example.db.damaged-1-journal"),
        put(storage.root / "mlflow.db.damaged-2-wal"),
        old(put(storage.root / "format.json.00000000-1.unfinished")),
        old(put(run / "config.json.4711.unfinished")),
    ]


def lookalikes(launches: Launches) -> list[Path]:
    """Put down what looks a little like something that may be freed."""
    cell, storage = some_cell(launches).path, launches.storage
    living = f"format.json.{this_machine()}-{os.getpid()}.unfinished"
    return [
        put(cell / "evaluations" / "x.damaged.png"),
        put(cell / "weights.safetensors"),
        put(cell / "predictions.safetensors"),
        put(storage.artifacts / "weights.damaged"),
        old(put(storage.root / living)),
        put(storage.root / "format.json.00000000-2.unfinished"),
    ]


def files_of(launches: Launches) -> set[Path]:
    return {path for path in launches.storage.root.rglob("*") if path.is_file()}


def kinds(cleaned: Cleaned) -> Counter[Kind]:
    return Counter(leftover.kind for leftover in cleaned.leftovers)


def test_what_nothing_needs_is_told_and_then_freed_and_nothing_else(launches: Launches) -> None:
    lookalikes(launches)
    before, tables = files_of(launches), launches.tables()
    littered = litter(launches)
    listed = launches.clean()
    assert {leftover.path for leftover in listed.leftovers} == set(littered)
    assert kinds(listed) == {Kind.CHECKPOINT: 2, Kind.DAMAGED: 4, Kind.TEMPORARY: 4}
    assert sum(leftover.num_bytes for leftover in listed.leftovers) == 1000 + len(b"unnamed") + 8
    assert set(littered) <= files_of(launches), "a look frees nothing"
    freed = launches.clean(is_freeing=True)
    assert freed.leftovers == listed.leftovers
    assert (freed.sentences, freed.exit_code) == ((), 0)
    assert files_of(launches) - before == {some_cell(launches).lock.parents[1] / UNNAMED / "lock"}
    assert before <= files_of(launches)
    assert launches.clean(is_freeing=True).leftovers == ()
    num_trained = launches.num_epochs_trained()
    assert launches.run().exit_code == 0
    assert (launches.num_epochs_trained(), launches.tables()) == (num_trained, tables)


def test_an_unfinished_cell_that_a_sweep_names_keeps_its_checkpoint(launches: Launches) -> None:
    cell = some_cell(launches)
    unfill(launches, cell)
    assert launches.clean(is_freeing=True).leftovers == ()
    assert cell.checkpoint.exists()


def test_a_cell_whose_record_alone_is_final_needs_no_checkpoint(launches: Launches) -> None:
    cell = some_cell(launches)
    (cell.path / "final.json").unlink()
    cell.checkpoint.write_bytes(b"half")
    assert [leftover.path for leftover in launches.clean().leftovers] == [cell.checkpoint]


def test_what_an_attempt_left_that_was_too_late_is_freed(launches: Launches) -> None:
    cell = some_cell(launches)
    final = cell.read_final()
    assert final is not None
    names = {name: cell.attempt_file(name, 1) for name in (PREDICTIONS, WEIGHTS)}
    late = [put(cell.attempt_file(name, 2)) for name in names]
    files = sealed(cell, *(put(path) for path in names.values()))
    (cell.path / "final.json").write_text(
        final.model_copy(update={"files": files}).model_dump_json()
    )
    assert {leftover.path for leftover in launches.clean(is_freeing=True).leftovers} == {*late}
    assert [path.exists() for path in (*names.values(), *late)] == [True, True, False, False]


def test_a_cell_whose_final_record_is_damaged_keeps_its_checkpoint(launches: Launches) -> None:
    cell = some_cell(launches)
    unfill(launches, cell)
    (cell.path / "final.json").write_text("garbage")
    assert launches.clean().leftovers == ()


def test_what_fresh_has_put_aside_is_freed_whole(launches: Launches) -> None:
    num_cells = len(list(launches.storage.cells.iterdir()))
    assert launches.run(retrain=True).exit_code == 0
    tables = launches.tables()
    assert kinds(launches.clean("example")) == {Kind.REPLACED: num_cells}
    assert kinds(launches.clean("example", is_freeing=True)) == {Kind.REPLACED: num_cells}
    assert list(launches.storage.replaced.iterdir()) == []
    assert launches.run().exit_code == 0
    assert launches.tables() == tables


def test_of_one_sweep_only_its_cells_are_looked_at(launches: Launches) -> None:
    checkpoint, unnamed, *inside, _, _, _, _, _ = litter(launches)
    assert {leftover.path for leftover in launches.clean("example").leftovers} == {
        checkpoint,
        *inside,
    }
    assert unnamed.exists()
    with pytest.raises(BadInput, match="Did you mean 'example'"):
        launches.clean("exmple")


def test_what_was_written_since_is_kept(launches: Launches) -> None:
    checkpoint, _, damaged, *_ = litter(launches)
    old(checkpoint)
    cleaned = launches.clean("example", older_than_seconds=2 * DAY_SECONDS, is_freeing=True)
    assert [leftover.path for leftover in cleaned.leftovers] == [checkpoint]
    assert damaged.exists()


def test_a_sweep_that_is_run_is_left_alone_and_so_is_what_it_may_need(launches: Launches) -> None:
    litter(launches)
    before = files_of(launches)
    with FileLock(Folder(launches.storage.journals), "example.lock") as lock:
        assert lock.acquire()
        cleaned = launches.clean(is_freeing=True)
    assert "'example' is being run, and was left alone." in cleaned.sentences
    assert files_of(launches) == before
    assert launches.clean().leftovers


def test_a_cell_that_a_trial_holds_is_left_alone(launches: Launches) -> None:
    litter(launches)
    cell = some_cell(launches)
    with cell.new_lock() as lock:
        assert lock.acquire()
        freed = launches.clean(is_freeing=True)
    assert not {leftover.path for leftover in freed.leftovers} & set(cell.path.rglob("*"))
    assert cell.checkpoint.exists()


def test_a_sweep_cannot_be_launched_while_it_is_freed_and_can_afterwards(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    unnamed = unnamed_cell(launches)
    unlink = os.unlink

    def launching(*arguments: object, **options: object) -> None:
        with pytest.raises(BadInput, match="being run already"):
            launches.run()
        unlink(*arguments, **options)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(os, "unlink", launching)
    launches.clean(is_freeing=True)
    monkeypatch.undo()
    assert not unnamed.checkpoint.exists()


@pytest.mark.parametrize("is_damaged", [False, True])
def test_where_a_sweeps_needs_are_not_known_unnamed_checkpoints_are_kept(
    launches: Launches, *, is_damaged: bool
) -> None:
    cell = unnamed_cell(launches)
    if is_damaged:
        (sweep,) = launches.store.backend.live("sweep")
        sweep.files.clear()
    else:
        shutil.rmtree(launches.storage.journals)
        launches.store.exists = lambda: False
    cleaned = launches.clean(is_freeing=True)
    assert cleaned.leftovers == ()
    assert "capsweep repair" in " ".join(cleaned.sentences)
    assert cell.checkpoint.exists()


def test_no_link_is_followed(launches: Launches, tmp_path: Path) -> None:
    elsewhere = put(tmp_path / "elsewhere" / "checkpoint.damaged").parent
    put(elsewhere / "checkpoint.safetensors")
    storage, cell = launches.storage, some_cell(launches)
    (storage.cells / ("1" * 64)).symlink_to(elsewhere)
    storage.replaced.mkdir()
    (storage.replaced / f"{cell.trial_key}-1").symlink_to(elsewhere)
    cell.checkpoint.symlink_to(elsewhere / "checkpoint.safetensors")
    (cell.path / "evaluations").symlink_to(elsewhere)
    assert launches.clean(is_freeing=True).leftovers == ()
    assert len(list(elsewhere.iterdir())) == 2


def test_what_cannot_be_deleted_is_said_and_the_rest_is_freed(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn, *others = litter(launches)
    unlink = os.unlink

    def refusing(name: str, **options: int) -> None:
        if name == stubborn.name and not unnamed.exists():
            raise PermissionError(13, "Permission denied")
        unlink(name, **options)

    unnamed = others[0]
    unnamed.unlink()
    monkeypatch.setattr(os, "unlink", refusing)
    freed = launches.clean(is_freeing=True)
    monkeypatch.undo()
    assert freed.exit_code == 3
    assert "Permission denied" in freed.sentences[0]
    assert {leftover.path for leftover in freed.leftovers} == set(others) - {unnamed}


def test_a_storage_folder_that_is_not_there_is_not_made(launches: Launches) -> None:
    shutil.rmtree(launches.storage.root)
    with pytest.raises(BadInput, match="no storage folder"):
        launches.clean(is_freeing=True)
    assert not launches.storage.root.exists()
