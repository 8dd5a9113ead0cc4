"""The command line: reads words, calls what Python users call, prints what comes back.

Nothing heavy is imported before a command needs it: `--help` loads no torch, ray or tracking store.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import typer

from sweeps.cli.catalogue_commands import list_sweeps, parts
from sweeps.cli.launch_commands import plan, run
from sweeps.cli.record_commands import best, report, show, status, ui
from sweeps.records.errors import SweepError

COMMANDS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "list": list_sweeps,
        "parts": parts,
        "plan": plan,
        "run": run,
        "status": status,
        "report": report,
        "best": best,
        "show": show,
        "ui": ui,
    }
)


def main() -> None:
    """Run the command line. Bad input is one sentence and exit code 2."""
    try:
        command_line()()
    except SweepError as error:
        typer.echo(f"capsweep: {error}", err=True)
        raise SystemExit(error.exit_code) from None


def command_line() -> typer.Typer:
    """Return the command line with all of its commands, in the order of its help."""
    program = typer.Typer(
        help="Sweeps over capsule networks that lose nothing, and tables rebuilt from "
        "their records.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    for name, command in COMMANDS.items():
        program.command(name)(command)
    return program
