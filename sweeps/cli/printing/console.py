"""What the commands print. The only place besides the command line that prints."""

import json
import os
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from capsmodel.metrics import TEST_ERROR, VALIDATION_ERROR, Metric
from sweeps.aggregation.tables.targets import target_words
from sweeps.cli.printing.evaluations import print_found, print_standing
from sweeps.cli.program.speech import is_quiet
from sweeps.cli.terminal import PlainConsole, plain

if TYPE_CHECKING:
    from pathlib import Path

    from sweeps.aggregation.best_config import BestConfig
    from sweeps.aggregation.pictures.trial_pictures import Pictures
    from sweeps.aggregation.report import CheckedReport, ComparedSweeps, Report
    from sweeps.aggregation.trial_view import TrialView
    from sweeps.execution.driver.status import SweepStatus


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
    table = table_of("arm", *shown, numbers=len(shown))
    for arm in status.arms:
        counts = status.counts(arm)
        table.add_row(plain(arm), *(str(counts[state] or "") for state in shown))
    out.print(table)
    counts = ", ".join(f"{status.counts()[state]} {state}" for state in shown)
    out.print(f"{plain(status.sweep)}: {len(status.cells)} cells so far: {counts}.")
    if status.ending:
        out.print(f"The search {plain(status.ending)}.", soft_wrap=True)
    _print_places(status, out)
    print_standing(status, out)
    if not status.is_recorded:
        out.print("Some finished trials are not yet in MLflow: run the sweep again to carry them.")
    if status.last_launch:
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
    from sweeps.execution.driver.view.live_view import clock

    launch = status.last_launch
    if launch is None or launch.ended is None:
        return "The last launch is still running, or was killed."
    took = clock(launch.ended - launch.started)
    return f"The last launch took {took} and ended with code {launch.exit_code}."


def print_best(configs: "Sequence[BestConfig]", words: Iterable[str]) -> None:
    """Print arms, best first, with what sets them apart and how sure their places are.

    Args:
        configs: Those that have a row.
        words: What is said of the ranking as a whole.
    """
    out = console()
    if configs:
        out.print(_best_table(configs))
    for sentence in words:
        out.print(plain(sentence), soft_wrap=True)


def _best_table(configs: "Sequence[BestConfig]") -> Table:
    metric = configs[0].metric
    is_sure = any(config.chance_of_best is not None for config in configs)
    has_settings = any(config.settings for config in configs)
    headings = ["rank", "arm", *["settings"] * has_settings]
    has_cost = any(config.num_parameters is not None for config in configs)
    headings += [*["parameters"] * has_cost, metric.text + " %" * metric.is_fraction + " (sd)"]
    headings += [*["P(best)"] * is_sure, "trials", "best trial"]
    table = table_of(*headings)
    for config in configs:
        table.add_row(
            str(config.rank),
            plain(config.arm) + ("" if config.is_confirmed else " (not confirmed)"),
            *[plain(config.words)] * has_settings,
            *[f"{config.num_parameters or 0:,}"] * has_cost,
            _with_spread(config),
            *[_chance(config)] * is_sure,
            f"{config.num_trials} of {config.num_planned}",
            f"{config.trials[0].trial_key} (seed {config.trials[0].seed})",
        )
    return table


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
    table = table_of("epoch", "train loss", "validation loss", "validation error %", numbers=4)
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


def _figure(value: float | None, metric: Metric) -> str:
    return f"{metric.shown(value or 0.0):.{2 if metric.is_fraction else 5}f}"


def _with_spread(config: "BestConfig") -> str:
    """Return the mean with the standard deviation over seeds."""
    values, text = config.values, _figure(config.value.mean, config.metric)
    return f"{text} ({_figure(statistics.stdev(values), config.metric)})" if values[1:] else text


def _chance(config: "BestConfig") -> str:
    return "-" if config.chance_of_best is None else f"{config.chance_of_best:.2f}"


def table_of(*headings: str, numbers: int = 0) -> Table:
    """Return an empty table whose last columns hold numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for index, heading in enumerate(headings):
        right = index >= len(headings) - numbers
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    return table
