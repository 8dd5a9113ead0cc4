"""A launch by the command line: told as was asked, interrupted soundly, left with its code."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from sweeps.cli.answers.text import refuse, tell_at_once
from sweeps.cli.command_words import again
from sweeps.cli.program.speech import progress_as_asked

if TYPE_CHECKING:
    from sweeps.execution.launch.result import SweepResult


def launched(sweep: str, options: Mapping[str, Any], *, is_apart: bool) -> "SweepResult":
    """Run a sweep, and return how that ended.

    Args:
        sweep: As it was given.
        options: Of the launch.
        is_apart: Whether standard output is for the result alone.

    Raises:
        SweepError: If it cannot be launched.
        typer.Exit: With 130, if it was interrupted before anything was started.
    """
    from sweeps.execution.interruption import on_forced_exit
    from sweeps.execution.launch.run import run

    try:
        with progress_as_asked(is_apart=is_apart), on_forced_exit(_tell_broken_off):
            return run(sweep, **options)
    except KeyboardInterrupt:
        refuse("interrupted before anything was started.", 130)
        raise typer.Exit(130) from None


def _tell_broken_off() -> None:
    """Say what a launch that a second signal ends at once has left, and how to go on with it."""
    tell_at_once(f"ended at once; what was kept is kept. Go on with: {again()}", 130)


def leave(code: int) -> None:
    """Leave with a launch's exit code.

    An interrupted one leaves without the second that Python takes to unload torch and ray.
    """
    if code == 130:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise typer.Exit(code)
