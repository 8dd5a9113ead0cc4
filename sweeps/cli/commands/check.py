"""`capsweep check`: everything in a sweep, tried once on a few images."""

from collections.abc import Mapping
from typing import Any

import typer

from sweeps.cli.declared_options import with_options
from sweeps.cli.options import SweepArgument
from sweeps.cli.terminal import complain, console, plain, say
from sweeps.execution.launch_options import LaunchOptions
from sweeps.records.errors import BadInput

_OPTIONS = {"settings": LaunchOptions.model_fields["settings"]}


@with_options(_OPTIONS)
def check(sweep: SweepArgument, options: Mapping[str, Any]) -> None:
    """Try each data set, network and evaluation of a sweep on a few images; record nothing."""
    from sweeps.execution.check_process import CheckProcess, Fails, Refused, Warned, Works

    failures: list[str] = []
    with CheckProcess(sweep, options["settings"]) as process:
        for report in process.reports():
            if isinstance(report, Works):
                seconds = f"{report.seconds:4.1f} s"
                console().print(f"works  {seconds}  {plain(report.result)}", soft_wrap=True)
            elif isinstance(report, Fails):
                failures.append(report.sentence)
                console().print(f"fails          {plain(report.sentence)}", soft_wrap=True)
                _print_excerpt(report.excerpt)
            elif isinstance(report, Refused):
                _print_excerpt(report.excerpt)
                raise BadInput(report.sentence)
            elif isinstance(report, Warned):
                complain(report.sentence)
            else:
                say(report.sentence)
    if len(failures) == 1:
        raise BadInput(failures[0])
    if failures:
        raise BadInput(f"{len(failures)} things in this sweep do not work; each is named above.")
    console().print("All of it works. Nothing was recorded.")


def _print_excerpt(excerpt: str) -> None:
    if excerpt:
        typer.echo(excerpt)
