"""The command of `--notify`: its words, and what may be said of it.

It may hold a token. So no sentence names more of it than its program, and nothing stores it.
"""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from sweeps.records.errors import BadInput
from sweeps.records.plain_text import shortened

_OPTION = "--notify"
_LONGEST_NAME = 100
_OF_A_SHELL = {"|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1"}
_SHELL_HINT = "No shell reads it: for a pipe or a variable give sh -c '...'"


def words_of(command: str) -> list[str]:
    """Return the words of a command as a shell would split it.

    Raises:
        BadInput: If it has none, cannot be split, or needs a shell.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput(
            f"--notify cannot be split into words ({error}): close each quotation mark."
        ) from error
    if not words or not words[0]:
        raise BadInput(
            "--notify names no program: give a command, such as 'mail -s done me', or leave it out."
        )
    if "\0" in command or not _OF_A_SHELL.isdisjoint(words):
        found = next((word for word in words if word in _OF_A_SHELL), "a zero byte")
        raise BadInput(f"--notify has {found} among its words. {_SHELL_HINT}.")
    return words


def check_command(command: str) -> None:
    """Check that a command can be run on this machine.

    Raises:
        BadInput: If it has no words, or there is no such program.
    """
    words = words_of(command)
    if shutil.which(words[0]) is None:
        raise BadInput(
            f"--notify: '{program_of(words)}' is no program on this machine: give the path of one. "
            f"{_SHELL_HINT}."
        )


def program_of(words: Sequence[str]) -> str:
    """Return the name of a command's program, without its folder and what follows a "="."""
    return shortened(Path(words[0].partition("=")[0]).name, _LONGEST_NAME)


def without_notify(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the arguments of a launch without the command that is run at its end."""
    options = zip(("", *arguments), arguments, strict=False)
    is_left_out = (
        _OPTION in (option, word) or word.startswith(f"{_OPTION}=") for option, word in options
    )
    return tuple(word for word, is_out in zip(arguments, is_left_out, strict=True) if not is_out)
