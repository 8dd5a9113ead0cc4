"""Commands that survey a launch, or make one."""

import os
import sys
from typing import TYPE_CHECKING, cast

import typer

from sweeps.cli.command_words import again, program, where
from sweeps.cli.launch_words import RUN_ALONE, launching
from sweeps.cli.options import EffectOption, PowerOption, WriteOption
from sweeps.cli.program.speech import progress_as_asked
from sweeps.cli.terminal import complain

if TYPE_CHECKING:
    from sweeps.execution.driver.options import LaunchArguments
    from sweeps.execution.driver.result import SweepResult


@launching(without=RUN_ALONE)
def plan(
    sweep: str,
    options: "LaunchArguments",
    effect: EffectOption = None,
    power: PowerOption = None,
    write: WriteOption = False,
) -> None:
    """Say what `run` would do: cells there, cells to train and why, and an estimate."""
    if effect is not None or power is not None or write:
        from sweeps.cli.seed_planning import told_seeds

        told_seeds(sweep, options, effect, power, write=write)
        return
    from sweeps.cli.printing.plan import print_plan
    from sweeps.execution.launch.run import plan as plan_launch

    print_plan(plan_launch(sweep, **options))


@launching()
def run(sweep: str, options: "LaunchArguments") -> None:
    """Train the cells that are empty, record them in MLflow, rebuild the table."""
    from sweeps.cli.printing.result import print_result

    result = _launched(sweep, options)
    place = cast("str | None", options.get("storage")), options.get("tracking_uri")
    print_result(result, again(), program(), where(*place))
    _leave(result.exit_code)


def _launched(sweep: str, options: "LaunchArguments") -> "SweepResult":
    from sweeps.execution.launch.run import run as run_launch

    try:
        with progress_as_asked():
            return run_launch(sweep, **options)
    except KeyboardInterrupt:
        complain("interrupted before anything was started.")
        raise typer.Exit(130) from None


def _leave(code: int) -> None:
    """Leave with a launch's exit code.

    An interrupted one leaves without the second that Python takes to unload torch and ray.
    """
    if code == 130:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise typer.Exit(code)
