"""Launching from Python: `sweeps.plan` and `sweeps.run` do what the commands do."""

from typing import TYPE_CHECKING, Unpack

from sweeps.execution.driver.interruption import interrupted_afterwards
from sweeps.execution.driver.options import LaunchArguments, options_of
from sweeps.execution.driver.result import SweepResult
from sweeps.execution.engine.capacity import capacity_of
from sweeps.execution.launch.starting.early_engine import early_engine

if TYPE_CHECKING:  # what a launch needs loads torch
    from sweeps.execution.driver.survey import Survey
    from sweeps.execution.plan.definition import Launchable


def plan(sweep: "Launchable", **options: Unpack[LaunchArguments]) -> "Survey":
    """Say what a launch would do, and write nothing.

    Args:
        sweep: A named sweep, the path of a file that defines one as `SWEEP`, or a sweep.
        **options: As of `run`.

    Raises:
        sweeps.BadInput: In one sentence, if it cannot be launched.
        sweeps.StoreUnreachable: If the tracking store does not answer.
    """
    from sweeps.execution.launch.surveying import survey_of

    checked = options_of(options)
    return survey_of(sweep, checked, capacity_of(checked.resources))


def run(sweep: "Launchable", **options: Unpack[LaunchArguments]) -> SweepResult:
    """Train the cells of a sweep that are empty, record them, and rebuild its table.

    The same call again trains nothing that is there, and goes on with what was interrupted.

    Args:
        sweep: A named sweep, the path of a file that defines one as `SWEEP`, or a sweep.
        **options: See `LaunchOptions`: seeds, epochs, settings, storage and others.

    Returns:
        How it ended. An interruption is told by its exit code, 130, not raised.

    Raises:
        sweeps.BadInput: In one sentence, if it cannot be launched. Nothing was written.
        sweeps.StoreUnreachable: If the tracking store does not answer at the start.
    """
    checked = options_of(options)
    with early_engine(sweep, checked) as begun:
        with interrupted_afterwards():
            from sweeps.execution.engine.policies import Policies
            from sweeps.execution.launch.launch import launch

        return launch(sweep, checked, Policies(begun=begun))
