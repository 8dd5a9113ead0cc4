"""`capsweep status`: the launched sweeps, or the cells of one."""

import os
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from capsmodel.spelling import unknown
from sweeps.cli.completion import launched_sweeps
from sweeps.cli.json_output import JsonOption, print_json
from sweeps.cli.options import StorageOption, TrackingOption, launched_name
from sweeps.cli.terminal import console, plain, say, table_of
from sweeps.cli.verbosity import is_quiet
from sweeps.records.errors import BadInput
from sweeps.records.labels import label_sentences, tags_text
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.remote.submissions import submitted_only

if TYPE_CHECKING:
    from sweeps.cli.answers import StatusAnswer
    from sweeps.execution.survey.listing import ListedSweep
    from sweeps.execution.survey.status import CellStatus, SweepStatus
    from sweeps.remote.submissions import Submission

_UNITS = ((172_800, 86_400, "days"), (3600, 3600, "h"), (60, 60, "min"))
_STATES = (
    *("finished", "pruned", "diverged", "failed"),
    *("running", "pending", "waiting", "interrupted", "missing"),
)

_Launched = Annotated[
    str | None,
    typer.Argument(
        metavar="[SWEEP]",
        help="Name of a launched sweep, or its file [default: all].",
        callback=launched_name,
        autocompletion=launched_sweeps,
    ),
]


_Tag = Annotated[
    str | None, typer.Option("--tag", metavar="TEXT", help="List only sweeps with this tag.")
]


def status(
    name: _Launched = None,
    *,
    tag: _Tag = None,
    as_json: JsonOption = False,
    storage: StorageOption = None,
    tracking_uri: TrackingOption = None,
) -> None:
    """Show a sweep's progress, arm by arm; without a name, list all launched sweeps."""
    if name is not None and tag is not None:
        raise BadInput("--tag chooses sweeps of the list: leave it out, or the name.")
    if name is None:
        if tag is None and not as_json and (there := submitted_only(storage, tracking_uri)):
            _print_submitted(there)
            return
        from sweeps.execution.survey.listing import listed_sweeps

        listed = _with_tag(listed_sweeps(tracking_uri, storage), tag)
        if as_json:
            from sweeps.cli.answers import ListedSweepAnswer, SweepsAnswer

            print_json(SweepsAnswer(sweeps=tuple(map(ListedSweepAnswer.of, listed))))
        else:
            _print_list(listed)
        return
    from sweeps.cli.remote_sweeps import prints_status_there

    if prints_status_there(name, storage, tracking_uri):
        return
    if sweeps := _of_data_sets(name, storage, tracking_uri):
        _print_across(sweeps, storage, tracking_uri, as_json=as_json)
        return
    from sweeps.execution.survey.status import sweep_status

    current = sweep_status(name, tracking_uri, storage)
    if as_json:
        print_json(_answer(current))
    else:
        _print_status(current)


def _of_data_sets(name: str, storage: str | None, tracking_uri: str | None) -> list[str]:
    """Return the sweeps of the data sets of a sweep across several, none of any other sweep."""
    from sweeps.aggregation.results.data_set_sweeps import sweeps_by_data_set
    from sweeps.tracking.opening import open_to_read

    return [*sweeps_by_data_set(open_to_read(tracking_uri, storage), name).values()]


def _print_across(
    names: Sequence[str], storage: str | None, tracking_uri: str | None, *, as_json: bool
) -> None:
    """Print a line for each data set."""
    from sweeps.execution.survey.listing import listed_sweeps

    by_name = {listed.sweep: listed for listed in listed_sweeps(tracking_uri, storage)}
    listed = [by_name[name] for name in names if name in by_name]
    if as_json:
        from sweeps.cli.answers import ListedSweepAnswer, SweepsAnswer

        print_json(SweepsAnswer(sweeps=tuple(map(ListedSweepAnswer.of, listed))))
    else:
        _print_list(listed)


def _answer(status: "SweepStatus") -> "StatusAnswer":
    from sweeps.cli.answers import LastLaunch, StatusAnswer

    launch = status.last_launch
    return StatusAnswer.of(
        status,
        counts=status.counts(),
        evaluations=Counter(evaluation.state.value for evaluation in status.evaluations),
        last_launch=launch
        and LastLaunch(
            started_at=launch.started,
            ended_at=launch.ended,
            exit_code=launch.exit_code,
            go_on_with=_resume_hint(status),
        ),
    )


