"""A cell's folder holds what its trial has told, whatever was torn on the way."""

import math
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsmodel.metrics import EpochMetrics
from sweeps.execution.cells.folder import CellFolder
from sweeps.records.cell_contents import FinalRecord, OutboxLine
from sweeps.records.errors import BadInput
from sweeps.records.trial_record import Outcome
from tests.sweeps.execution.examples import KEY, epoch, failed, final, reported, spec, start
from tests.sweeps.storage.test_file_lock import end, holding


def test_the_fence_grows_with_every_lease(cell: CellFolder) -> None:
    fences: list[int] = []
    for _ in range(12):
        with cell.lease() as fence:
            fences.append(fence)
    assert fences == list(range(1, 13))


def test_a_lease_makes_the_folder(tmp_path: Path) -> None:
    folder = CellFolder(tmp_path / "a" / "b", KEY)
    assert not folder.is_busy()
    with folder.lease() as fence:
        assert fence == 1


def test_a_cell_held_by_another_process_is_busy_and_its_lease_times_out(cell: CellFolder) -> None:
    with cell.lease():
        pass
    process = holding(cell.path / "lock")
    try:
        assert cell.is_busy()
        with pytest.raises(TimeoutError, match=KEY), cell.lease(wait_seconds=0.1):
            pass
    finally:
        end(process)
    assert not cell.is_busy()
    with cell.lease(wait_seconds=0.1) as fence:
        assert fence == 2, "the fence survives, and a wait in vain does not raise it"


def test_a_trial_is_stopped_by_the_plan_that_stopped_it_until_it_trains_on(
    cell: CellFolder,
) -> None:
    with cell.lease():
        cell.append(start(plan="ours"), reported(1), reported(2))
    assert cell.stopped_by("ours") == 0
    cell.append_pruned(spec(plan="ours"), "too slow")
    assert (cell.stopped_by("ours"), cell.stopped_by("of another sweep")) == (2, 0)
    cell.append(reported(3))
    assert cell.stopped_by("ours") == 0


def test_a_lease_is_free_after_an_exception(cell: CellFolder) -> None:
    with pytest.raises(ValueError, match="no"), cell.lease():
        raise ValueError("no")
    with cell.lease(wait_seconds=0) as fence:
        assert fence == 2


LINES = [
    start(),
    reported(1),
    reported(2, math.nan),
    failed("é \x1b[31m\n| $x$"),
    start(),
    reported(3),
]


def test_what_is_appended_is_read_back(cell: CellFolder) -> None:
    for line in LINES:
        cell.append(line)
    lines, offset = cell.read_outbox()
    assert repr(lines) == repr(LINES), "by repr, as NaN differs from itself"
    assert offset == cell.outbox_size()
    assert cell.read_outbox(offset) == ([], offset)


def test_an_outbox_can_be_read_from_any_line_on(cell: CellFolder) -> None:
    offsets = [0]
    for line in LINES:
        cell.append(line)
        offsets.append(cell.outbox_size())
    for count, offset in enumerate(offsets):
        lines, after = cell.read_outbox(offset)
        assert repr(lines) == repr(LINES[count:])
        assert after == offsets[-1]


def test_no_outbox_is_an_empty_one(cell: CellFolder) -> None:
    assert cell.read_outbox() == ([], 0)
    assert (cell.outbox_size(), cell.epochs_done(), cell.failure_since()) == (0, 0, None)


def test_an_outbox_torn_at_any_byte_loses_the_torn_line_alone(cell: CellFolder) -> None:
    for line in LINES[:3]:
        cell.append(line)
    outbox = cell.path / "outbox.jsonl"
    content = outbox.read_bytes()
    for length in range(len(content) + 1):
        outbox.write_bytes(content[:length])
        num_whole = content[:length].count(b"\n")
        lines, offset = cell.read_outbox()
        assert repr(lines) == repr(LINES[:num_whole])
        cell.append(reported(9))
        reread, _ = cell.read_outbox()
        assert reread[-1] == reported(9), f"the line after one torn at {length} is read"
        assert repr(reread[:num_whole]) == repr(lines)
        assert len(reread) - 1 - num_whole in {0, 1}, "a line without its end alone may come back"
        later, _ = cell.read_outbox(offset)
        assert repr(lines + later) == repr(reread), "read in two steps it is the same"


@given(st.binary(max_size=200))
def test_no_bytes_in_an_outbox_crash_its_reader(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = CellFolder(tmp_path_factory.getbasetemp() / "cells", KEY)
    folder.path.mkdir(parents=True, exist_ok=True)
    (folder.path / "outbox.jsonl").write_bytes(data)
    folder.read_outbox()
    folder.append(reported(1))
    assert folder.read_outbox()[0][-1] == reported(1)


def test_a_line_of_a_later_form_is_left_out(cell: CellFolder) -> None:
    cell.append(reported(1))
    with (cell.path / "outbox.jsonl").open("ab") as file:
        file.write(b'{"type": "news", "time": 1, "fence": 1}\n[]\nnull\n{"type": "epoch"}\n')
    cell.append(reported(2))
    assert cell.read_outbox()[0] == [reported(1), reported(2)]


numbers = st.floats()


@given(numbers, numbers)
def test_every_number_survives_an_outbox_line(loss: float, error: float) -> None:
    line = OutboxLine(
        type="epoch",
        time=1,
        fence=1,
        epoch=EpochMetrics(epoch=1, train_loss=loss, validation_loss=loss, validation_error=error),
    )
    assert repr(OutboxLine.model_validate_json(line.model_dump_json())) == repr(line)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf, 1e-300])
