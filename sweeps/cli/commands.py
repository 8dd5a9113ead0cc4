"""The command line: reads words, calls what Python users call, prints what comes back.

Nothing heavy is imported before a command needs it: `--help` loads no torch, ray or tracking store.
"""

import sqlite3
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType

import typer
from typer.exceptions import TyperException

from sweeps.cli.catalogue_commands import list_sweeps, parts
from sweeps.cli.launch_commands import plan, run
from sweeps.cli.record_commands import best, show, status, ui
from sweeps.cli.report_commands import report, verify
from sweeps.cli.terminal import complain, plainly_spoken
from sweeps.cli.upkeep_commands import clean, repair
from sweeps.cli.writing_commands import ablate, grid, new
from sweeps.records.errors import SweepError

COMMANDS: Mapping[str, Callable[..., None]] = MappingProxyType(
    {
        "list": list_sweeps,
        "parts": parts,
        "new": new,
        "grid": grid,
        "ablate": ablate,
        "plan": plan,
        "run": run,
        "status": status,
        "report": report,
        "verify": verify,
        "best": best,
        "show": show,
        "ui": ui,
        "repair": repair,
        "clean": clean,
    }
)


def main() -> None:
    """Run the command line. Bad input is one sentence and exit code 2."""
    with plainly_spoken():
        raise SystemExit(_exit_code())


def _exit_code() -> object:
    """Run a command; say in one sentence why it could not be, and return its exit code."""
    program = typer.main.get_command(command_line())
    try:
        return program.main(standalone_mode=False) or 0
    except typer.Abort:
        complain("interrupted.")
        return 130
    except TyperException as error:  # a word that the command line does not take
        sentence = error.format_message()
        if "\n" in sentence:  # the help, as no command was given
            typer.echo(sentence, err=True)
        else:
            complain(f"{sentence} Say capsweep --help, or capsweep COMMAND --help.")
        return error.exit_code
    except SweepError as error:
        complain(str(error))
        return error.exit_code
    except (OSError, sqlite3.Error) as error:  # of a file or a disk that no command looked at
        place = f" at {error.filename}" if isinstance(error, OSError) and error.filename else ""
        complain(f"The disk or a file{place} cannot be used: {error}. Free it, or choose another.")
        return 3 if sys.argv[1:2] == ["run"] else 2


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