def _with_tag(listed: "Sequence[ListedSweep]", tag: str | None) -> "Sequence[ListedSweep]":
    """Return the sweeps that have a tag, all if none is given.

    Raises:
        BadInput: If none has it.
    """
    chosen = [sweep for sweep in listed if tag is None or tag in sweep.tags]
    if tag is not None and not chosen:
        raise BadInput(unknown("tag", tag, sorted({tag for each in listed for tag in each.tags})))
    return chosen


def _print_list(listed: "Sequence[ListedSweep]") -> None:
    """Print one line for each sweep, then why some cannot be read."""
    from sweeps.storage.disk_room import size_text

    out = console()
    if not listed:
        out.print("No sweep was launched yet.")
        return
    has_failed = any(sweep.num_failed for sweep in listed)
    has_tags = any(sweep.tags for sweep in listed)
    headings = ["sweep", *["tags"] * has_tags, "state", "cells", *["failed"] * has_failed]
    headings += ["size", "last update"]
    giving = ("size", "last update", "failed", "tags")
    table = table_of(*headings, numbers=len(headings) - 2 - has_tags, giving=giving)
    for sweep in listed:
        failed = [str(sweep.num_failed or "")] * has_failed
        size = "-" if sweep.num_bytes is None else size_text(sweep.num_bytes)
        cells = f"{sweep.num_filled:,} of {sweep.num_cells:,}" if sweep.num_cells else "-"
        tags = [plain(tags_text(sweep.tags))] * has_tags
        name = plain(sweep.sweep)
        table.add_row(name, *tags, sweep.state, cells, *failed, size, ago(sweep.last_at))
    out.print(table)
    for sweep in listed:
        if sweep.complaint:
            say(f"{sweep.sweep}: {sweep.complaint}")
    if not is_quiet():
        out.print(f"\nHow far one of them is: {SuggestedCommand('status', 'NAME')}.")


def _print_submitted(submissions: "Sequence[Submission]") -> None:
    """Print a line for each sweep that was submitted from this machine."""
    out = console()
    table = table_of("sweep", "submitted to", "submitted")
    for submission in submissions:
        table.add_row(
            plain(submission.sweep),
            plain(submission.on or submission.address or ""),
            ago(submission.submitted_at),
        )
    out.print(table)
    if not is_quiet():
        out.print(f"\nHow far one of them is: {SuggestedCommand('status', 'NAME')}.")


def ago(moment: float | None, now: float | None = None) -> str:
    """Return how long ago a moment was: "3 h ago", "-" if it is not known.

    Args:
        moment: In seconds since 1970.
        now: Likewise; None takes the clock.
    """
    if moment is None:
        return "-"
    seconds = (time.time() if now is None else now) - moment
    for least, size, unit in _UNITS:
        if seconds >= least:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def _print_status(status: "SweepStatus") -> None:
    """Print how far a sweep is, arm by arm."""
    from sweeps.tracking.validation import deleted_trials_text

    out = console()
    if status.is_running and not status.cells:
        out.print(f"{plain(status.sweep)}: a launch is starting; it has no cells yet.")
        return
    shown = [state for state in _STATES if status.counts()[state]]
    table = table_of("arm", *shown, numbers=len(shown), giving=shown[::-1])
    for arm in status.arms:
        counts = status.counts(arm)
        table.add_row(plain(arm), *(str(counts[state] or "") for state in shown))
    out.print(table)
    counts = ", ".join(f"{status.counts()[state]} {state}" for state in shown)
    cells = f"{len(status.cells)} cell{'s' * (len(status.cells) != 1)}"
    out.print(f"{plain(status.sweep)}: {cells} so far: {counts}.")
    if status.ending:
        say(f"The search {status.ending}.")
    _print_cells(status)
    print_alarms(status)
    print_evaluations(status)
    if deleted := deleted_trials_text(status.num_deleted, status.sweep):
        say(deleted.here)
    elif not status.is_recorded:
        out.print("Some finished trials are not yet in MLflow: run the sweep again to carry them.")
    if status.last_launch or status.is_running:
        out.print(_last_launch(status))
    again = _resume_hint(status)
    for sentence in filter(None, (_earlier_report(status), again and f"Go on with: {again}")):
        say(sentence)


def _print_cells(status: "SweepStatus") -> None:
    """Print tags and note, which cells wait or run, and why others did not finish."""
    out = console()
    for sentence in label_sentences(status.tags, status.note):
        say(sentence)
    waiting = Counter(cell.epoch for cell in status.cells if cell.state == "waiting")
    for epoch, count in sorted(waiting.items()):
        out.print(f"waiting to be promoted or stopped: {count} at epoch {epoch}")
    for cell in status.cells:
        place = f"{plain(cell.cell.arm)}, seed {cell.cell.seed}"
        if cell.state == "running":
            out.print(f"running: {place}, epoch {cell.epoch}{_on_gpu(cell)}{_stall(cell)}")
        elif cell.is_evaluating:
            out.print(f"evaluating: {place}, {_made(status, cell.cell.trial_key)}")
        elif cell.reason:
            out.print(f"{cell.state}: {place}: {plain(cell.reason)}")


