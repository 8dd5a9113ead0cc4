"""Every command, in the order and the groups of the help."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from sweeps.cli.afterwards.best import best
from sweeps.cli.afterwards.delete import delete
from sweeps.cli.afterwards.difference import diff
from sweeps.cli.afterwards.logs import logs
from sweeps.cli.afterwards.stop import stop
from sweeps.cli.catalogue_commands import list_sweeps, parts
from sweeps.cli.launch_commands import plan, run
from sweeps.cli.record_commands import show, status, ui
from sweeps.cli.report_commands import report, verify
from sweeps.cli.upkeep_commands import clean, repair
from sweeps.cli.writing_commands import ablate, grid, new


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
        "new": Command("Ask", new, "Write a commented sweep file of your own."),
        "grid": Command("Ask", grid, "Write a sweep file that varies settings of a base."),
        "ablate": Command("Ask", ablate, "Write a sweep file from a base to a search's winner."),
        "plan": Command("Run", plan, "Say what run would do, and how long it would take."),
        "run": Command("Run", run, "Train the cells that are empty, rebuild the tables."),
        "stop": Command("Run", stop, "End a launch that runs, from another shell."),
        "status": Command("Look", status, "List the launched sweeps, or say how far one is."),
        "best": Command("Look", best, "Rank a sweep's arms by validation error."),
        "show": Command("Look", show, "Show a trial: its config, its curve, its pictures."),
        "logs": Command("Look", logs, "Print the log of a trial or a sweep, -f as it grows."),
        "diff": Command("Look", diff, "Hold two trials, or two sweeps, against each other."),
        "ui": Command("Look", ui, "Browse the records in MLflow's own UI."),
        "report": Command("Publish", report, "Rebuild a sweep's tables, figures and page."),
        "verify": Command("Publish", verify, "Hold a paper's numbers against the records."),
        "repair": Command("Keep", repair, "Rebuild what was lost or damaged."),
        "delete": Command("Keep", delete, "Say what would go with a sweep, and delete it."),
        "clean": Command("Keep", clean, "Say what nothing needs any more, and free it."),
    }
)
