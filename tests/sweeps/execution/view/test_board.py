"""The board counts what happens; the view shows it in calm words."""

import io
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from sweeps.execution.cells.folder import CellFolder
from sweeps.execution.survey.surveyed_cells import CellState, SurveyedCell
from sweeps.execution.sweep_log import SweepLog, last_launch, stored_entries
from sweeps.execution.view import live_view as live
from sweeps.execution.view.board import BestArm, Board
from sweeps.execution.view.live_view import render, show_in_terminal, summary
from sweeps.execution.view.stall_watch import StallWatch
from sweeps.records.sweep_log import TrialNoted
from sweeps.records.trial_record import Outcome
from sweeps.storage.locations import Storage
from tests.sweeps.execution.examples import manifest

HOSTILE = "[red]\x1b[31m\x07\r\n</red> [/] [link=x]"


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Scene:
    """A board of four cells, one of them filled, ten epochs each."""

    def __init__(self, log: SweepLog, arms: tuple[str, ...] = ("base", "other")) -> None:
        cells = manifest(arms=arms).cells
        states = [CellState.RECORDED, CellState.UNFINISHED, CellState.NEW, CellState.NEW]
        planned = tuple(
            SurveyedCell(cell, state, epochs=4 if state is CellState.UNFINISHED else 0)
            for cell, state in zip(cells, states, strict=True)
        )
        self.log = log
        self.watch = Watch()
        self.board = Board(list(planned), dict.fromkeys(arms, 10), log, self.watch)
        self.keys = [cell.trial_key for cell in cells]

    def train(self, index: int, epochs: range) -> None:
        for epoch in epochs:
            self.watch.now += 2.0
            self.board.progressed(self.keys[index], epoch, 0.5 / epoch)


@pytest.fixture
def scene(log: SweepLog) -> Scene:
    return Scene(log)


def begin(board: Board, trial_key: str) -> None:
    """Dispatch a trial, and have a process begin with it."""
    board.dispatched(trial_key)
    board.started(trial_key)


def test_at_first_only_the_filled_cells_are_done(scene: Scene) -> None:
    assert summary(scene.board, "example") == ("example: 1 of 4 cells done, 0 running, 0 s elapsed")


def test_a_trial_in_progress_is_shown_with_its_epochs(scene: Scene) -> None:
    begin(scene.board, scene.keys[1])
    (trial,) = scene.board.snapshot()
    assert (trial.cell.arm, trial.cell.seed) == ("other", 0)
    assert (trial.epoch, trial.num_epochs) == (4, 10)
    assert trial.validation_error is None
    scene.train(1, range(5, 7))
    (trial,) = scene.board.snapshot()
    assert (trial.epoch, trial.validation_error) == (6, 0.5 / 6)


def test_everything_that_happened_is_in_one_line(scene: Scene) -> None:
    board, keys = scene.board, scene.keys
    for key in keys[1:]:
        begin(board, key)
    scene.train(1, range(5, 11))
    board.ended(keys[1], Outcome.FINISHED, "")
    board.ended(keys[2], Outcome.DIVERGED, "nan")
    board.restarted(keys[3], "its process was killed")
    begin(board, keys[3])
    board.ended(keys[3], Outcome.FAILED, "no")
    summed_up = summary(board, "example")
    assert summed_up == (
        "example: 3 of 4 cells done, 0 running, 1 failed, 1 diverged, 1 restarted, 12 s elapsed"
    )
    assert board.failures == [("other", 1, "no")]


def test_one_that_is_stopping_says_not_how_long_training_would_take(scene: Scene) -> None:
    begin(scene.board, scene.keys[2])
    scene.train(2, range(1, 7))
    assert summary(scene.board, "example").endswith(" left")
    scene.board.is_stopping = True
    assert summary(scene.board, "example").endswith("stopping, 12 s elapsed")


def finish(board: Board, trial_key: str, error: float, outcome: Outcome = Outcome.FINISHED) -> None:
    begin(board, trial_key)
    board.progressed(trial_key, 10, error)
    board.ended(trial_key, outcome, "")


def test_the_best_arm_has_the_lowest_mean_not_the_luckiest_seed(scene: Scene) -> None:
    for index, error in ((0, 0.3), (1, 0.1), (2, 0.3)):
        finish(scene.board, scene.keys[index], error)
    assert scene.board.best == BestArm(pytest.approx(0.3), "base", 2, 2), "other has one seed"
    finish(scene.board, scene.keys[3], 0.7)
    assert scene.board.best == BestArm(pytest.approx(0.3), "base", 2, 2)
    line = summary(scene.board, "example")
    assert "best validation error 30.00 % (base, mean of 2 seeds)" in line


def test_a_trial_that_diverged_is_not_the_best(scene: Scene) -> None:
    finish(scene.board, scene.keys[0], 0.3)
    finish(scene.board, scene.keys[2], 0.1, Outcome.DIVERGED)
    assert scene.board.best is None, "one seed of two may be a lucky one"


