"""What killed writers have left is told from what somebody writes now."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from capsmodel.whole_file import this_machine
from sweeps.aggregation.rendering.result_files import write_results
from sweeps.storage.folder import Folder
from sweeps.storage.leftover_files import is_left_over

# Writes a file, and stands still where its content is on the disk and not yet in its place.
WRITER = """
import os, sys
from pathlib import Path
from capsmodel.whole_file import write_whole
def fsync(descriptor):
    print("written", flush=True)
    sys.stdin.read()
os.fsync = fsync
write_whole(Path(sys.argv[1]), b"half of a table")
"""
DAY_SECONDS = 86_400


def writer(path: Path) -> "subprocess.Popen[bytes]":
    """Return a process that has written a file and not moved it to its place yet."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout
    assert process.stdout.readline() == b"written\n"
    return process


def test_a_report_removes_what_a_killed_one_has_left_and_nothing_of_a_living_one(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "example"
    write_results(Folder(tmp_path, "example"), ())
    (folder / "notes.tmp").write_text("the user's own")
    with writer(folder / "killed.md") as killed, writer(folder / "living.md") as living:
        assert len(list(folder.iterdir())) == 3
        killed.kill()
        killed.wait()
        write_results(Folder(tmp_path, "example"), ())
        assert {path.name.partition(".")[0] for path in folder.iterdir()} == {"living", "notes"}
        living.communicate()
    assert (folder / "living.md").read_bytes() == b"half of a table"


@pytest.mark.parametrize(
    "name",
    [
        "table.md.4711.unfinished",
        "table.md.00000000-4711.unfinished",
        "mlflow.db.1755.unfinished-journal",
    ],
)
def test_of_an_unknown_writer_only_what_was_not_touched_for_a_day_is_left_over(
    name: str, tmp_path: Path
) -> None:
    assert this_machine() != "00000000"
    path = tmp_path / name
    path.touch()
    assert not is_left_over(path)
    os.utime(path, times=(0, time.time() - 1.1 * DAY_SECONDS))
    assert is_left_over(path)


@pytest.mark.parametrize("name", ["table.md", ".gitignore", "unfinished", "curve.csv.tmp"])
def test_other_files_are_none_however_old(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.touch()
    os.utime(path, times=(0, 0))
    assert not is_left_over(path)


def test_a_link_is_none(tmp_path: Path) -> None:
    (tmp_path / "kept").touch()
    link = tmp_path / "table.md.1.unfinished"
    link.symlink_to("kept")
    os.utime(link, times=(0, 0), follow_symlinks=False)
    assert not is_left_over(link)
