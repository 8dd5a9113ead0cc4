"""Cells trained by the engine, until none are left, time is up, or somebody interrupts."""

from sweeps.execution.driver.interruption import end_after, end_never
from sweeps.execution.driver.launch_guards import looked_after
from sweeps.execution.driver.view.board import Board
from sweeps.execution.driver.view.disk_watch import DiskWatch
from sweeps.execution.engine.cell_queue import CellQueue
from sweeps.execution.engine.engine import CannotGoOn, Engine
from sweeps.execution.recorder.client import RecorderClient
from sweeps.storage.locations import Storage


def train(
    queue: CellQueue,
    engine: Engine,
    board: Board,
    recorder: RecorderClient,
    storage: Storage,
    time_limit_seconds: float | None,
) -> str:
    """Train every cell that there is to train.

    Args:
        queue: Hands those out, and hears what becomes of them.
        engine: Trains them.
        board: Shows when it is interrupted.
        recorder: Kept alive meanwhile.
        storage: Whose disk is looked at meanwhile.
        time_limit_seconds: Interrupts it after so long.

    Returns:
        Why training ended before all was trained, "" where it did not.

    Raises:
        KeyboardInterrupt: If it is interrupted, or its time is up.
    """
    if time_limit_seconds:
        end_after(time_limit_seconds)
    try:
        with looked_after(recorder.keep_alive, DiskWatch(storage, board).look):
            engine.run(orders=queue, events=queue)
    except CannotGoOn as error:
        return str(error)
    except KeyboardInterrupt:
        board.is_stopping = True
        raise
    finally:
        end_never()
    return ""
