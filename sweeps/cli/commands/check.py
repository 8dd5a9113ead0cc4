"""`capsweep check`: everything in a sweep, tried once on a few images."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from sweeps.cli.declared_options import with_options
from sweeps.cli.options import SweepArgument
from sweeps.cli.terminal import console, plain
from sweeps.execution.launch_options import LaunchOptions
from sweeps.records.errors import BadInput
from sweeps.records.plain_text import not_covered_text

if TYPE_CHECKING:
    from sweeps.execution.sweep_check import CheckFailed

_OPTIONS = {"settings": LaunchOptions.model_fields["settings"]}


@with_options(_OPTIONS)
def check(sweep: SweepArgument, options: Mapping[str, Any]) -> None:
    """Try each data set, network and evaluation of a sweep on a few images; record nothing."""
    from search_spaces.sweep_file import code_outside
    from sweeps.execution.plan.changes import Changes
    from sweeps.execution.plan.definition import declared_sweep
    from sweeps.execution.sweep_check import CheckFailed, check_sweep, loaded_sweep

    failures: list[CheckFailed] = []
    try:
        for result in check_sweep(loaded_sweep(sweep, Changes(settings=options["settings"]))):
            if isinstance(result, CheckFailed):
                failures.append(result)
                console().print(f"fails          {plain(str(result))}", soft_wrap=True)
                _print_lines_around(result)
            else:
                seconds = f"{result.seconds:4.1f} s"
                console().print(f"works  {seconds}  {plain(result.what)}", soft_wrap=True)
    except CheckFailed as failed:
        _print_lines_around(failed)
        raise
    for line in not_covered_text(tuple(code_outside(declared_sweep(sweep).source).not_covered)):
        console().print(plain(line), soft_wrap=True)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise BadInput(f"{len(failures)} things in this sweep do not work; each is named above.")
    console().print("All of it works. Nothing was recorded.")


def _print_lines_around(failed: "CheckFailed") -> None:
    if failed.line:
        typer.echo(failed.line.excerpt())