def test_every_number_survives_a_final_record(cell: CellFolder, loss: float) -> None:
    record = final(curve=(epoch(1, loss),), outcome=Outcome.DIVERGED, test_error=None)
    cell.write_final(record)
    assert repr(cell.read_final()) == repr(record)


def test_a_final_record_fills_the_cell_and_takes_the_checkpoint_away(cell: CellFolder) -> None:
    cell.checkpoint.write_bytes(b"x")
    assert not cell.is_filled()
    assert cell.read_final() is None
    cell.write_final(final())
    assert cell.is_filled()
    assert cell.read_final() == final()
    assert sorted(path.name for path in cell.path.iterdir()) == ["final.json"]


def test_a_failure_counts_where_it_is_the_last_word(cell: CellFolder) -> None:
    cell.append(start())
    cell.append(failed("first"))
    assert cell.failure_since() == "first"
    after_first = cell.outbox_size()
    assert cell.failure_since(after_first) is None
    cell.append(start())
    assert cell.failure_since() is None
    cell.append(failed("second"))
    assert cell.failure_since(after_first) == "second"


def test_the_epochs_done_are_the_highest_told(cell: CellFolder) -> None:
    for line in (
        start(),
        reported(1),
        reported(2),
        failed(),
        start(),
        reported(2),
        reported(3),
        failed(),
    ):
        cell.append(line)
    assert cell.epochs_done() == 3


def test_a_head_travels_through_json_with_any_text() -> None:
    given_spec = spec(arm="a|b $x$ <b> \x1b[0m\n\u2028", source="x = 'é'\n")
    line = OutboxLine(type="start", time=1, fence=1, head=given_spec)
    assert OutboxLine.model_validate_json(line.model_dump_json()).head == given_spec
    assert FinalRecord.model_validate_json(final().model_dump_json()) == final()


@pytest.mark.parametrize(
    "torn",
    [b"", b"\x00\x00", b"x", b"1\x00"],
    ids=["empty", "zeros", "no number", "a number and a zero"],
)
def test_a_torn_lock_loses_no_fence(cell: CellFolder, torn: bytes) -> None:
    (cell.path / "lock").write_bytes(torn)
    with cell.lease() as fence:
        assert fence == 1
    cell.append(reported(1).model_copy(update={"fence": 7}))
    (cell.path / "lock").write_bytes(torn)
    with cell.lease() as fence:
        assert fence == 8, "else readers would drop what is told under it"


def test_what_a_writer_told_after_it_lost_its_lease_is_left_out(cell: CellFolder) -> None:
    def under(fence: int, line: OutboxLine) -> OutboxLine:
        return line.model_copy(update={"fence": fence})

    cell.append(under(1, start()))
    cell.append(under(1, reported(1)))
    cell.append(under(2, start()))
    middle = cell.outbox_size()
    cell.append(under(1, reported(9)))
    cell.append(under(1, failed()))
    cell.append(under(2, reported(2)))
    lines, end = cell.read_outbox()
    assert [(line.fence, line.type) for line in lines] == [
        (1, "start"),
        (1, "epoch"),
        (2, "start"),
        (2, "epoch"),
    ]
    assert cell.read_outbox(middle) == ([lines[-1]], end), "from a later line on too"
    assert cell.epochs_done() == 2
    cell.append(under(1, failed()))
    assert cell.failure_since() is None


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), max_size=8))
def test_read_on_line_by_line_it_is_the_same_as_read_at_once(
    tmp_path_factory: pytest.TempPathFactory, told_by: list[tuple[int, bool]]
) -> None:
    folder = CellFolder(tmp_path_factory.mktemp("cells"), KEY)
    folder.path.mkdir(parents=True)
    one_by_one, offset, fence = list[OutboxLine](), 0, 0
    for number, (writer, is_torn) in enumerate(told_by, start=1):
        folder.append(reported(number).model_copy(update={"fence": writer}))
        if is_torn:
            with (folder.path / "outbox.jsonl").open("ab") as file:
                file.write(b'{"type": "ep')
        lines, offset = folder.read_outbox(offset, fence)
        fence = lines[-1].fence if lines else fence
        one_by_one += lines
    assert one_by_one == folder.read_outbox()[0]


def test_what_was_read_before_is_not_read_again_where_its_fence_is_known(cell: CellFolder) -> None:
    cell.append(reported(1).model_copy(update={"fence": 3}))
    _, offset = cell.read_outbox()
    (cell.path / "outbox.jsonl").write_bytes(b"x" * (offset - 1) + b"\n")
    cell.append(reported(9).model_copy(update={"fence": 2}))
    cell.append(reported(2).model_copy(update={"fence": 3}))
    lines, _ = cell.read_outbox(offset, 3)
    assert [line.epoch and line.epoch.epoch for line in lines] == [2]


@pytest.mark.parametrize(
    "text", ["", "{", '{"schema_version": 2}', "null", pytest.param("\x00", id="zero")]
)
def test_a_final_record_that_cannot_be_read_says_which_and_what_to_do(
    cell: CellFolder, text: str
) -> None:
    (cell.path / "final.json").write_text(text)
    with pytest.raises(BadInput, match=r"final\.json cannot be read.*Move the folder") as error:
        cell.read_final()
    assert "\n" not in str(error.value)


def test_a_line_that_does_not_fit_on_the_disk_raises_and_leaves_the_outbox_as_it_was(
    cell: CellFolder,
) -> None:
    cell.append(start())
    cell.append(reported(1))
    before = cell.outbox_size()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (before + 10, hard))  # a write ends short there
    try:
        with pytest.raises(OSError, match="No space left"):
            cell.append(reported(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert cell.outbox_size() == before
    cell.append(reported(2))
    lines, _ = cell.read_outbox()
    assert lines == [start(), reported(1), reported(2)]