def test_trials_of_before_the_launch_count_for_the_best(log: SweepLog) -> None:
    cells = manifest(arms=("base", "other")).cells
    errors = (0.1, 0.3, 0.1, 0.3)
    done = [
        SurveyedCell(cell, CellState.RECORDED, 10, validation_error=error)
        for cell, error in zip(cells, errors, strict=True)
    ]
    assert Board(done, {"base": 10, "other": 10}, log).best == BestArm(0.1, "base", 2, 2)
    added = Board([], {}, log)
    added.add(done[2:], {})
    assert added.best == BestArm(0.1, "base", 1, 1)


def test_fresh_seeds_alone_count_once_all_of_them_have_ended(scene: Scene) -> None:
    scene.board.fresh_seeds = frozenset({1})
    finish(scene.board, scene.keys[0], 0.1)
    finish(scene.board, scene.keys[1], 0.2)
    finish(scene.board, scene.keys[3], 0.05)
    assert scene.board.best == BestArm(0.1, "base", 1, 1), "a fresh seed is still to come"
    finish(scene.board, scene.keys[2], 0.4)
    assert scene.board.best == BestArm(0.05, "other", 1, 1)


def test_the_time_left_does_not_grow_during_a_retry_nor_by_it(scene: Scene) -> None:
    key = scene.keys[2]
    begin(scene.board, key)
    scene.train(2, range(1, 7))
    before = scene.board.remaining_seconds()
    scene.board.restarted(key, "its process was killed")
    scene.watch.now += 300.0
    assert scene.board.remaining_seconds() == before
    begin(scene.board, key)
    scene.watch.now += 100.0
    scene.train(2, range(7, 8))
    assert before is not None
    assert scene.board.remaining_seconds() == pytest.approx(before - 2.0)


def test_the_rest_is_estimated_from_the_pace_so_far(scene: Scene) -> None:
    begin(scene.board, scene.keys[1])
    assert scene.board.remaining_seconds() is None
    scene.train(1, range(5, 11))
    assert scene.board.remaining_seconds() == pytest.approx(20 * 2.0)


def test_epochs_that_will_never_run_are_not_waited_for(scene: Scene) -> None:
    begin(scene.board, scene.keys[1])
    scene.train(1, range(5, 11))
    scene.board.ended(scene.keys[1], Outcome.FINISHED, "")
    for index, outcome in ((2, Outcome.FAILED), (3, Outcome.DIVERGED)):
        begin(scene.board, scene.keys[index])
        scene.train(index, range(1, 2))
        scene.board.ended(scene.keys[index], outcome, "")
    assert scene.board.remaining_seconds() == 0.0
    assert "left" not in summary(scene.board, "example")


def test_cells_that_another_sweep_filled_are_not_waited_for(scene: Scene) -> None:
    begin(scene.board, scene.keys[1])
    scene.train(1, range(5, 11))
    for key in scene.keys[2:]:
        scene.board.ended(key, Outcome.FINISHED, "")
    assert scene.board.remaining_seconds() == 0.0


def test_a_restarted_trial_counts_the_epochs_it_has_left(scene: Scene) -> None:
    begin(scene.board, scene.keys[2])
    scene.train(2, range(1, 7))
    scene.board.restarted(scene.keys[2], "its process was killed")
    begin(scene.board, scene.keys[2])
    assert scene.board.remaining_seconds() == pytest.approx((6 + 4 + 10) * 2.0)


def test_the_log_says_what_happened_to_a_trial(scene: Scene, tmp_path: Path) -> None:
    key = scene.keys[2]
    begin(scene.board, key)
    scene.board.restarted(key, "its process was killed, 1 times so far")
    begin(scene.board, key)
    scene.board.ended(key, Outcome.FAILED, 'it\'s "no"')
    entries = stored_entries(tmp_path / "journals", "example")
    noted = [entry for entry in entries if isinstance(entry, TrialNoted) and entry.trial_key == key]
    assert [(entry.event, entry.detail) for entry in noted] == [
        ("dispatched", ""),
        ("started", ""),
        ("restarted", "its process was killed, 1 times so far"),
        ("dispatched", ""),
        ("started", ""),
        ("failed", 'it\'s "no"'),
    ]


def test_the_log_tells_a_killed_launch_from_one_that_ended(tmp_path: Path) -> None:
    assert last_launch(tmp_path, "example") is None
    SweepLog(tmp_path, "example").start_launch(3)
    first = last_launch(tmp_path, "example")
    log = SweepLog(tmp_path, "example")
    log.start_launch(2)
    log.end_launch(3)
    second = last_launch(tmp_path, "example")
    assert first
    assert second
    assert (first.ended, first.exit_code, first.num_cells) == (None, None, 3)
    assert (second.exit_code, second.num_cells) == (3, 2)
    assert second.ended is not None
    assert second.ended >= second.started >= first.started


