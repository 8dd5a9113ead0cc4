"""What `capsweep run` prints at its end: how the launch ended, and what to do next."""

from typing import TYPE_CHECKING

from rich.console import Console

from sweeps.cli.printing.console import console, print_report
from sweeps.cli.program.speech import is_quiet
from sweeps.cli.terminal import plain

if TYPE_CHECKING:
    from sweeps.execution.launch.result import SweepResult


def print_result(result: "SweepResult", again: str, program: str, where: str) -> None:
    """Print how a launch ended, its table, its files, and what to do next.

    Args:
        result: How it ended.
        again: The command that goes on with it.
        program: How the user calls capsweep.
        where: The options that lead to its records, "" for the default places.
    """
    out = console()
    if result.report:
        print_report(result.report)
    out.print(
        f"\n{result.sweep}: {result.num_trained} trained now, "
        f"{result.num_filled} of {result.num_cells} cells filled."
    )
    _print_what_is_left(result, out)
    if result.exit_code:
        out.print(f"Go on with: {plain(again)}", soft_wrap=True)
    elif not is_quiet():
        nexts = (f"best {result.sweep}", "show TRIAL", "ui")
        commands = " | ".join(f"{program} {command}{where}" for command in nexts)
        out.print(f"Next: {plain(commands)}", soft_wrap=True)


def _print_what_is_left(result: "SweepResult", out: Console) -> None:
    """Print what failed, what was left out, and what is not recorded."""
    for failed in result.failures:
        out.print(f"failed: {plain(failed.arm)}, seed {failed.seed}: {plain(failed.reason)}")
        if failed.log.exists():
            out.print(f"        its log: {plain(str(failed.log))}", soft_wrap=True)
    for sentence in result.sentences:
        out.print(plain(sentence))
    if result.exit_code == 130:
        out.print("Interrupted. Finished trials and the last checkpoint of each other are kept.")
    if not result.is_recorded:
        why = result.complaint or "the tracking store did not answer in time"
        out.print(f"Some records are not yet in MLflow: {plain(why)}")
