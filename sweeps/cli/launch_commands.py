"""Commands that survey a launch, or make one."""

import os
import sys
from typing import TYPE_CHECKING, cast

import typer

from sweeps.cli.answers.text import JsonOption, answer, refuse, tell_at_once
from sweeps.cli.command_words import again, program, where
from sweeps.cli.launch_words import RUN_ALONE, launching
from sweeps.cli.options import EffectOption, PowerOption, WriteOption
from sweeps.cli.program.speech import progress_as_asked

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
    as_json: JsonOption = False,
) -> None:
    """Say what `run` would do: cells there, cells to train and why, and an estimate."""
    if effect is not None or power is not None or write:
        from sweeps.cli.seed_planning import told_seeds

        told_seeds(sweep, options, effect, power, write=write, as_json=as_json)
        return
    from sweeps.execution.launch.run import plan as plan_launch

    survey = plan_launch(sweep, **options)
    if as_json:
        from sweeps.cli.answers.launches import plan_answer

        answer(plan_answer(survey))
        return
    from sweeps.cli.printing.plan import print_plan

    print_plan(survey)


@launching()
def run(sweep: str, options: "LaunchArguments", as_json: JsonOption = False) -> None:
    """Train the cells that are empty, record them in MLflow, rebuild the table."""
    result = _launched(sweep, options, is_apart=as_json)
    if as_json:
        from sweeps.cli.answers.launches import run_answer

        answer(run_answer(result, again()))
    else:
        from sweeps.cli.printing.result import print_result

        place = cast("str | None", options.get("storage")), options.get("tracking_uri")
        print_result(result, again(), program(), where(*place))
    _leave(result.exit_code)


def _launched(sweep: str, options: "LaunchArguments", *, is_apart: bool) -> "SweepResult":
    from sweeps.execution.driver.interruption import acting_last
    from sweeps.execution.launch.run import run as run_launch

    try:
        with progress_as_asked(is_apart=is_apart), acting_last(_tell_broken_off):
            return run_launch(sweep, **options)
    except KeyboardInterrupt:
        refuse("interrupted before anything was started.", 130)
        raise typer.Exit(130) from None


def _tell_broken_off() -> None:
    """Say what a launch that a second signal ends at once has left, and how to go on with it."""
    tell_at_once(f"ended at once; what was kept is kept. Go on with: {again()}", 130)


def _leave(code: int) -> None:
    """Leave with a launch's exit code.

    An interrupted one leaves without the second that Python takes to unload torch and ray.
    """
    if code == 130:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise typer.Exit(code)
