"""What a person sees while a sweep runs: one calm table, or plain lines without a terminal.

Ray and its processes print to the terminal's descriptors. While they run those point at a log file,
and the view writes to a copy of the terminal.
"""

import io
import math
import os
import sys
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from capsmodel.metrics import VALIDATION_ERROR
from capsmodel.spelling import short_names
from sweeps.execution.interruption import on_forced_exit
from sweeps.execution.periodic import every
from sweeps.execution.view.board import BestArm, Board, RunningTrial
from sweeps.records.plain_text import duration_text
from sweeps.storage.folder import in_storage

_STEPS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
LINE_SECONDS = 10.0
REDRAWS_A_SECOND = 2
VIEW_VARIABLE = "CAPSWEEP_LIVE_VIEW"
_FILE_WIDTH = 100
_FILE_SECONDS = 1.0
_MOST_TRIALS = 20


def bar(share: float, width: int = 30) -> str:
    """Return a bar that is filled to a share from 0 to 1, to an eighth of a letter."""
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    full, rest = divmod(eighths, 8)
    return ("█" * full + _EIGHTHS[rest] * bool(rest)).ljust(width, "░")


def sparkline(values: Sequence[float], width: int = 16) -> str:
    """Return a curve in one line: its lowest value at the bottom, its highest at the top.

    With more values than letters, each letter shows the last value of its share. A value that is
    not finite is a cross; a flat curve lies at the bottom.
    """
    num = min(len(values), width)
    shown = [values[(place + 1) * len(values) // num - 1] for place in range(num)]
    numbers = [value for value in shown if math.isfinite(value)]
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)
    span = high - low or 1.0
    return "".join(
        _STEPS[round((len(_STEPS) - 1) * (value - low) / span)] if math.isfinite(value) else "x"
        for value in shown
    )


def settings_text(changes: Mapping[str, Any]) -> str:
    """Return settings by their short names: `routing dynamic, learning_rate 0.0884`."""
    names = short_names([*changes])
    return ", ".join(
        f"{names[path]} {f'{value:.3g}' if isinstance(value, float) else value}"
        for path, value in changes.items()
    )


_GONE = (OSError, ValueError, SystemExit)  # rich raises the last for a closed pipe


@contextmanager
def output_to_log(log: Path) -> Generator[TextIO]:
    """Redirect descriptors 1 and 2 to a log file. Yields a stream to where `print` wrote before.

    That is standard error where standard output is reserved for the result.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    descriptor = in_storage(log.parent).make().append(log.name)
    saved = [os.dup(1), os.dup(2)]

    def give_back() -> None:
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)

    try:
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        with on_forced_exit(give_back), _written_to(saved) as terminal:
            yield terminal
    finally:
        give_back()
        for copy in (*saved, descriptor):
            os.close(copy)


@contextmanager
def _written_to(saved: Sequence[int]) -> Generator[TextIO]:
    """Yield a stream to the one of two saved descriptors that `print` wrote to before."""
    written = _written_descriptor()
    if written is None:
        yield sys.stdout
        return
    terminal = os.fdopen(os.dup(saved[written - 1]), "w", buffering=1, encoding="utf-8")
    try:
        yield terminal
    finally:
        with suppress(*_GONE):
            terminal.close()


@contextmanager
def show_in_terminal(board: Board, title: str, terminal: TextIO) -> Generator[None]:
    """Show a board while the block runs: a live table on a terminal, else a line now and then.

    A closed terminal or pipe ends the view, not the block.
    """
    console = Console(file=terminal, soft_wrap=not terminal.isatty(), emoji=False)
    if not console.is_terminal:
        with show_lines(board, title, terminal), _shown_in_file(board, title):
            yield
        return
    view = Live(
        get_renderable=lambda: render(board, title),
        console=console,
        refresh_per_second=REDRAWS_A_SECOND,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with suppress(*_GONE):
        view.start()
    try:
        with on_forced_exit(lambda: _leave_sound(terminal)):
            yield
    finally:
        with suppress(*_GONE):
            view.stop()


def _leave_sound(terminal: TextIO) -> None:
    """Show the cursor, on a new line below the live table."""
    os.write(terminal.fileno(), b"\r\n\x1b[?25h")


@contextmanager
def _shown_in_file(board: Board, title: str) -> Generator[None]:
    """Write the live view into the file that the environment names, for readers elsewhere."""
    if not (name := os.environ.get(VIEW_VARIABLE)):
        yield
        return
    folder, file = in_storage(Path(name).parent), Path(name).name

    def write() -> None:
        text = io.StringIO()
        Console(file=text, width=_FILE_WIDTH, emoji=False).print(render(board, title))
        with suppress(OSError):  # the next one may succeed
            folder.write(file, text.getvalue().encode())

    try:
        with every(_FILE_SECONDS, write):
            yield
    finally:
        folder.remove(file)


@contextmanager
def show_lines(board: Board, title: str, terminal: TextIO) -> Generator[None]:
    """Show a board while the block runs: a line now and then, and what is said."""
    lines = _Lines(board, title, terminal)
    try:
        with every(LINE_SECONDS, lines.tell):
            yield
    finally:
        lines.tell_new()
        if board.has_started:
            _write(terminal, summary(board, title))


def render(board: Board, title: str) -> Group:
    """Return the live view: counts, a bar with the pace, the best trial, then dispatched ones."""
    running = board.snapshot()
    lines = [Text(_counts(board, title), style="bold"), Text(_pace(board))]
    if best := board.best:
        changes = settings_text(board.changes.get(best.arm, {}))
        lines.append(Text(_one_line(f"best {_best(best)}{': ' * bool(changes)}{changes}")))
    lines += [Text(_one_line(sentence)) for sentence in board.said[-3:]]
    lines += [
        Text(_one_line(f"failed: {arm}, seed {seed}: {why}"))
        for arm, seed, why in board.failures[-3:]
    ]
    if len(running) > _MOST_TRIALS:
        lines.append(Text(f"{_MOST_TRIALS} of {len(running)} trials:"))
    return Group(*lines, _trials(running[:_MOST_TRIALS])) if running else Group(*lines)


def _trials(running: Sequence[RunningTrial]) -> Table:
    """Return one row per trial, with its curve of validation errors."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("arm", "seed", "epoch", "validation error", "its curve"):
        number = heading not in {"arm", "its curve"}
        table.add_column(heading, justify="right" if number else "left", no_wrap=True)
    for trial in running:
        table.add_row(
            escape(_one_line(trial.cell.arm)),
            str(trial.cell.seed),
            progress_text(trial),
            standing(trial),
            sparkline(trial.errors),
        )
    return table


def progress_text(trial: RunningTrial) -> str:
    """Return the epochs that are trained, "3/8", or then the evaluations made, "1 of 2"."""
    if trial.is_evaluating:
        return f"evaluating, {trial.num_evaluated} of {trial.num_evaluations}"
    return f"{trial.epoch}/{trial.num_epochs}"


def standing(trial: RunningTrial) -> str:
    """Return a trial's validation error, or what it does before it has one."""
    if trial.validation_error is not None:
        return VALIDATION_ERROR.written(trial.validation_error)
    return "pending" if trial.is_pending else "starts"


def _pace(board: Board) -> str:
    """Return the bar and the pace, or what happens before there is one."""
    parts = [bar(board.share_done)]
    if board.doing:
        parts.append(f"{board.doing}, {duration_text(board.clock() - board.doing_since)}")
    elif (trials := board.snapshot()) and all(trial.is_pending for trial in trials):
        parts.append("waiting for room on a machine")
    elif trials and all(trial.validation_error is None for trial in trials):
        parts.append("waiting for the first epoch")
    per_epoch = board.seconds_an_epoch()
    if per_epoch:
        parts.append(f"{3600 / per_epoch:,.0f} epochs an hour")
    return _one_line("  ".join(parts))


def summary(board: Board, title: str) -> str:
    """Return the progress with the best arm in one line."""
    best = board.best
    return _counts(board, title, *([_one_line(f"best {_best(best)}")] if best else []))


def _best(best: BestArm) -> str:
    """Return the best arm with its mean error: "validation error 0.44 % (wide)"."""
    seeds = f"{best.num_planned} seeds"
    if best.num_finished < best.num_planned:
        seeds = f"{best.num_finished} of {seeds}"
    mean = f", mean of {seeds}" * (best.num_planned > 1)
    return f"validation error {VALIDATION_ERROR.written(best.error)} ({best.arm}{mean})"


def _counts(board: Board, title: str, *more: str) -> str:
    """Return the progress in one line, with more before the times."""
    parts = [f"{title}: {board.num_filled + board.num_done} of {board.num_cells} cells done"]
    parts.append("stopping" if board.is_stopping else _doing(board))
    for epoch, count in sorted(Counter(board.waiting.values()).items()):
        parts.append(f"{count} {'waits' if count == 1 else 'wait'} at epoch {epoch}")
    if board.failures:
        parts.append(f"{len(board.failures)} failed")
    if board.num_diverged:
        parts.append(f"{board.num_diverged} diverged")
    if board.num_pruned:
        parts.append(f"{board.num_pruned} stopped early")
    if board.num_restarts:
        parts.append(f"{board.num_restarts} restarted")
    parts += more
    parts.append(f"{duration_text(board.elapsed_seconds)} elapsed")
    remaining = board.remaining_seconds()
    is_awaited = board.running or (remaining or 0) > 1
    if remaining is not None and is_awaited and not board.is_stopping:
        of_what = " of training" * (board.evaluation_seconds() is None)
        parts.append(f"about {duration_text(remaining)}{of_what} left")
    return _one_line(", ".join(parts))


def _doing(board: Board) -> str:
    """Return what happens now, how many trials are evaluated, and how many wait for a process."""
    trials = board.snapshot()
    num_pending = sum(trial.is_pending for trial in trials)
    num_evaluating = sum(trial.is_evaluating for trial in trials)
    num_running = len(trials) - num_pending - num_evaluating
    counts = {"running": num_running, "evaluating": num_evaluating, "pending": num_pending}
    if board.doing or (num_evaluating and not num_running):
        del counts["running"]
    now = [f"{count} {state}" for state, count in counts.items() if count or state == "running"]
    return ", ".join([board.doing] * bool(board.doing) + now)


def print_line(text: str) -> None:
    """Print a line about the progress of a launch; a closed terminal or pipe is no error."""
    _write(sys.stdout, _one_line(text))


def _one_line(text: str) -> str:
    """Replace line ends and control characters by spaces."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _written_descriptor() -> int | None:
    """Return which of the two `print` writes to, None in a notebook, where it is neither."""
    try:
        written = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return None
    return written if written in {1, 2} else None


class _Lines:
    """Prints what a board says: each new sentence on a line, and the progress if it changed."""

    def __init__(self, board: Board, title: str, terminal: TextIO) -> None:
        self._board = board
        self._title = title
        self._terminal = terminal
        self._num_written = 0
        self._num_failures = 0
        self._last = ""

    def tell(self) -> None:
        self.tell_new()
        line = summary(self._board, self._title)
        if line != self._last:
            _write(self._terminal, line)
        self._last = line

    def tell_new(self) -> None:
        new = self._board.said[self._num_written :]
        self._num_written += len(new)
        for sentence in new:
            _write(self._terminal, _one_line(f"{self._title}: {sentence}"))
        failures = self._board.failures[self._num_failures :]
        self._num_failures += len(failures)
        for arm, seed, why in failures:
            _write(self._terminal, _one_line(f"{self._title}: failed: {arm}, seed {seed}: {why}"))


def _write(terminal: TextIO, line: str) -> None:
    with suppress(*_GONE):
        terminal.write(line + "\n")
        terminal.flush()
