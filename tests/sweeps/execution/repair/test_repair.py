"""A repair makes good what was lost, says so, overwrites nothing, and does nothing twice."""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from search_spaces import Sweep
from sweeps.execution.sweep_log import log_path, stored_manifest, stored_sweeps
from sweeps.records.errors import BadInput, StoreRefused
from sweeps.records.sweep_log import Decided, Entry, manifest_of, text_of
from sweeps.storage.file_lock import FileLock
from sweeps.storage.folder import Folder
from sweeps.tracking.record_facts import TAG_OUTCOME
from sweeps.tracking.sweep_summary import SweepSummary
from tests.sweeps.execution.launch.launches import Launches, design, searching
from tests.sweeps.execution.launch.test_lost_store import expect_whole
from tests.sweeps.tracking.memory_store import MemoryWriter


@pytest.fixture
def launches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    return launched(design(), tmp_path, monkeypatch)


def launched(sweep: Sweep, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Launches:
    launches = Launches(folder, sweep, monkeypatch)
    assert launches.run().exit_code == 0
    return launches


def lose_store(launches: Launches) -> None:
    launches.lose_store()


def damage_the_log(launches: Launches) -> None:
    with log_path(launches.storage.journals, "example").open("ab") as file:
        file.write(b"garbage\n" * 999)


def damage_the_queue(launches: Launches) -> None:
    (queue,) = launches.storage.journals.glob("recorder-*.db")
    queue.write_bytes(b"garbage" * 999)


def mark_as_running(launches: Launches) -> None:
    (sweep,) = launches.store.backend.live("sweep")
    sweep.is_running = True


def lose_an_epoch(launches: Launches) -> None:
    run = launches.store.backend.live("trial")[0]
    for points in run.points.values():
        points.pop(next((point for point in points if point[0] == 1), None), None)


def lose_all(launches: Launches) -> None:
    damage_the_log(launches)
    damage_the_queue(launches)
    lose_store(launches)


ACCIDENTS: dict[Callable[[Launches], None], list[str]] = {
    lose_store: ["log of 'example' was written", "records of 'example' were filled"],
    damage_the_log: ["example.jsonl was damaged"],
    damage_the_queue: ["recorder-.* was damaged"],
    mark_as_running: ["1 records of 'example' that looked as if they ran"],
    lose_an_epoch: ["1 records of 'example' were filled"],
    lose_all: ["example.jsonl was damaged", "recorder-", "written", "filled"],
}


@pytest.mark.parametrize(
    ("sweep", "accident"),
    [
        (searching, lose_all),
        (searching, lose_store),
        *((design, accident) for accident in ACCIDENTS),
    ],
)
def test_what_was_lost_is_made_good_once(
    sweep: Callable[[], Sweep],
    accident: Callable[[Launches], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launches = launched(sweep(), tmp_path, monkeypatch)
    tables, num_trained = launches.tables(), launches.num_epochs_trained()
    accident(launches)
    repaired = launches.repair("example")
    assert repaired.exit_code == 0
    message = " ".join(repaired.sentences)
    for damage in ACCIDENTS[accident]:
        assert re.search(damage, message), message
    expect_whole(launches)
    second = launches.repair()
    assert (second.sentences, second.exit_code) == ((), 0)
    assert launches.run().exit_code == 0
    assert launches.tables() == tables
    assert launches.num_epochs_trained() == num_trained


def test_what_people_browse_of_a_lost_sweep_is_written_again(
    launches: Launches, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[SweepSummary] = []

    def show(writer: MemoryWriter, sweep_id: str, summary: SweepSummary) -> None:
        del writer, sweep_id
        shown.append(summary)

    monkeypatch.setattr(MemoryWriter, "write_summary", show)
    lose_store(launches)
    launches.repair("example")
    assert [len(summary.arms) for summary in shown] == [3]
    launches.repair("example")
    assert len(shown) == 1  # as there was nothing to repair


def test_what_cannot_be_shown_is_said(launches: Launches, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StoreRefused("The store is full.", "full")

    monkeypatch.setattr(MemoryWriter, "write_summary", refuse)
    lose_store(launches)
    repaired = launches.repair("example")
    assert repaired.exit_code == 3
    assert repaired.sentences[-1].endswith("is not up to date: The store is full.")


def test_damaged_files_are_put_aside_as_they_were(launches: Launches) -> None:
    damage_the_log(launches)
    log = log_path(launches.storage.journals, "example")
    damaged = log.read_bytes()
    launches.repair()
    assert log.with_name("example.jsonl.damaged-1").read_bytes() == damaged
    damage_the_log(launches)
    launches.repair()
    assert log.with_name("example.jsonl.damaged-2").read_bytes() == damaged


def test_lost_folders_are_not_missed(launches: Launches) -> None:
    shutil.rmtree(launches.storage.cells)
    assert launches.repair().sentences == ()
    num_trained = launches.num_epochs_trained()
    assert launches.run().exit_code == 0
    assert launches.num_epochs_trained() == num_trained


def test_a_trial_that_looks_as_if_it_ran_is_interrupted(launches: Launches) -> None:
    run = launches.store.backend.live("trial")[0]
    shutil.rmtree(launches.storage.cells / run.facts["capsweep.trial_key"])
    run.facts[TAG_OUTCOME] = "running"
    run.is_running = True
    assert "1 records" in launches.repair().sentences[0]
    assert (run.facts[TAG_OUTCOME], run.is_running) == ("interrupted", False)


def test_a_sweep_that_is_being_run_is_left_alone(launches: Launches) -> None:
    lose_store(launches)
    with FileLock(Folder(launches.storage.journals), "example.lock") as lock:
        assert lock.acquire()
        (sentence,) = launches.repair().sentences
    assert "being run" in sentence
    assert launches.store.sweeps() == []


def test_a_sweep_that_nobody_knows_is_refused(launches: Launches) -> None:
    with pytest.raises(BadInput, match="Did you mean 'example'"):
        launches.repair("exmple")


def test_a_log_that_nobody_has_is_said_to_be_gone(launches: Launches) -> None:
    (sweep,) = launches.store.backend.live("sweep")
    sweep.files.clear()
    log_path(launches.storage.journals, "example").unlink()
    repaired = launches.repair("example")
    assert repaired.exit_code == 3
    assert "--replace" in repaired.sentences[0]


@pytest.mark.parametrize("name", ["example-backup", "Example (1)"])
def test_a_copy_of_a_log_under_another_name_is_left_alone(name: str, launches: Launches) -> None:
    journals = launches.storage.journals
    shutil.copy(journals / "example.jsonl", journals / f"{name}.jsonl")
    assert launches.run(seeds=(0, 1, 2)).exit_code == 0
    shutil.rmtree(next(launches.storage.cells.iterdir()))
    repaired = launches.repair()
    assert (repaired.sentences, repaired.exit_code) == ((), 0)
    assert launches.store.manifest("example").seeds == (0, 1, 2)


def test_the_log_of_another_sweep_does_not_count(launches: Launches) -> None:
    journals = launches.storage.journals
    shutil.copy(journals / "example.jsonl", journals / "other.jsonl")
    assert stored_manifest(journals, "example") is not None
    assert stored_manifest(journals, "other") is None
    assert stored_sweeps(journals) == {"example"}


def test_a_store_that_is_behind_gets_the_log_again(launches: Launches) -> None:
    before = launches.store.sweep_log("example")
    assert launches.run(seeds=(0, 1, 2)).exit_code == 0
    tables = launches.tables()
    put_back(launches, before)
    repaired = launches.repair("example")
    assert "log of 'example' was written" in repaired.sentences[0]
    assert launches.repair().sentences == ()
    assert launches.store.manifest("example").seeds == (0, 1, 2)
    assert launches.run(seeds=(0, 1, 2)).num_trained == 0
    assert launches.tables() == tables


def put_back(launches: Launches, log: Sequence[Entry]) -> None:
    """Have the store as it was when a log was current, as from an older copy of it."""
    manifest = manifest_of(log)
    assert manifest
    keys = {cell.trial_key for cell in manifest.cells}
    for run in launches.store.backend.live("trial"):
        run.is_deleted = run.facts["capsweep.trial_key"] not in keys
    launches.store.writer().set_sweep_log(launches.store.sweep_id("example"), text_of(log).decode())


def test_what_a_search_has_confirmed_and_the_store_lacks_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launches = launched(searching(), tmp_path, monkeypatch)
    complete = launches.store.manifest("example")
    log = launches.store.sweep_log("example")
    kinds = [entry.kind if isinstance(entry, Decided) else "" for entry in log]
    put_back(launches, log[: kinds.index("select")])
    assert "was written" in launches.repair("example").sentences[0]
    assert launches.store.manifest("example") == complete


def extended_elsewhere(launches: Launches) -> None:
    """Have what is kept here be of before somebody else has extended the sweep."""
    path = log_path(launches.storage.journals, "example")
    before = path.read_bytes()
    assert launches.run(seeds=(0, 1, 2)).exit_code == 0
    path.write_bytes(before)


def test_a_sweep_that_was_extended_elsewhere_stays_so(launches: Launches) -> None:
    extended_elsewhere(launches)
    lose_an_epoch(launches)
    assert "were filled" in launches.repair("example").sentences[0]
    assert launches.store.manifest("example").seeds == (0, 1, 2)


def test_a_launch_that_trains_nothing_keeps_its_manifest(launches: Launches) -> None:
    extended_elsewhere(launches)
    assert launches.run(seeds=(0, 1, 2)).num_trained == 0
    stored = stored_manifest(launches.storage.journals, "example")
    assert stored == launches.store.manifest("example")
