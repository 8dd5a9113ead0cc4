"""A command that a message suggests: a value here, which the command line puts into words."""

import shlex
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

PLAIN_VARIABLE = "CAPSWEEP_PLAIN_COMMANDS"
"""Set where a command is run for a user of another machine, on which its places mean nothing."""


class SuggestedCommand:
    """A command of capsweep. Its text names the places of the command that suggests it.

    Args:
        verb: The command, such as "repair".
        arguments: Of the command, without the places of the records.
    """

    def __init__(self, verb: str, *arguments: str) -> None:
        self.verb = verb
        self.arguments = arguments

    def __str__(self) -> str:
        return _WRITER.get()(self)

    @property
    def plain(self) -> str:
        """Its text without places, for files that do not depend on how they were made."""
        return shlex.join(["capsweep", self.verb, *self.arguments])


class Advice(str):
    """A sentence of a report that suggests a command: as text, with the plain command.

    Args:
        before: What comes before the command.
        command: The command.
        after: What comes after it.
    """

    __slots__ = ("here",)

    here: str  # with the places of the command that made the report

    def __new__(cls, before: str, command: SuggestedCommand, after: str) -> "Advice":
        """Return the sentence."""
        advice = super().__new__(cls, f"{before}{command.plain}{after}")
        advice.here = f"{before}{command}{after}"
        return advice


_WRITER: ContextVar[Callable[[SuggestedCommand], str]] = ContextVar(
    "writer", default=lambda command: command.plain
)


@contextmanager
def commands_written_by(writer: Callable[[SuggestedCommand], str]) -> Generator[None]:
    """Have suggested commands put into words by a function while the block runs."""
    token = _WRITER.set(writer)
    try:
        yield
    finally:
        _WRITER.reset(token)
