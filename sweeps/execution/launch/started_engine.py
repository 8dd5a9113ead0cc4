"""The engine started, with the live view before it and the handlers of signals after it."""

from contextlib import ExitStack

from sweeps.execution.driver.board import Board, empty_cells
from sweeps.execution.driver.interruption import listen
from sweeps.execution.driver.live_view import own_terminal, showing
from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import Survey
from sweeps.execution.engine.capacity import Room
from sweeps.execution.engine.engine import Engine
from sweeps.execution.engine.ray_session import ray_session
from sweeps.execution.engine.tune_engine import TuneEngine


def start_engine(
    running: ExitStack, survey: Survey, options: LaunchOptions, room: Room, board: Board
) -> Engine:
    """Start Ray before anything is written, so that a cluster that is away costs nothing.

    Args:
        running: Ends what is started here when it is closed.
        survey: What the launch has to do.
        options: Of the launch.
        room: Says how many trials run at once.
        board: Shown from now on.

    Raises:
        BadInput: If it cannot be started or joined, or no trial fits.
    """
    terminal = running.enter_context(own_terminal(survey.storage.logs / f"{survey.name}.log"))
    running.enter_context(showing(board, survey.name, terminal))
    scratch = running.enter_context(ray_session(options.address))
    listen()
    arms = {empty.cell.arm for empty in empty_cells(survey.cells)}
    configs = [arm.config for arm in survey.definition.manifest.arms if arm.name in arms]
    return TuneEngine(room.capacity(configs).num_concurrent, scratch)