def rendered(board: Board) -> str:
    console = Console(file=io.StringIO(), width=200, force_terminal=False, color_system=None)
    console.print(render(board, "example"))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_live_table_shows_trials_and_failures(scene: Scene) -> None:
    begin(scene.board, scene.keys[1])
    scene.board.progressed(scene.keys[1], 5, 0.125)
    scene.board.ended(scene.keys[3], Outcome.FAILED, "ValueError: no")
    shown = rendered(scene.board)
    assert "other" in shown
    assert "5/10" in shown
    assert "12.50 %" in shown
    assert "failed: other, seed 1: ValueError: no" in shown


def test_hostile_names_neither_mark_up_nor_command_the_terminal(log: SweepLog) -> None:
    scene = Scene(log, ("base", HOSTILE))
    begin(scene.board, scene.keys[1])
    scene.board.progressed(scene.keys[1], 10, 0.5)
    scene.board.ended(scene.keys[3], Outcome.FAILED, HOSTILE)
    scene.board.fresh_seeds = frozenset({1})
    for shown in (rendered(scene.board), summary(scene.board, "example")):
        assert not set(shown) & set("\x1b\x07\r")
    assert rendered(scene.board).count("[red]") == 3, "twice in the failure, once in the table"
    scene.board.ended(scene.keys[1], Outcome.FINISHED, "")
    assert "\n" not in summary(scene.board, "example")
    assert "[red]" in summary(scene.board, "example")


def test_without_a_terminal_lines_come_now_and_then(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LINE_SECONDS", 0.01)
    out = io.StringIO()
    with show_in_terminal(scene.board, "example", out):
        begin(scene.board, scene.keys[1])
        while "1 running" not in out.getvalue():
            pass
    lines = out.getvalue().splitlines()
    assert all(line.startswith("example: 1 of 4 cells done") for line in lines)
    assert "\x1b" not in out.getvalue()


def test_without_a_terminal_what_was_said_last_is_told_at_the_end(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LINE_SECONDS", 1e6)
    out = io.StringIO()
    with show_in_terminal(scene.board, "example", out):
        begin(scene.board, scene.keys[1])
        scene.board.say("Ray was lost.")
    first, last = out.getvalue().splitlines()
    assert first == "example: Ray was lost."
    assert last.startswith("example: 1 of 4 cells done")


OWN_TERMINAL = """
import os, sys
from pathlib import Path
from sweeps.execution.view.live_view import output_to_log
try:
    with output_to_log(Path(sys.argv[1])) as terminal:
        os.write(1, b"noise on 1\\n")
        os.system("echo noise of a child; echo more >&2")
        print("printed", flush=True)
        terminal.write("for the person\\n")
        if len(sys.argv) > 2:
            raise RuntimeError
except RuntimeError:
    pass
os.write(1, b"after on 1\\n")
os.write(2, b"after on 2\\n")
print(sorted(os.listdir("/proc/self/fd") if sys.platform == "linux" else []), flush=True)
"""


@pytest.mark.parametrize("how", [(), ("raise",)])
def test_the_terminal_is_given_back(tmp_path: Path, how: tuple[str, ...]) -> None:
    log = tmp_path / "logs" / "x.log"
    plain = "import os; print(sorted(os.listdir('/proc/self/fd')))"
    done, before = (
        subprocess.run([sys.executable, "-c", *argv], capture_output=True, text=True, check=True)
        for argv in ((OWN_TERMINAL, str(log), *how), (plain,))
    )
    first, second, descriptors = done.stdout.splitlines()
    assert (first, second) == ("for the person", "after on 1")
    assert done.stderr == "after on 2\n"
    assert descriptors == before.stdout.strip(), "no descriptor is left open"
    assert sorted(log.read_text().splitlines()) == [
        "more",
        "noise of a child",
        "noise on 1",
        "printed",
    ]
    (log.parent / "other").touch()
    modes = [path.stat().st_mode for path in log.parent.iterdir()]
    assert modes[0] == modes[1], "the umask says who may read it"


def test_a_stall_is_reported_once(tmp_path: Path, scene: Scene) -> None:
    storage = Storage(tmp_path)
    watch = StallWatch(storage, scene.board)
    for key in scene.keys[1:3]:
        begin(scene.board, key)
    stats = CellFolder(storage.cells, scene.keys[1]).stats
    stats.path.parent.mkdir(parents=True)
    for seconds in (0, 62, 70):
        stats.note_line("mine.py, line 3: time.sleep(9)", seconds)
        watch.look()
    place = "the trial is at mine.py, line 3: time.sleep(9)"
    assert scene.board.said == [f"other, seed 0: no batch has ended for 62 s: {place}"]
