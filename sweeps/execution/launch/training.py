"""Cells trained by the engine, until none are left, time is up, or somebody interrupts."""

from pathlib import Path

from sweeps.execution.driver.board import Board
from sweeps.execution.driver.interruption import end_after, end_never
from sweeps.execution.driver.launch_guards import kept_alive
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.engine.cell_queue import CellQueue, Plan
from sweeps.execution.engine.scheduling import run_cells
from sweeps.execution.recorder.client import RecorderClient


def train(
    cells: Plan, board: Board, recorder: RecorderClient, options: LaunchOptions, scratch: Path
) -> None:
    """Train every cell that there is to train.

    Args:
        cells: Which those are.
        board: Hears how it goes.
        recorder: Kept alive meanwhile.
        options: Of the launch.
        scratch: Folder for what the engine keeps.

    Raises:
        KeyboardInterrupt: If it is interrupted, or its time is up.
    """
    if options.time_limit_seconds:
        end_after(options.time_limit_seconds)
    try:
        with kept_alive(recorder):
            run_cells(CellQueue(cells, board), board, options.resources, scratch)
    except KeyboardInterrupt:
        board.is_stopping = True
        raise
    end_never()
