"""What the commands print. The only place besides the command line that prints."""

import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from capsmodel.metrics import TEST_ERROR, VALIDATION_ERROR
from sweeps.aggregation.rendering.fitted_table import FittedColumn, FittedTable
from sweeps.aggregation.tables.targets import target_words
from sweeps.cli.printing.evaluations import print_found, print_standing
from sweeps.cli.program.speech import is_quiet
from sweeps.cli.terminal import PlainConsole, plain

if TYPE_CHECKING:
    from pathlib import Path

    from sweeps.aggregation.comparison.side_by_side import ComparedSweeps
    from sweeps.aggregation.pictures.trial_pictures import Pictures
    from sweeps.aggregation.report import CheckedReport, Report
    from sweeps.aggregation.trial_view import TrialView
    from sweeps.execution.survey.status import SweepStatus


def console() -> Console:
    """Return the console for results: as wide as the terminal, wide where there is none."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 140
    return PlainConsole(width=width, highlight=False, emoji=False)


def print_names(entries: Sequence[tuple[str, str]]) -> None:
    """Print the named sweeps."""
    table = table_of("sweep", "what it asks")
    for name, summary in entries:
        table.add_row(name, plain(summary))
    out = console()
    out.print(table)
    if not is_quiet():
        out.print("\nRun one: capsweep run NAME. See what it would do first: capsweep plan NAME.")


def print_repaired(sentences: "Sequence[str]") -> None:
    """Print what a repair has done, a sentence each."""
    for sentence in sentences or ("All is whole: nothing was changed.",):
        console().print(plain(sentence), soft_wrap=True)


def print_report(report: "Report") -> None:
    """Print what a terminal is shown of the tables, and the files that hold all."""
    from sweeps.aggregation.rendering.renderers import for_terminal

    out = console()
    for shown in for_terminal(report.shown):
        out.print(shown)
    for sentence in (*report.mixtures, *report.left_out):
        out.print(plain(sentence))
    _print_files(report.paths)


def print_compared(compared: "ComparedSweeps") -> None:
    """Print two sweeps side by side, and the files that hold all."""
    from sweeps.aggregation.rendering.renderers import for_terminal

    out = console()
    for shown in for_terminal([compared.table]):
        out.print(shown)
    _print_files(compared.paths)


def print_checked(checked: "CheckedReport") -> None:
    """Print which files of a report no longer follow from the records."""
    out = console()
    for words, names in (("stale", checked.stale), ("missing", checked.missing)):
        for name in names:
            out.print(f"{words}: {plain(str(checked.folder / name))}", soft_wrap=True)
    for sentence in checked.left_out:
        out.print(plain(sentence))
    if checked.exit_code:
        wrong = len(checked.stale) + len(checked.missing)
        sentence = f"{wrong} of {checked.num_files} files do not follow from the records: make them"
        out.print(f"{sentence} anew by capsweep report {plain(checked.sweep)}.", soft_wrap=True)
    else:
        out.print(f"All {checked.num_files} files of the report follow from the records.")
    if checked.others:
        names = plain(", ".join(checked.others[:10]) + " ..." * (len(checked.others) > 10))
        out.print(f"Not looked at, as the report has no such files: {names}.", soft_wrap=True)


def print_status(status: "SweepStatus") -> None:
    """Print how far a sweep is, arm by arm."""
    out = console()
    ended = ("finished", "pruned", "diverged", "failed")
    states = (*ended, "running", "waiting", "interrupted", "missing")
    shown = [state for state in states if status.counts()[state]]
    table = table_of("arm", *shown, numbers=len(shown), giving=shown[::-1])
    for arm in status.arms:
        counts = status.counts(arm)
        table.add_row(plain(arm), *(str(counts[state] or "") for state in shown))
    out.print(table)
    counts = ", ".join(f"{status.counts()[state]} {state}" for state in shown)
    cells = f"{len(status.cells)} cell{'s' * (len(status.cells) != 1)}"
    out.print(f"{plain(status.sweep)}: {cells} so far: {counts}.")
    if status.ending:
        out.print(f"The search {plain(status.ending)}.", soft_wrap=True)
    _print_places(status, out)
    print_standing(status, out)
    if not status.is_recorded:
        out.print("Some finished trials are not yet in MLflow: run the sweep again to carry them.")
    if status.last_launch or status.is_running:
        out.print(_last_launch(status))


def _print_places(status: "SweepStatus", out: Console) -> None:
    """Print which cells wait or run, and why others did not finish."""
    waiting = Counter(cell.epoch for cell in status.cells if cell.state == "waiting")
    for epoch, count in sorted(waiting.items()):
        out.print(f"waiting to be promoted or stopped: {count} at epoch {epoch}")
    for cell in status.cells:
        if cell.state == "running":
            out.print(f"running: {plain(cell.cell.arm)}, seed {cell.cell.seed}, epoch {cell.epoch}")
        elif cell.reason:
            place = f"{plain(cell.cell.arm)}, seed {cell.cell.seed}"
            out.print(f"{cell.state}: {place}: {plain(cell.reason)}")


def _last_launch(status: "SweepStatus") -> str:
    from sweeps.execution.view.live_view import clock

    launch = status.last_launch
    if status.is_running:
        return "A launch runs now."
    if launch is None or launch.ended is None:
        return "The last launch was killed."
    took = clock(launch.ended - launch.started)
    return f"The last launch took {took} and ended with code {launch.exit_code}."


def print_trial(view: "TrialView") -> None:
    """Print one trial."""
    out = console()
    record = view.record
    out.print(f"trial {record.trial_key}: {plain(record.arm)}, seed {record.seed}")
    reason = f": {record.reason}" if record.reason else ""
    out.print(f"outcome: {record.outcome.value}{plain(reason)}")
    if record.test_error is not None:
        out.print(f"test error: {TEST_ERROR.written(record.test_error)}")
    for name, error in record.extra_test_errors.items():
        out.print(f"test error, {plain(name)}: {TEST_ERROR.written(error)}")
    if record.target:
        words = target_words(view.config)
        out.print(plain(f"target: {record.target}{f' ({words})' if words else ''}"))
    for warning in record.warnings:
        out.print(f"warning: {plain(warning)}", soft_wrap=True)
    print_found(view.evaluations, out)
    out.print(f"weights: {plain(str(view.weights or 'none are kept'))}", soft_wrap=True)
    out.print(f"MLflow run: {record.record_id}")
    giving = ("train loss", "validation loss")
    table = table_of("epoch", *giving, "validation error %", numbers=4, giving=giving)
    for point in view.curve:
        table.add_row(
            str(point.epoch),
            f"{point.train_loss:.5f}",
            f"{point.validation_loss:.5f}",
            f"{VALIDATION_ERROR.shown(point.validation_error):.2f}",
        )
    out.print(table)
    out.print("config:")
    out.print(escape(json.dumps(view.config, indent=2)), soft_wrap=True)


def print_pictures(pictures: "Pictures") -> None:
    """Print which pictures were drawn, and why others were not."""
    out = console()
    for path in pictures.paths:
        out.print(plain(str(path)), soft_wrap=True)
    for sentence in pictures.left_out:
        out.print(plain(sentence))


def _print_files(paths: "Sequence[Path]") -> None:
    out = console()
    out.print("\nFiles:")
    for path in paths:
        out.print(f"  {plain(str(path))}", soft_wrap=True)


def table_of(
    *headings: str, numbers: int = 0, giving: Sequence[str] = (), elsewhere: str = "--json"
) -> FittedTable:
    """Return an empty table whose last columns hold numbers.

    Args:
        headings: Of its columns.
        numbers: How many of the last hold such.
        giving: Headings of what is left out on a narrow terminal, the first one first.
        elsewhere: What shows that too.
    """
    columns = [
        FittedColumn(
            heading,
            "right" if index >= len(headings) - numbers else "left",
            giving.index(heading) + 1 if heading in giving else None,
        )
        for index, heading in enumerate(headings)
    ]
    return FittedTable(columns, elsewhere=elsewhere)
