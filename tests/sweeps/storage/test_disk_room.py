"""A full disk is waited for, and what is written then is whole."""

import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path

import pytest

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.sweep_log import SweepLog, stored_manifest
from sweeps.execution.view.board import Board
from sweeps.execution.view.disk_watch import DiskWatch
from sweeps.execution.worker.trial import Disk, TrialJob, log_of, run_trial
from sweeps.records.trial_record import Outcome
from sweeps.storage import disk_room
from sweeps.storage.appended import append_whole
from sweeps.storage.disk_room import retry_when_full, wait_for_room
from sweeps.storage.folder import Folder
from sweeps.storage.locations import Storage
from sweeps.storage.sqlite_file import open_sqlite, transaction
from tests.sweeps.execution.examples import KEY, final, reported, spec, start
from tests.sweeps.execution.search.examples import proposed, searched
from tests.waiting import wait_until

SIZE = 8 * 2**20
FILES = 100


class SmallDisk:
    """A disk of a few MiB, which can be filled to the last byte."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        fill_up(self._filler)

    def free(self) -> None:
        self._filler.unlink()

    def waits(self, write: Callable[[], object]) -> None:
        """Check that a write waits while the disk is full, and is done when there is room."""
        self.fill()
        thread = threading.Thread(target=write, daemon=True)
        looked = threading.Event()
        disk_room.free_bytes, free_bytes = noted(disk_room.free_bytes, looked), disk_room.free_bytes
        try:
            thread.start()
            wait_until(lambda: looked.is_set() or not thread.is_alive())
            assert looked.is_set(), "it has not looked for room"
            assert thread.is_alive()
            self.free()
            thread.join(600)
            assert not thread.is_alive()
        finally:
            disk_room.free_bytes = free_bytes


class DiskOfFewFiles(SmallDisk):
    """A disk with room for bytes, but for no more than some files."""

    def fill(self) -> None:
        self._filler.mkdir()
        with suppress(OSError):
            for number in range(FILES):
                (self._filler / str(number)).touch()

    def free(self) -> None:
        shutil.rmtree(self._filler)


def fill_up(path: Path) -> None:
    """Write a file until its disk is full."""

    def write() -> None:
        while file.write(b"x" * 4096):
            pass

    with path.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        write()


def noted(ask: Callable[[Path], int], looked: threading.Event) -> Callable[[Path], int]:
    def asked(folder: Path) -> int:
        looked.set()
        return ask(folder)

    return asked


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """Return a folder with a disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    monkeypatch.setattr(disk_room, "PAUSE_SECONDS", 0.01)
    options = f"size={SIZE},nr_inodes={FILES}"
    if os.system(f"mount -t tmpfs -o {options} tmpfs {folder} 2>/dev/null"):
        pytest.skip("no file system can be mounted here")
    yield folder
    assert not os.system(f"umount -l {folder}")


@pytest.fixture
def disk(folder: Path) -> SmallDisk:
    return SmallDisk(folder)


@pytest.fixture
def disk_of_few_files(folder: Path) -> DiskOfFewFiles:
    return DiskOfFewFiles(folder)


def test_a_statement_waits_for_room_and_is_done_once(disk: SmallDisk) -> None:
    database = open_sqlite(Folder(disk.folder), "journal.db")
    database.execute("create table events (text text)")
    disk.waits(lambda: database.execute("insert into events values (?)", ("x" * 100_000,)))
    assert database.execute("select length(text) from events").fetchall() == [(100_000,)]


