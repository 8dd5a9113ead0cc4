"""`capsweep run`."""

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from sweeps.cli.declared_options import launch_fields, with_options
from sweeps.cli.hints import is_submitted, resume_command
from sweeps.cli.json_output import JsonOption, print_error, print_json, write_error_at_once
from sweeps.cli.options import SweepArgument
from sweeps.cli.terminal import console, plain, print_place, print_tables, say
from sweeps.cli.verbosity import is_quiet, progress_output
from sweeps.records.suggested_command import SuggestedCommand

if TYPE_CHECKING:
    from sweeps.cli.answers import RunAnswer
    from sweeps.execution.launch.result import SweepResult

_INTERRUPTED = 130


@with_options(launch_fields())
def run(sweep: SweepArgument, options: Mapping[str, Any], as_json: JsonOption = False) -> None:
    """Train the empty cells, record them in MLflow, and rebuild the tables."""
    result = _launch(sweep, options, as_json=as_json)
    if as_json:
        print_json(run_answer(result, resume_command()))
    else:
        print_result(result)
    _exit(result.exit_code)


def _launch(sweep: str, options: Mapping[str, Any], *, as_json: bool) -> "SweepResult":
    from sweeps.execution.interruption import on_forced_exit
    from sweeps.execution.launch.run import run as run_sweep

    try:
        with progress_output(is_stdout_reserved=as_json), on_forced_exit(_write_ended_at_once):
            return run_sweep(sweep, **options)
    except KeyboardInterrupt:
        print_error("interrupted before anything was started.", _INTERRUPTED)
        raise typer.Exit(_INTERRUPTED) from None


def _write_ended_at_once() -> None:
    """Say what is left of a launch that a second signal ends at once, and how to resume it."""
    sentence = "ended at once; finished trials and the last checkpoints are kept."
    write_error_at_once(f"{sentence} Go on with: {resume_command()}", _INTERRUPTED)


def _exit(code: int) -> None:
    """Exit with a launch's code; an interrupted one skips the second that unloading torch takes."""
    if code == _INTERRUPTED:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise typer.Exit(code)


def run_answer(result: "SweepResult", resume: str) -> "RunAnswer":
    """Return how a launch ended.

    Args:
        result: How it ended.
        resume: The command that resumes it.
    """
    from sweeps.cli.answers import FailedCell, RunAnswer

    return RunAnswer.of(
        result,
        failures=tuple(FailedCell.of(failure, log=str(failure.log)) for failure in result.failures),
        told=result.sentences,
        files=tuple(map(str, result.report.paths)) if result.report else (),
        go_on_with=resume if result.exit_code else None,
    )


def print_result(result: "SweepResult") -> None:
    """Print a launch's table, how it ended, and what to do next."""
    if result.report and not is_submitted():  # who follows it prints them, as wide as it can
        print_tables(result.report)
    console().print(
        f"\n{result.sweep}: {result.num_trained} trained now, "
        f"{result.num_filled} of {result.num_cells} cells filled."
    )
    _print_problems(result)
    if result.report and not is_submitted():
        print_place(result.report)
    if result.exit_code:
        say(f"Go on with: {resume_command()}")
    elif not is_quiet() and not is_submitted():
        nexts = (("best", result.sweep), ("show", "TRIAL"), ("ui",))
        say(f"Next: {' | '.join(str(SuggestedCommand(*words)) for words in nexts)}")


def _print_problems(result: "SweepResult") -> None:
    """Print what failed, what was left out, and what is not recorded."""
    out = console()
    for failed in result.failures:
        out.print(f"failed: {plain(failed.arm)}, seed {failed.seed}: {plain(failed.reason)}")
        if failed.log.exists():
            out.print(f"        its log: {plain(str(failed.log))}", soft_wrap=True)
    for sentence in result.sentences:
        out.print(plain(sentence))
    if result.exit_code == _INTERRUPTED:
        out.print("Interrupted. Finished trials and the last checkpoint of each other are kept.")
        out.print("This launch has written no report: one that is there is from before it.")
    if not result.is_recorded:
        why = result.complaint or "the tracking store did not answer in time"
        out.print(f"Some records are not yet in MLflow: {plain(why)}")
