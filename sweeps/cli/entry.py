"""The process of the command line: one command, one exit code, errors in one sentence.

Nothing heavy is imported before a command needs it: `--help` loads no torch, ray or tracking store.
"""

import atexit
import os
import sqlite3
import sys
import threading

import typer
from typer.exceptions import TyperException

from sweeps.cli.completion import VARIABLE, silent_completion
from sweeps.cli.hints import misplaced_option, stray_settings
from sweeps.cli.json_output import print_error
from sweeps.cli.program import command_line
from sweeps.cli.terminal import clean_messages, complain
from sweeps.execution.garbage import collect_seldom
from sweeps.execution.safe_output import make_output_safe
from sweeps.records.errors import SweepError, UnknownSweep
from sweeps.records.plain_text import is_utf8

_REMOVED_OPTIONS = {
    "--fresh": "--fresh is now called --retrain: give that.",
    "--write": "--write no longer exists: capsweep plan SWEEP --effect POINTS prints the lines to "
    "paste into the sweep's file.",
}


def main() -> None:
    """Run the command line. Bad input is one sentence and exit code 2."""
    _prepare_environment()
    with clean_messages(), silent_completion():
        raise SystemExit(_exit_code())


def main_process() -> None:
    """Run the command line as a process of its own, which ends as soon as `main` has.

    What cannot be written is dropped. Exit codes of launches follow their cells; another command,
    whose answer is all that it does, fails unless nobody wanted to read on.
    """
    output = make_output_safe()
    try:
        main()
    except SystemExit as ended:
        output.flush()
        code = ended.code
        if output.error and not output.is_unread and code == 0 and not _launches():
            advice = "Free some space, or write elsewhere."
            complain(f"The answer cannot be written: {output.error}. {advice}")
            code = 2
        if isinstance(code, int):
            end_at_once(code)
        raise


def end_at_once(exit_code: int) -> None:
    """End this process without unloading its modules, which takes a fifth of a second after torch.

    Exit handlers run and standard output is flushed first. Returns if that is not enough, so that
    Python ends as usual: another thread is still working, or nobody reads the output.

    Args:
        exit_code: What the process ends with.
    """
    others = [
        thread for thread in threading.enumerate() if thread is not threading.current_thread()
    ]
    if not all(thread.daemon for thread in others):
        return
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - there is no public way
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads it, or it is closed
        return
    os._exit(exit_code)


def _prepare_environment() -> None:
    """Switch off numpy's second thread, an invalid terminal width and frequent collections."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's second thread waits busily
    columns = os.environ.get("COLUMNS", "")
    if not columns.isdecimal() or int(columns) == 0:  # a shell that knows no width says 0
        os.environ.pop("COLUMNS", None)
    collect_seldom()


def _exit_code() -> object:
    """Run a command and return its exit code; print in one sentence why it failed."""
    for word in sys.argv[1:]:
        if not is_utf8(word):
            return _failed(f"'{word}' is not valid UTF-8: give another name.", 2)
    try:
        return command_line().main(standalone_mode=False, complete_var=VARIABLE) or 0
    except typer.Abort:
        return _failed("interrupted.", 130)
    except TyperException as error:  # a word that the command line does not take
        return _not_understood(error)
    except UnknownSweep as error:
        return _failed(_with_file(error), error.exit_code)
    except SweepError as error:
        return _failed(str(error), error.exit_code)
    except (OSError, sqlite3.Error) as error:  # of a file or a disk that no command checked
        place = f" at {error.filename}" if isinstance(error, OSError) and error.filename else ""
        sentence = f"The disk or a file{place} cannot be used: {error}. Free it, or choose another."
        return _failed(sentence, 3 if _launches() else 2)


def _launches() -> bool:
    return "run" in sys.argv[1:3]


def _with_file(error: UnknownSweep) -> str:
    """Return why there is no such sweep, and the file here that may define it."""
    from search_spaces.sweep_source import hint_at_sweeps

    return f"{error}{hint_at_sweeps(error.name, (), is_near=not error.has_hint)}"


def _not_understood(error: TyperException) -> int:
    """Print in one sentence which word is wrong, or the help if no command was given."""
    option = getattr(error, "option_name", "")
    answer = _REMOVED_OPTIONS.get(option)
    if option and not answer:
        near = getattr(error, "possibilities", None) or ()
        answer = misplaced_option(option, near)
        if not answer and (longer := _begun_with(option, error)):
            answer = f"No such option: {option}. Did you mean {' or '.join(longer)}?"
    elif not option and "--set" in _options(error) and "extra argument" in error.format_message():
        answer = stray_settings()
    sentence = answer or error.format_message()
    if "\n" in sentence:  # the help
        typer.echo(sentence, err=True)
        return error.exit_code
    end = "" if sentence.endswith((".", "?")) else "."
    hint = "" if answer else f"{end} Run capsweep --help, or capsweep COMMAND --help."
    return _failed(f"{sentence}{hint}", error.exit_code)


def _begun_with(option: str, error: TyperException) -> list[str]:
    """Return the options of the command of which a given one is the beginning."""
    return sorted(name for name in _options(error) if name.startswith(option))


def _options(error: TyperException) -> list[str]:
    """Return the options of the command that did not take a word."""
    context = getattr(error, "ctx", None)
    parameters = context.command.params if context else ()
    return [name for parameter in parameters for name in parameter.opts]


def _failed(sentence: str, exit_code: int) -> int:
    print_error(sentence, exit_code)
    return exit_code
