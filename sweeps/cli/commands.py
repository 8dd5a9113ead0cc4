"""The command line: reads words, calls what Python users call, prints what comes back.

Nothing heavy is imported before a command needs it: `--help` loads no torch, ray or tracking store.
"""

import sqlite3
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import typer
from typer.exceptions import TyperException

from sweeps.cli.catalogue_commands import list_sweeps, parts
from sweeps.cli.launch_commands import plan, run
from sweeps.cli.program.completion import VARIABLE, silent_completion
from sweeps.cli.program.help_page import OnePage
from sweeps.cli.program.speech import QuietOption, VerboseOption, spoken
from sweeps.cli.program.version import VersionOption
from sweeps.cli.record_commands import best, show, status, ui
from sweeps.cli.report_commands import report, verify
from sweeps.cli.terminal import complain, plainly_spoken
from sweeps.cli.upkeep_commands import clean, repair
from sweeps.cli.writing_commands import ablate, grid
from sweeps.records.errors import SweepError


class Command(NamedTuple):
    """A command.

    Attributes:
        summary: Its line on the help's one screen; `capsweep COMMAND --help` says more.
    """

    group: str
    run: Callable[..., None]
    summary: str


COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "list": Command("Ask", list_sweeps, "List the sweeps that come with capsweep."),
        "parts": Command("Ask", parts, "List what trainings are made of, and its settings."),
        "grid": Command("Ask", grid, "Write a sweep file that varies settings of a base."),
        "ablate": Command("Ask", ablate, "Write a sweep file from a base to a search's winner."),
        "plan": Command("Run", plan, "Say what run would do, and how long it would take."),
        "run": Command("Run", run, "Train the cells that are empty, rebuild the tables."),
        "status": Command("Look", status, "List the launched sweeps, or say how far one is."),
        "best": Command("Look", best, "Rank a sweep's arms by validation error."),
        "show": Command("Look", show, "Show a trial: its config, its curve, its pictures."),
        "ui": Command("Look", ui, "Browse the records in MLflow's own UI."),
        "report": Command("Publish", report, "Rebuild a sweep's tables, figures and page."),
        "verify": Command("Publish", verify, "Hold a paper's numbers against the records."),
        "repair": Command("Keep", repair, "Rebuild what was lost or damaged."),
        "clean": Command("Keep", clean, "Say what nothing needs any more, and free it."),
    }
)


def main() -> None:
    """Run the command line. Bad input is one sentence and exit code 2."""
    with plainly_spoken(), silent_completion():
        raise SystemExit(_exit_code())


def _exit_code() -> object:
    """Run a command; say in one sentence why it could not be, and return its exit code."""
    program = typer.main.get_command(command_line())
    try:
        return program.main(standalone_mode=False, complete_var=VARIABLE) or 0
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
        cls=OnePage,
        help="Sweeps over capsule networks that lose nothing, tables rebuilt from records.",
        epilog="Also: -q quiet, -v verbose, --version, --install-completion, COMMAND --help.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    program.callback()(_everywhere)
    for name, (group, command, summary) in COMMANDS.items():
        program.command(name, short_help=summary, rich_help_panel=group)(spoken(command))
    return program


def _everywhere(
    quiet: QuietOption = False, verbose: VerboseOption = False, version: VersionOption = False
) -> None:
    """Take what stands before the command, which looks there itself."""
