"""A sweep goes with all that it alone holds, and takes nothing of another one with it."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sweeps.aggregation.rendering import contents
from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.housekeeping import delete as delete_module
from sweeps.execution.housekeeping import delete as removing
from sweeps.execution.housekeeping.delete import Deleted
from sweeps.records.errors import BadInput, StoreUnreachable
from sweeps.storage.file_lock import FileLock
from sweeps.storage.folder import Folder
from sweeps.tracking.store import RecordStore
from tests.sweeps.execution.housekeeping.figures import undrawn
from tests.sweeps.execution.launch.launches import ADDRESS, Launches, design
from tests.sweeps.published import write_manifest


class Killed(BaseException):
    """The process is gone."""


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    def the_store(*_: object) -> RecordStore:
        return launches.store

    monkeypatch.setattr(contents, "drawn", undrawn)
    launches = Launches(tmp_path, design(), monkeypatch)
    monkeypatch.setattr(delete_module, "open_store", the_store)
    assert launches.run().exit_code == 0
    return launches


def delete(launches: Launches, sweep: str = "example", **options: Any) -> Deleted:
    places = {"storage_folder": launches.storage.root, "tracking_uri": ADDRESS}
    return delete_module.delete(sweep, **places, **options)


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def keys(launches: Launches, sweep: str = "example") -> set[str]:
    return {cell.trial_key for cell in launches.store.manifest(sweep).cells}


def put_artifacts(launches: Launches) -> list[Path]:
    """Lay artifacts down where an embedded store has them, those of a stranger too."""
    records = launches.store.records(keys(launches)).values()
    ids = [record.record_id for record in records] + [launches.store.sweep_id("example")]
    for name in [*ids, "f" * 32]:
        (launches.storage.artifacts / name / "artifacts").mkdir(parents=True)
        (launches.storage.artifacts / name / "artifacts" / "config.json").write_bytes(b"12345")
    return [launches.storage.artifacts / name for name in ids]


def test_what_would_go_is_told_and_nothing_is_touched(launches: Launches) -> None:
    put_artifacts(launches)
    before, cells = files(launches.storage.root), keys(launches)
    result = delete(launches)
    counts = {count.name: count for count in result.counts}
    assert [count.number for count in result.counts] == [6, 1, 6, 1]
    sizes = {path: len(data) for path, data in before.items()}
    in_cells = sum(size for path, size in sizes.items() if path.parts[-2] in cells)
    assert counts["cells"].num_bytes == in_cells > 0
    assert counts["records of trials"].num_bytes == 30
    assert (result.is_done, result.exit_code) == (False, 0)
    assert files(launches.storage.root) == before
    assert keys(launches) == cells


def test_a_deleted_sweep_leaves_nothing_of_its_own(launches: Launches) -> None:
    artifacts, cells = put_artifacts(launches), keys(launches)
    deleted = delete(launches, is_deleting=True)
    assert (deleted.is_done, deleted.exit_code) == (True, 0)
    remaining = files(launches.storage.root)
    told_of = [path for path in remaining if "example" in path.name or set(path.parts) & cells]
    assert told_of == []
    assert not [path for path in artifacts if path.exists()]
    assert (launches.storage.artifacts / ("f" * 32) / "artifacts" / "config.json").exists()
    assert launches.store.records(cells) == {}
    assert launches.store.sweeps() == []
    for ask in (lambda: launches.store.manifest("example"), lambda: delete(launches)):
        with pytest.raises(BadInput, match="There is no sweep 'example'"):
            ask()
    num_trained = launches.num_epochs_trained()
    assert launches.run().exit_code == 0
    assert launches.num_epochs_trained() == 2 * num_trained, "all is trained anew"
    assert keys(launches) == cells


def test_what_was_replaced_goes_with_the_sweep(launches: Launches) -> None:
    replaced = put_artifacts(launches)
    assert launches.run(retrain=True).exit_code == 0
    cells = keys(launches)
    result = delete(launches, is_deleting=True)
    assert result.sentences[0].startswith("What --retrain archived")
    assert [launches.store.writer().records_of(key) for key in cells] == [()] * len(cells)
    assert not [path for path in replaced if path.exists()]
    assert [*launches.storage.replaced.iterdir()] == []


@pytest.mark.parametrize("is_first", [True, False], ids=["trained it first", "took it over"])
def test_a_trial_that_another_sweep_holds_stays(launches: Launches, is_first: bool) -> None:
    assert launches.run(name="other", seeds=(1, 2)).exit_code == 0
    goes, stays = ("example", "other") if is_first else ("other", "example")
    remaining, tables = keys(launches, stays), launches.store.records(keys(launches, stays))
    deletable = keys(launches, goes) - remaining
    assert deletable
    assert deletable != keys(launches, goes)
    result = delete(launches, goes, is_deleting=True)
    assert result.sentences[0].startswith("3 of its trials stay, record and cell, as other sweeps")
    assert f"'{stays}'" in result.sentences[0]
    cells = {path.name for path in launches.storage.cells.iterdir()}
    assert (cells & deletable, cells & remaining) == (set(), remaining)
    assert launches.store.records(remaining) == tables
    assert launches.store.records(deletable) == {}
    num_trained = launches.num_epochs_trained()
    seeds = (0, 1) if stays == "example" else (1, 2)
    assert launches.run(name=stays, seeds=seeds).exit_code == 0
    assert launches.num_epochs_trained() == num_trained


def killed_after(remaining: list[int], act: Callable[..., Any]) -> Callable[..., Any]:
    """Return an act that is killed once the acts that share the number have left none of it."""

    def acting(*arguments: Any) -> Any:
        remaining[0] -= 1
        if remaining[0] < 0:
            raise Killed
        return act(*arguments)

    return acting


@pytest.mark.parametrize("step", range(0, 24, 2))
def test_killed_anywhere_it_is_given_again_and_does_the_rest(
    launches: Launches, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    put_artifacts(launches)
    cells = keys(launches)
    with monkeypatch.context() as patch:
        remaining = [step]
        for name in ("remove", "remove_all"):
            patch.setattr(Folder, name, killed_after(remaining, getattr(Folder, name)))
        with suppress(Killed):
            delete(launches, is_deleting=True)
    if launches.storage.journals.joinpath("example.jsonl").exists():
        assert delete(launches).is_done is False, "what is left is told"
        assert delete(launches, is_deleting=True).exit_code == 0
    assert not list(launches.storage.cells.iterdir())
    assert {path.name for path in launches.storage.artifacts.iterdir()} == {"f" * 32}
    assert (launches.store.records(cells), launches.store.sweeps()) == ({}, [])


def test_a_kill_leaves_a_way_also_where_no_log_is_left(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches.lose_journals()
    with monkeypatch.context() as patch:
        patch.setattr(removing, "remove_record", killed_after([6], removing.remove_record))
        with pytest.raises(Killed):
            delete(launches, is_deleting=True)
    assert delete(launches, is_deleting=True).exit_code == 0
    assert launches.store.sweeps() == []


def test_nothing_goes_while_a_launch_runs(launches: Launches) -> None:
    before = files(launches.storage.root)
    for name, message in (("example", "capsweep stop example"), ("new", "may take over trials")):
        with FileLock(Folder(launches.storage.journals), f"{name}.lock") as lock:
            assert lock.acquire()
            with pytest.raises(BadInput, match=message):
                delete(launches, is_deleting=True)
    (launches.storage.journals / "new.lock").unlink()
    assert files(launches.storage.root) == before


def test_a_trial_that_is_still_trained_is_left_and_told(launches: Launches) -> None:
    cell = CellFolder(launches.storage.cells, min(keys(launches)))
    with cell.new_lock() as lock:
        assert lock.acquire()
        deleted = delete(launches, is_deleting=True)
    assert deleted.exit_code == 3
    assert f"Trial {cell.trial_key} could not be deleted: a process" in deleted.sentences[-2]
    assert [path.name for path in launches.storage.cells.iterdir()] == [cell.trial_key]
    assert launches.store.record(cell.trial_key)
    assert delete(launches, is_deleting=True).exit_code == 0


def test_no_link_is_followed(launches: Launches, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "inner").mkdir(parents=True)
    (elsewhere / "kept").write_bytes(b"1")
    first, second = sorted(keys(launches))[:2]
    shutil.rmtree(launches.storage.cells / first)
    (launches.storage.cells / first).symlink_to(elsewhere)
    (launches.storage.cells / second / "out").symlink_to(elsewhere)
    artifacts = put_artifacts(launches)
    shutil.rmtree(artifacts[-1])
    artifacts[-1].symlink_to(elsewhere)
    deleted = delete(launches, is_deleting=True)
    assert deleted.exit_code == 3
    assert "is a link or not a folder, and is not followed" in deleted.sentences[-2]
    (launches.storage.cells / first).unlink()
    assert delete(launches, is_deleting=True).exit_code == 0
    assert sorted(path.name for path in elsewhere.iterdir()) == ["inner", "kept"]
    assert not artifacts[-1].is_symlink(), "the link itself lay in the storage folder"


def test_another_sweep_that_cannot_be_read_may_hold_trials(launches: Launches) -> None:
    assert launches.run(name="other").exit_code == 0
    launches.store.backend.open(launches.store.sweep_id("other")).files.clear()
    with pytest.raises(BadInput, match="The log of 'other' cannot be read"):
        delete(launches, is_deleting=True)
    assert len(launches.store.records(keys(launches))) == 6


def test_a_store_that_does_not_answer_loses_nothing(launches: Launches) -> None:
    before = files(launches.storage.root)
    launches.store.backend.is_unreachable = True
    with pytest.raises(StoreUnreachable):
        delete(launches, is_deleting=True)
    assert files(launches.storage.root) == before


def test_folders_alone_are_deleted_where_the_store_is_lost(launches: Launches) -> None:
    write_manifest(launches.storage.journals, launches.store.manifest("example"))
    launches.lose_store()
    assert delete(launches, is_deleting=True).exit_code == 0
    assert not list(launches.storage.cells.iterdir())
