"""What the checks of machines and accounts have found, a line for each."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from sweeps.records.plain_text import one_line

if TYPE_CHECKING:
    from sweeps.remote.checked_machine import CheckedMachine


def print_checked(machines: Iterable["CheckedMachine"], width: int) -> int:
    """Print what was found of each machine; return how much is wrong."""
    num_wrong = 0
    for machine in machines:
        num_wrong += len(machine.wrong)
        parts = [f"ok: {', '.join(machine.right)}"] * bool(machine.right)
        parts += [f"not checked: {', '.join(machine.not_checked)}"] * bool(machine.not_checked)
        lines = ["; ".join(parts)] if parts else []
        for line in [*lines, *(f"WRONG: {sentence}" for sentence in machine.wrong)]:
            typer.echo(f"{machine.name:{width}}  {one_line(line)}")
    return num_wrong
