"""Evaluations added to a finished sweep: none trains, and a killed launch makes no one twice."""

from pathlib import Path

import pytest

from tests.end_to_end.command import Terminal
from tests.end_to_end.expectations import expect_no_run_left_running
from tests.end_to_end.storage_view import num_starts

pytestmark = pytest.mark.slow

SWEEP = '''"""Two arms of a small network, evaluated slowly."""
import time
from pathlib import Path
from typing import Literal

from capsmodel.evaluation import Confidence, Evaluation, Findings, ShiftedTestError
from search_spaces import ListedArms, Sweep
from search_spaces.quickstart import SWEEP as QUICKSTART


class Slowness(Evaluation):
    """A number that takes its time, and leaves a line for each time it was made."""

    kind: Literal["slowness"] = "slowness"

    @property
    def metrics(self):
        """One number."""
        return (self.metric("value"),)

    def evaluate(self, trained, data):
        """Return it."""
        time.sleep(1.0)
        with Path({made!r}).open("a") as file:
            file.write("made\\n")
        return Findings({{"value": 1.0}})


SWEEP = Sweep(
    name={name!r},
    base=QUICKSTART.base.model_validate(
        {{
            "data": {{"kind": "digits", "fraction": 0.2}},
            "model": {{"kind": "capsnet", "conv_channels": 4, "conv_kernel": 3, "primary_types": 2,
                       "primary_dim": 4, "primary_kernel": 3, "class_dim": 4}},
            "stopping": {{"kind": "fixed_epochs", "epochs": 1}},
        }}
    ),
    plan=ListedArms(
        baseline="three", arms={{"three": {{}}, "one": {{"model.routing.iterations": 1}}}}
    ),
    seeds=range(4),
    parts=[Slowness],
    evaluations=[{evaluations}],
)
'''


def files(storage: Path) -> dict[Path, tuple[bytes, int]]:
    """Return the evaluations that are there, and when each was written."""
    return {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in storage.glob("cells/*/evaluations/*.json")
    }


def of_other_sweep(terminal: Terminal) -> dict[str, bytes]:
    """Return the files of the sweep that nobody touches: its report and its log."""
    paths = [*(terminal.folder / "reports" / "other").rglob("*")]
    paths += [terminal.storage / "journals" / "other.jsonl"]
    return {str(path): path.read_bytes() for path in paths if path.is_file()}


def test_three_kinds_are_added_each_made_once_however_often_the_launch_is_killed(
    tmp_path: Path, terminal: Terminal
) -> None:
    made, file, other = tmp_path / "made", tmp_path / "slow.py", tmp_path / "other.py"
    other.write_text(SWEEP.format(name="other", evaluations="", made=str(made)))
    file.write_text(SWEEP.format(name="slow", evaluations="", made=str(made)))
    for path in (other, file):
        ended = terminal.run("run", str(path), "--engine", "inline")
        assert ended.code == 0, ended.explained()
    starts, untouched = num_starts(terminal.storage), of_other_sweep(terminal)
    assert starts == 8

    kinds = "Slowness(), ShiftedTestError(pixels=1), Confidence()"
    file.write_text(SWEEP.format(name="slow", evaluations=kinds, made=str(made)))
    for num_wanted in (1, 9):
        before = files(terminal.storage)
        command = terminal.start("run", str(file))
        command.wait_until(lambda number=num_wanted: len(files(terminal.storage)) >= number)
        command.kill_all()
        assert before.items() <= files(terminal.storage).items(), "none is made again"
    existing = files(terminal.storage)
    last = terminal.run("run", str(file))
    assert last.code == 0, last.explained()
    assert existing.items() <= files(terminal.storage).items()
    assert len(files(terminal.storage)) == 3 * 8
    num_made = made.read_text().count("made")
    assert num_made <= 8 + 2 * 2, "only what ran when a launch was killed is made again"
    assert (num_starts(terminal.storage), of_other_sweep(terminal)) == (starts, untouched)
    expect_no_run_left_running(terminal.storage)
    status = terminal.run("status", "slow").output
    assert status.count(": 8 recorded") == 3, status
