"""How many trials a running launch trains at once is changed from another shell."""

import pytest

from sweeps.execution.engine.capacity import Resources, Room
from sweeps.execution.engine.engine import ConcurrencyLimit
from sweeps.execution.engine.inline_engine import InlineEngine
from sweeps.execution.engine.placement import Machine
from sweeps.execution.launch.train_missing import ConcurrencyWatch, StartedEngine
from sweeps.execution.launch_process.concurrency import (
    concurrency_file,
    request_concurrency,
    requested_concurrency,
    withdraw_request,
)
from sweeps.execution.launch_process.launch_lock import sole_launch
from sweeps.execution.sweep_log import SweepLog
from sweeps.execution.view.board import Board
from sweeps.storage.locations import Storage
from tests.sweeps.cli.shell import Shell

STORE = "capsweep-store"


@pytest.fixture
def storage(shell: Shell) -> Storage:
    return Storage(shell.folder / STORE)


class Launched:
    """What `ConcurrencyWatch` looks at of a launch."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.name = "example"


def watch_of(storage: Storage, limit: ConcurrencyLimit, board: Board) -> ConcurrencyWatch:
    started = StartedEngine(InlineEngine(None), Room(Resources()), 4, limit)  # type: ignore[arg-type]
    return ConcurrencyWatch(Launched(storage), started, board)  # type: ignore[arg-type]


def test_a_running_launch_takes_another_number_and_none(shell: Shell, storage: Storage) -> None:
    with sole_launch("example", storage):
        board, limit = Board([], {}, SweepLog(storage.journals, "example")), ConcurrencyLimit(2)
        watch = watch_of(storage, limit, board)
        watch.look()
        assert (limit.most, board.said) == (2, [])
        answer = shell("limit", "example", "1")
        assert (answer.code, answer.err) == (0, "")
        assert "runs 1 trial at once from now on" in answer.out
        for _ in range(2):
            watch.look()
        assert (limit.most, board.num_concurrent) == (1, 1)
        assert shell("limit", "example", "none", "-q").out == ""
        watch.look()
        assert (limit.most, board.num_concurrent) == (None, 4)
        shell("limit", "example", "9")
        watch.look()
        assert (limit.most, board.num_concurrent) == (9, 4), "no more than fit"
        assert len(board.said) == 3, "each change is told once"


def test_a_request_counts_for_the_launch_alone_that_ran_when_it_was_made(
    storage: Storage,
) -> None:
    with sole_launch("example", storage):
        request_concurrency("example", 1, storage.root)
        assert requested_concurrency(storage.journals, "example")
        file = storage.journals / concurrency_file("example")
        content = file.read_bytes()
        withdraw_request(storage.journals, "example")
        assert not file.exists()
    file.write_bytes(content)  # as a killed launch leaves it
    assert requested_concurrency(storage.journals, "example") is None
    with sole_launch("example", storage):
        file.write_bytes(content.replace(b'"pid":', b'"pid":9'))
        assert requested_concurrency(storage.journals, "example") is None


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"max_concurrent": 0}', b"x" * 3000])
def test_what_is_no_request_is_passed_over(storage: Storage, content: bytes) -> None:
    with sole_launch("example", storage):
        file = storage.journals / concurrency_file("example")
        file.write_bytes(content)
        assert requested_concurrency(storage.journals, "example") is None
        file.unlink()
        file.symlink_to(storage.root / "elsewhere")
        assert requested_concurrency(storage.journals, "example") is None


def test_bad_input_is_refused_and_changes_nothing(shell: Shell, storage: Storage) -> None:
    assert "There is no storage folder" in shell.refused("limit", "example", "2")
    for number in ("0", "-1", "x", "1.5", "", "1" * 99):
        sentence = shell.refused("limit", "example", "--", number)
        assert "whole number of at least 1, or 'none'" in sentence
    with sole_launch("other", storage):
        sentence = shell.refused("limit", "example", "2")
        assert "No launch of 'example' runs over" in sentence
        assert "nothing was changed" in sentence
        assert sentence.endswith("Running there: other.")
    lock = storage.journals / "example.lock"
    from sweeps.storage.file_lock import FileLock
    from sweeps.storage.folder import in_storage

    with FileLock(in_storage(storage.journals), lock.name) as held:
        assert held.acquire()
        assert "does not identify itself" in shell.refused("limit", "example", "2")


def test_without_a_limit_all_fit_that_the_machine_has_cores_for() -> None:
    room = Room(Resources(cpus=2, gpus=0, max_concurrent=1), machines=lambda: [Machine(cpus=8)])
    assert (room.capacity().num_concurrent, room.num_fitting()) == (1, 4)
    cluster = Resources(cpus=2, gpus=0, max_concurrent=9, address="auto")
    assert Room(cluster, machines=lambda: [Machine(cpus=8)]).num_fitting() == 9
