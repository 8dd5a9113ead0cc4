"""The engine started, with the live view before it."""

from contextlib import ExitStack
from typing import NamedTuple

from sweeps.execution.driver.options import LaunchOptions
from sweeps.execution.driver.survey import Survey
from sweeps.execution.driver.view.board import Board, empty_cells
from sweeps.execution.driver.view.live_view import own_terminal
from sweeps.execution.driver.view.notebook_view import showing_here
from sweeps.execution.engine.capacity import Room
from sweeps.execution.engine.engine import Engine
from sweeps.execution.engine.policies import Policies
from sweeps.execution.engine.process.ray_engine import RayEngine
from sweeps.tracking.opening import load_writer


class StartedEngine(NamedTuple):
    """An engine, and the room that its machines have."""

    engine: Engine
    room: Room


def start_engine(
    running: ExitStack, survey: Survey, options: LaunchOptions, policies: Policies, board: Board
) -> StartedEngine:
    """Start Ray before anything is written, so that a cluster that is away costs nothing.

    Args:
        running: Ends what is started here when it is closed.
        survey: What the launch has to do.
        options: Of the launch.
        policies: Say how many trials run at once, and hand over one that has begun, if any.
        board: Shown from now on.

    Raises:
        BadInput: If it cannot be started or joined, or no trial fits.
    """
    log = survey.storage.logs / f"{survey.name}.log"
    terminal = running.enter_context(own_terminal(log))
    running.enter_context(showing_here(board, survey.name, terminal))
    board.say_now("starting Ray")
    load_writer(survey.store)  # meanwhile
    empty, manifest = empty_cells(survey.cells), survey.definition.manifest
    arms = {one.cell.arm for one in empty}
    configs = [arm.config for arm in manifest.arms if arm.name in arms]
    num_ready = None
    if options.address is None:
        num_ready = policies.room(options.resources).capacity(configs).num_concurrent
        num_ready = num_ready if manifest.is_growing else min(num_ready, len(empty))
    if engine := policies.begun:
        engine.adopt(log, board.say)
    else:
        engine = RayEngine(options.address, log, board.say, num_ready=num_ready)
    running.enter_context(engine)
    board.say_now("")
    room = policies.room(options.resources, lambda: engine.machines)
    engine.num_concurrent = room.capacity(configs).num_concurrent
    return StartedEngine(engine, room)
