"""The command line: reads words, calls what Python users call, prints what comes back.

Nothing heavy is imported before a command needs it: `--help` loads no torch, ray or tracking store.
"""

import os
import sqlite3
import sys

import typer
from typer.exceptions import TyperException

from sweeps.cli.answers.text import refuse
from sweeps.cli.every_command import COMMANDS
from sweeps.cli.program.completion import VARIABLE, silent_completion
from sweeps.cli.program.ending import end_at_once
from sweeps.cli.program.help_page import OnePage
from sweeps.cli.program.speech import QuietOption, VerboseOption, spoken
from sweeps.cli.program.version import VersionOption
from sweeps.cli.terminal import plainly_spoken
from sweeps.execution.garbage import collect_seldom
from sweeps.records.errors import SweepError
from sweeps.records.plain_text import is_utf8

_REMOVED_OPTIONS = {
    "--fresh": "--fresh is now called --retrain: give that.",
    "--write": "--write no longer exists: capsweep plan SWEEP --effect POINTS prints the lines to "
    "paste into the sweep's file.",
}


def main() -> None:
    """Run the command line. Bad input is one sentence and exit code 2."""
    _begin_lightly()
    with plainly_spoken(), silent_completion():
        raise SystemExit(_exit_code())


def main_process() -> None:
    """Be the process of the command line: as `main`, and gone as soon as all is said."""
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, int):
            end_at_once(ended.code)
        raise


def _begin_lightly() -> None:
    """Keep Python and numpy from work that is for nothing, and all from a width that is none."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's second thread waits busily
    told = os.environ.get("COLUMNS", "")
    if not told.isdecimal() or int(told) == 0:  # a shell that knows no width says 0
        os.environ.pop("COLUMNS", None)
    collect_seldom()


def _exit_code() -> object:
    """Run a command; say in one sentence why it could not be, and return its exit code."""
    for word in sys.argv[1:]:
        if not is_utf8(word):
            return _refused(f"'{word}' is no valid UTF-8: give another name.", 2)
    program = typer.main.get_command(command_line())
    try:
        return program.main(standalone_mode=False, complete_var=VARIABLE) or 0
    except typer.Abort:
        return _refused("interrupted.", 130)
    except TyperException as error:  # a word that the command line does not take
        return _not_understood(error)
    except SweepError as error:
        return _refused(str(error), error.exit_code)
    except (OSError, sqlite3.Error) as error:  # of a file or a disk that no command looked at
        place = f" at {error.filename}" if isinstance(error, OSError) and error.filename else ""
        told = f"The disk or a file{place} cannot be used: {error}. Free it, or choose another."
        return _refused(told, 3 if "run" in sys.argv[1:3] else 2)


def _not_understood(error: TyperException) -> int:
    """Say in one sentence which word is wrong, or print the help if no command was given."""
    removed = _REMOVED_OPTIONS.get(getattr(error, "option_name", ""))
    sentence = removed or error.format_message()
    if "\n" in sentence:  # the help
        typer.echo(sentence, err=True)
        return error.exit_code
    end = "" if sentence.endswith((".", "?")) else "."
    hint = "" if removed else f"{end} Run capsweep --help, or capsweep COMMAND --help."
    return _refused(f"{sentence}{hint}", error.exit_code)


def _refused(sentence: str, exit_code: int) -> int:
    refuse(sentence, exit_code)
    return exit_code


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
