"""Cells trained by the engine, until none are left, time or budget is up, or by a signal."""

from contextlib import suppress

from sweeps.aggregation.rendering.libraries import load_libraries
from sweeps.execution.driver.interruption import Interrupted, end_after, end_never
from sweeps.execution.driver.launch_guards import looked_after
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.view.board import Board
from sweeps.execution.driver.view.disk_watch import DiskWatch
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.engine import CannotGoOn, Engine
from sweeps.execution.engine.epoch_budget import EpochBudget
from sweeps.execution.launch.progress import Progress
from sweeps.execution.recorder.client import RecorderClient


def train(
    queue: CellQueue,
    engine: Engine,
    board: Board,
    recorder: RecorderClient,
    progress: Progress,
    options: LaunchOptions,
) -> None:
    """Train every cell that there is to train.

    Args:
        queue: Hands those out, and hears what becomes of them.
        engine: Trains them.
        board: Shows when it is interrupted.
        recorder: Kept alive meanwhile.
        progress: Of the launch: hears why training ended before all was trained.
        options: Of the launch: its time limit, and its budget of epochs.

    Raises:
        KeyboardInterrupt: If it is interrupted, its time is up, or its budget is spent before all
            cells are filled.
    """
    budget = EpochBudget(queue, options.budget_epochs)
    if options.time_limit_seconds:
        end_after(options.time_limit_seconds)
    try:
        disk = DiskWatch(progress.survey.storage, board)
        with looked_after(recorder.keep_alive, disk.look, lambda: load_for_report(board)):
            engine.run(orders=budget, events=budget)
    except CannotGoOn as error:
        progress.broken_off = str(error)
        return
    except KeyboardInterrupt:
        board.is_stopping = True
        raise
    finally:
        end_never()
    if budget.is_spent and progress.num_left:
        progress.broken_off = budget.words
        raise Interrupted


def load_for_report(board: Board) -> None:
    """Load what the report will take, once a trial has ended: before, processes are to start.

    What cannot be loaded the report itself complains of.
    """
    if board.num_done:
        with suppress(ImportError):
            load_libraries()
