"""The progress of a launch in a notebook: one display, updated in place."""

import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TextIO

from sweeps.aggregation.rendering.notebook_pieces import Grid, Shown, block, line
from sweeps.execution.periodic import every
from sweeps.execution.view.board import Board, RunningTrial
from sweeps.execution.view.live_view import progress_text, show_in_terminal, standing, summary

UPDATE_SECONDS = 1.0
_MOST_TRIALS = 20
_HEADINGS = ("arm", "seed", "epoch", "validation error")


def show_progress(board: Board, title: str, terminal: TextIO) -> AbstractContextManager[None]:
    """Show a board while the block runs, in a notebook if this is one, else in the terminal."""
    displays = notebook()
    return (
        show_in_notebook(displays, board, title)
        if displays
        else show_in_terminal(board, title, terminal)
    )


def notebook() -> Any:
    """Return IPython's display module in a notebook's kernel, None anywhere else.

    IPython is not imported for it; its shell in a terminal has no kernel.
    """
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if hasattr(ipython, "get_ipython") else None
    if getattr(shell, "kernel", None) is None:
        return None
    return ipython.display


@contextmanager
def show_in_notebook(displays: Any, board: Board, title: str) -> Generator[None]:
    """Show a board while the block runs in a display that is updated, at the end once more.

    Args:
        displays: The module that `notebook` returns.
        board: What is shown.
        title: What is launched.
    """
    handle = displays.display(_bundle(board, title), raw=True, display_id=True)

    def update() -> None:
        handle.update(_bundle(board, title), raw=True)

    try:
        with every(UPDATE_SECONDS, update):
            yield
    finally:
        update()


def board_html(board: Board, title: str) -> str:
    """Return a board as small, escaped HTML: counts, a bar, and the dispatched trials."""
    done = min(board.num_filled + board.num_done, board.num_cells)
    bar = f'<progress value="{done}" max="{max(1, board.num_cells)}"></progress>'
    rows = [[Shown(text) for text in _row(trial)] for trial in board.snapshot()[:_MOST_TRIALS]]
    grid = Grid(_HEADINGS, rows, (1, 2, 3)).html if rows else ""
    failed = (f"failed: {arm}, seed {seed}: {why}" for arm, seed, why in board.failures[-3:])
    lines = map(line, (*board.said[-3:], *failed))
    return block(summary(board, title), f"<div>{bar}</div>", *lines, grid)


def _row(trial: RunningTrial) -> tuple[str, ...]:
    cell = trial.cell
    return cell.arm, str(cell.seed), progress_text(trial), standing(trial)


def _bundle(board: Board, title: str) -> dict[str, str]:
    return {"text/plain": summary(board, title), "text/html": board_html(board, title)}
