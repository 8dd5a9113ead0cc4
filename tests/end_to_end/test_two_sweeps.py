"""Two different sweeps at once over one storage, and the same one twice."""

from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_each_cell_finished_once
from tests.end_to_end.storage_view import num_epochs_told, outboxes
from tests.end_to_end.sweep_file import ROUTINGS, write_sweep

pytestmark = pytest.mark.slow

NUM_EPOCHS = 5


def test_two_sweeps_share_a_storage_and_their_trials_and_a_third_start_is_refused(
    tmp_path: Path, terminal: Terminal
) -> None:
    storage = terminal.storage
    more = {**ROUTINGS, "two iterations": {"model.routing.iterations": 2}}
    first = write_sweep(tmp_path / "first.py", epochs=NUM_EPOCHS, seconds=0.3)
    second = write_sweep(tmp_path / "second.py", arms=more, epochs=NUM_EPOCHS, seconds=0.3)
    both = [terminal.start("run", str(file)) for file in (first, second)]

    both[0].wait_until(lambda: num_epochs_told(storage) > 0)
    refused = terminal.run("run", str(first))
    assert refused.code == 2, refused.explained()
    assert "being run already" in refused.errors
    assert len(refused.errors.strip().splitlines()) == 1

    for command in both:
        ended = command.wait()
        assert ended.code == 0, ended.explained()
    expect_each_cell_finished_once(storage, num_cells=8, num_epochs=NUM_EPOCHS)
    assert all(len(facts.starts) == 1 for facts in outboxes(storage).values())
    for name, num_rows in (("first", 6), ("second", 8)):
        rows = (terminal.folder / "reports" / name / "trials.csv").read_text().splitlines()[1:]
        assert len(rows) == num_rows
        assert all("finished" in row for row in rows), rows
