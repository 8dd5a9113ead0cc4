"""A search whose records and log are lost is recorded anew, with the same tables."""

from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_no_run_left_running
from tests.end_to_end.storage_view import num_starts
from tests.end_to_end.sweep_file import write_search

# launch/test_lost_store.py loses both of a search in this process
pytestmark = pytest.mark.nightly


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by their place."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "report-runs.html"  # it names the records
    }


def test_a_search_whose_database_and_log_are_deleted_ends_in_the_same_tables(
    tmp_path: Path, terminal: Terminal
) -> None:
    file = write_search(tmp_path / "hunt.py", trials=5)
    ended = terminal.run("run", str(file))
    assert ended.code == 0, ended.explained()
    before = files_of(terminal.folder / "reports")
    starts = num_starts(terminal.storage)
    terminal.database.unlink()
    (terminal.storage / "journals" / "hunt.jsonl").unlink()
    ended = terminal.run("run", str(file))
    assert ended.code == 0, ended.explained()
    assert num_starts(terminal.storage) == starts
    expect_no_run_left_running(terminal.storage)
    assert files_of(terminal.folder / "reports") == before