def print_alarms(status: "SweepStatus") -> None:
    """Print what is unsound in trainings, also in those that run: a line for each arm."""
    from sweeps.aggregation.results.health import alarm_sentences

    alarms = {arm: list[tuple[str, ...]]() for arm in status.arms}
    for cell in status.cells:
        if cell.epoch:
            alarms[cell.cell.arm].append(cell.warnings)
    for sentence in alarm_sentences(alarms, "--json"):
        say(sentence)


def _on_gpu(cell: "CellStatus") -> str:
    """Return where a cell runs: ", on GPU 2 (peak 1.4 GiB)"."""
    from sweeps.storage.disk_room import size_text

    if not cell.gpu:
        return ""
    peak = cell.peak_gpu_bytes
    return f", on GPU {plain(cell.gpu)}" + (f" (peak {size_text(peak)})" if peak else "")


def _stall(cell: "CellStatus") -> str:
    """Return where a cell is that has no batch for long: ", no batch has ended for 75 s: ..."."""
    from sweeps.execution.worker.stack_watch import stall_text

    seconds = cell.stalled_seconds
    return f", {plain(stall_text(seconds, cell.line))}" if seconds else ""


def _made(status: "SweepStatus", trial_key: str) -> str:
    """Return how many of a trial's evaluations are made: "1 of 3 made"."""
    from sweeps.execution.survey.surveyed_evaluations import EvaluationState, count

    mine = [evaluation for evaluation in status.evaluations if evaluation.trial_key == trial_key]
    return f"{len(mine) - count(mine, EvaluationState.TO_MAKE)} of {len(mine)} made"


def print_evaluations(status: "SweepStatus") -> None:
    """Print for each evaluation that a sweep declares how many trials have it."""
    from sweeps.execution.survey.surveyed_evaluations import EvaluationState, count
    from sweeps.records.evaluation_names import evaluation_title

    texts = {
        EvaluationState.RECORDED: "recorded",
        EvaluationState.TO_RECORD: "made and not yet recorded",
        EvaluationState.TO_MAKE: "missing",
        EvaluationState.NOT_AVAILABLE: "not available, as the weights were not kept",
    }
    for declared in status.declared:
        mine = [
            evaluation for evaluation in status.evaluations if evaluation.evaluation == declared
        ]
        counts = {state: count(mine, state) for state in texts}
        parts = [f"{counts[state]} {text}" for state, text in texts.items() if counts[state]]
        title = evaluation_title(declared.kind, declared.settings)
        say(f"evaluation {title}: {', '.join(parts) or 'no trial has finished yet'}")


def _last_launch(status: "SweepStatus") -> str:
    from sweeps.records.plain_text import duration_text

    launch = status.last_launch
    if status.is_running:
        if (asked := status.concurrency) is None:
            return "A launch runs now."
        most = f"{asked.max_concurrent:,} at most" if asked.max_concurrent else "as many as fit"
        return f"A launch runs now; trials at once, as asked meanwhile: {most}."
    if launch is None or launch.ended is None:
        return "The last launch was killed."
    took = duration_text(launch.ended - launch.started)
    how = "was interrupted" if launch.exit_code == 130 else f"ended with code {launch.exit_code}"
    return f"The last launch took {took} and {how}."


def _earlier_report(status: "SweepStatus") -> str:
    """Return that the report next to the launch is from before it, "" if it is not known to be."""
    from sweeps.storage.folder import Folder

    launch = status.last_launch
    if launch is None or any(each.startswith("--reports") for each in launch.arguments):
        return ""
    folder = Folder(Path(launch.folder, "reports"), status.sweep)
    try:
        with folder.opened() as descriptor:
            page = os.stat("report.html", dir_fd=descriptor, follow_symlinks=False)
    except (OSError, BadInput):
        return ""
    if page.st_mtime >= launch.started:
        return ""
    return f"The report in {folder.path} is from before this launch."


def _resume_hint(status: "SweepStatus") -> str | None:
    """Return what resumes the last launch if it did not end well; None if nothing has to."""
    from sweeps.cli.hints import resume_hint

    launch = status.last_launch
    if launch is None or status.is_running or launch.exit_code == 0:
        return None
    return resume_hint(
        launch.arguments, Path(launch.folder) if launch.folder else None, status.sweep
    )