def refused(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize("code", [sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC])
def test_what_sqlite_cannot_write_and_nobody_else_can_waits_too(disk: SmallDisk, code: int) -> None:
    path = disk.folder / "of a user with a quota"

    def write() -> None:
        try:
            path.write_bytes(b"1" * 10_000)
        except OSError:
            raise refused(code) from None

    disk.waits(lambda: retry_when_full(write, disk.folder))
    assert path.stat().st_size == 10_000


def test_what_sqlite_alone_cannot_write_is_raised_at_once(tmp_path: Path) -> None:
    def write() -> None:
        raise refused(sqlite3.SQLITE_IOERR_WRITE)

    with pytest.raises(sqlite3.OperationalError):
        retry_when_full(write, tmp_path)
    assert not list(tmp_path.iterdir()), "the probe is gone"


def test_a_disk_that_takes_no_other_file_is_waited_for(disk_of_few_files: DiskOfFewFiles) -> None:
    path = disk_of_few_files.folder / "new"

    def write() -> None:
        wait_for_room(path.parent)
        path.touch()

    disk_of_few_files.waits(write)
    assert path.exists()


def test_statements_that_belong_together_wait_together(disk: SmallDisk) -> None:
    database = open_sqlite(Folder(disk.folder), "journal.db")
    database.execute("create table events (text text)")

    def write() -> None:
        with transaction(database):
            database.execute("insert into events values ('a')")
            database.execute("insert into events values ('b')")

    disk.waits(write)
    assert database.execute("select text from events").fetchall() == [("a",), ("b",)]


def test_lines_of_an_outbox_wait_and_none_is_torn_or_lost(disk: SmallDisk) -> None:
    cell = CellFolder(disk.folder / "cells", "a" * 20)
    with cell.lease():
        for line in (start(), *map(reported, range(1, 20))):  # more than what is left of a page
            cell.append(line)
        rest = [reported(epoch) for epoch in range(20, 60)]
        disk.waits(lambda: [Disk(cell).keep(lambda line=line: cell.append(line)) for line in rest])
    lines, _ = cell.read_outbox()
    assert [line.epoch.epoch for line in lines if line.epoch] == list(range(1, 60))


def test_that_a_trial_was_stopped_is_told_when_there_is_room(disk: SmallDisk) -> None:
    cell = CellFolder(disk.folder / "cells", KEY)
    with cell.lease():
        cell.append(reported(1))
    disk.waits(lambda: cell.append_pruned(spec(), "x" * 5000))  # more than is left of a page
    assert cell.is_pruned()


def test_a_checkpoint_waits_and_its_cell_says_for_how_much(disk: SmallDisk) -> None:
    storage = Storage(disk.folder)
    cell = CellFolder(storage.cells, "a" * 20)
    wanted: list[int] = []
    with cell.lease():
        cell.checkpoint.write_bytes(b"0" * 2**20)
        cell.stats.note_peak_memory(5)
        keep = Disk(cell)

        def write() -> None:
            wanted.append(cell.stats.wanted_disk_bytes())
            (cell.path / "new").write_bytes(b"1" * 2**20)

        disk.waits(lambda: keep.keep(write))
    assert wanted[0] == 0
    assert wanted[-1] == 2**20 + disk_room.RESERVE_BYTES
    assert cell.stats.wanted_disk_bytes() == 0
    assert cell.stats.peak_memory_bytes() == 5


def test_a_trial_whose_disk_fills_up_before_it_holds_its_cell_waits_for_that_too(
    disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Disk, "wait", lambda _: None)  # there was room then
    cell = CellFolder(disk.folder / "cells", KEY)
    cell.path.mkdir(parents=True)
    cell.write_final(final())
    outcomes: list[Outcome] = []
    order = TrialJob(cells=str(disk.folder / "cells"), spec=spec())
    disk.waits(lambda: outcomes.append(run_trial(order, lambda _: None)))
    assert outcomes == [Outcome.FINISHED]


def test_decisions_wait_for_room_and_are_read(disk: SmallDisk) -> None:
    after, log = proposed(searched(), 6), SweepLog(disk.folder, "example")
    log.declare(after.declared)
    disk.waits(lambda: [log.append(entry) for entry in after.decisions])  # more than one block
    assert stored_manifest(disk.folder, "example") == after.manifest


def test_what_a_trial_prints_is_dropped_and_does_not_end_it(disk: SmallDisk) -> None:
    cell = CellFolder(disk.folder / "cells", "a" * 20)
    with cell.lease(), log_of(cell):
        disk.fill()
        for _ in range(3000):
            sys.stdout.write("a line of a trial that says much\n")
        disk.free()
        sys.stdout.write("the last word\n")
    assert cell.log.read_text().endswith("the last word\n")


def test_a_line_is_whole_or_the_file_as_it_was(disk: SmallDisk) -> None:
    path = disk.folder / "log"
    with path.open("a+b", buffering=0) as file:
        append_whole(file, b"a" * 4000 + b"\n")
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            append_whole(file, b"b" * 10_000 + b"\n")
    assert path.read_bytes() == b"a" * 4000 + b"\n"


def test_the_launch_says_that_it_waits_and_that_it_goes_on(
    disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Board, "running_keys", lambda _: ["a" * 20])
    sentences: list[str] = []
    monkeypatch.setattr(Board, "say", lambda _, sentence: sentences.append(sentence))
    board = Board([], {}, log=None)  # type: ignore[arg-type]
    watch = DiskWatch(Storage(disk.folder), board)
    watch.look()
    assert sentences == []
    disk.fill()
    watch.look()
    watch.look()
    disk.free()
    watch.look()
    assert len(sentences) == 2
    assert "is full: this waits until 2 MiB are free" in sentences[0]
    assert "training continues" in sentences[1]
    cell = CellFolder(disk.folder / "cells", "a" * 20)
    cell.path.mkdir(parents=True)
    cell.stats.note_wanted_disk(700 * 2**20)
    watch.look()
    assert "until 700 MiB are free" in sentences[2]


def test_the_launch_says_that_the_disk_takes_no_other_file(
    disk_of_few_files: DiskOfFewFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences: list[str] = []
    monkeypatch.setattr(Board, "say", lambda _, sentence: sentences.append(sentence))
    watch = DiskWatch(Storage(disk_of_few_files.folder), Board([], {}, log=None))  # type: ignore[arg-type]
    disk_of_few_files.fill()
    watch.look()
    disk_of_few_files.free()
    watch.look()
    assert len(sentences) == 2
    assert "holds as many files as it can: this waits until some are deleted" in sentences[0]


def test_other_errors_are_raised_at_once(tmp_path: Path) -> None:
    def no_table() -> None:
        sqlite3.connect(":memory:").execute("select * from nothing")

    def no_file() -> None:
        (tmp_path / "nothing").read_bytes()

    with pytest.raises(sqlite3.OperationalError):
        retry_when_full(no_table, tmp_path)
    with pytest.raises(FileNotFoundError):
        retry_when_full(no_file, tmp_path)
