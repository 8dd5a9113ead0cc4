"""A sweep whose disk fills up waits, says so, and ends as if nothing had happened."""

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_each_cell_finished_once, expect_same_results
from tests.end_to_end.storage_view import num_reported_epochs
from tests.end_to_end.sweep_file import write_sweep
from tests.sweeps.storage.test_disk_room import fill_up
from tests.waiting import wait_until

# storage/test_disk_room.py fills a disk under each part in this process
pytestmark = pytest.mark.nightly

NUM_EPOCHS = 12


@pytest.fixture
def storage(terminal: Terminal) -> Generator[Path]:
    """Return a storage folder on a disk of its own, of 60 MiB."""
    terminal.storage.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=60m", "tmpfs", str(terminal.storage)]
    if os.geteuid() or subprocess.run(mount, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield terminal.storage
    terminal.close()
    subprocess.run(["umount", "-l", str(terminal.storage)], check=True)


def test_a_sweep_waits_while_its_disk_is_full_and_loses_nothing(
    tmp_path: Path, terminal: Terminal, second_terminal: Terminal, storage: Path
) -> None:
    file = write_sweep(tmp_path / "filled.py", epochs=NUM_EPOCHS, seconds=0.5)
    reference = second_terminal.run("run", str(file))
    assert reference.code == 0, reference.explained()

    command = terminal.start("run", str(file))
    command.wait_until(lambda: num_reported_epochs(storage) >= NUM_EPOCHS)
    fill_up(storage / "filler")
    command.wait_until(lambda: "is full: this waits until" in said(terminal))
    reported = num_reported_epochs(storage)
    (storage / "filler").unlink()
    ended = command.wait()
    assert ended.code == 0, ended.explained()
    assert "There is space on the disk again" in ended.output
    assert num_reported_epochs(storage) > reported
    assert "Traceback" not in ended.output + ended.errors
    expect_each_cell_finished_once(storage, num_cells=6, num_epochs=NUM_EPOCHS)
    expect_same_results(terminal.folder, second_terminal.folder, "filled")
    wait_until(lambda: not list(storage.rglob("*.unfinished")))


def said(terminal: Terminal) -> str:
    return "".join(path.read_text() for path in terminal.folder.glob("command-*.out"))
