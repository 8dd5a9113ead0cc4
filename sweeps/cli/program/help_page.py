"""The help of the whole program: every command on one screen, in groups."""

import shutil
from itertools import groupby
from typing import Any

import typer
from typer.core import TyperGroup

_WIDEST = 100


class OnePage(TyperGroup):
    """A program whose help has a line a command, behind the name of the command's group."""

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # pyright: ignore
        """Write usage, purpose, commands, and what all of them take."""
        self.format_usage(ctx, formatter)  # pyright: ignore[reportArgumentType]
        formatter.write(f"{self.help}\n\n")
        for line in self._lines():
            formatter.write(f"{line}\n")
        formatter.write(f"\n{self.epilog}\n")

    def _lines(self) -> list[str]:
        """Return a line a command; the first of each group begins with the group's name."""
        rows = [
            (str(vars(command)["rich_help_panel"]), name, command)
            for name, command in self.commands.items()
        ]
        first, second = (max(len(str(row[place])) for row in rows) + 2 for place in (0, 1))
        room = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST) - first - second
        return [
            f"{'' if place else group:{first}}{name:{second}}{command.get_short_help_str(room)}"
            for group, own in groupby(rows, key=lambda row: row[0])
            for place, (_, name, command) in enumerate(own)
        ]
