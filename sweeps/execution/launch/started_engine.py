"""Ray started, with the live view before it and the handlers of signals after it."""

from contextlib import ExitStack
from pathlib import Path

from sweeps.execution.driver.board import Board
from sweeps.execution.driver.interruption import listen
from sweeps.execution.driver.live_view import own_terminal, showing
from sweeps.execution.driver.survey import Plan
from sweeps.execution.engine.ray_session import ray_session
from sweeps.execution.engine.scheduling import Resources, num_concurrent


def start_engine(engine: ExitStack, plan: Plan, resources: Resources, board: Board) -> Path:
    """Start Ray before anything is written, so that a cluster that is away costs nothing.

    Args:
        engine: Ends what is started here when it is closed.
        plan: What the launch does.
        resources: What each trial is given.
        board: Shown from now on.

    Returns:
        A scratch folder that goes with it.

    Raises:
        BadInput: If it cannot be started or joined, or no trial fits.
    """
    terminal = engine.enter_context(own_terminal(plan.storage.logs / f"{plan.name}.log"))
    engine.enter_context(showing(board, plan.name, terminal))
    scratch = engine.enter_context(ray_session(resources.address))
    listen()
    num_concurrent(resources)  # refuses trials that fit nowhere
    return scratch
