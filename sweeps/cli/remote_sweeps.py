"""Commands for a sweep that was submitted to a cluster: they find it there by its name."""

import re
import shutil
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.live import Live
from rich.text import Text as Lines

from sweeps.cli.hints import followed
from sweeps.cli.json_output import is_json_requested
from sweeps.cli.terminal import complain, console, print_place, print_tables, say
from sweeps.cli.verbosity import is_quiet
from sweeps.records.errors import BadInput, SweepError
from sweeps.records.plain_text import showable
from sweeps.records.suggested_command import SuggestedCommand
from sweeps.remote.submissions import Submission, check_known, submission_of

if TYPE_CHECKING:
    from sweeps.remote.head import Head, Show
    from sweeps.remote.messages import Frame, JobState, Text

_INTERRUPTED = 130
_REPORTED = {0, 3}  # exit codes of launches that have come to their tables
_START_SECONDS = 60.0  # until a launch has begun; most do within ten
_LONGEST_LINE = 2**16
_POLL_SECONDS = 1.0
_RESUMING = re.compile(r"^Go on with: .*\n", re.MULTILINE)
_PLACE = re.compile(r"^Report: .*\n", re.MULTILINE)  # it is copied here
OF_RAY = re.compile(
    r"^(?:Running entrypoint for job .*|.*\sINFO job_manager\.py:\d+ -- .*)\n", re.MULTILINE
)


def prints_status_there(
    name: str, storage: str | None = None, tracking_uri: str | None = None
) -> bool:
    """Print the status of a submitted sweep: of its job, and of its cells.

    Args:
        name: Of the sweep.
        storage: The command's storage folder.
        tracking_uri: The command's tracking store.

    Returns:
        False if the sweep was not submitted from here, or the command names its places.

    Raises:
        Exit: With the exit code of the command, unless that is 0.
    """
    if not (submission := submission_of(name, storage, tracking_uri)):
        check_known(name, storage, tracking_uri)
        return False
    head = _head_of(submission)
    printed: list[Text | Frame] = []
    arguments = ["status", name, *["--json"] * is_json_requested(), *_places(submission)]
    code = head.run(arguments, printed.append, columns=_columns())
    job = None if is_json_requested() else head.queued_job(submission)
    message = job.message if job else ""
    goes_on = bool(message and job and not job.has_ended)
    if message:
        say(message)
    if not (code and message):  # before its first launch, only the queue knows the sweep
        for reply in printed:
            _print(_without_resuming(reply) if goes_on else reply)
    if code and not goes_on:
        if not message:
            _print_if_starting(head, submission)
        raise typer.Exit(code)
    leave_report(head, submission)
    _print_costs(submission)
    return True


def _print_costs(submission: Submission) -> None:
    """Say what the head of a cluster on AWS costs, also when idle, and what ends it."""
    from sweeps.remote.aws.prices import machine_price_text
    from sweeps.remote.cluster_file import aws_cluster

    if submission.to != "ray" or submission.on is None or is_json_requested() or is_quiet():
        return
    if config := aws_cluster(submission.on):
        head = config["available_node_types"][config["head_node_type"]]["node_config"]
        costs = machine_price_text(head["InstanceType"])
        say(
            f"The head costs {costs}, also when idle, until: ray down {submission.on} (workers end "
            f"by themselves)"
        )


def _without_resuming(reply: "Text | Frame") -> "Text | Frame":
    """Return what a status prints without the command that resumes: the job resumes by itself."""
    return reply.model_copy(update={"text": _RESUMING.sub("", reply.text)})


def _print_if_starting(head: "Head", submission: Submission) -> None:
    """Say that a job has not begun its launch, or what to do where its cluster is lost."""
    from sweeps.remote.submit import job_state

    try:
        state, _ = job_state(head, submission)
    except BadInput:
        up = f"{head.start_command}, and then " if head.start_command else ""
        complain(
            f"{head.scheduler} does not answer there. If its head was lost: {up}submit the sweep "
            f"again."
        )
        return
    if not state.has_ended:
        begins = f"Job {submission.job_id} is {state.status.lower()}: its launch begins."
        complain(state.message or begins)


def stop_there(submission: Submission, *, is_now: bool) -> bool:
    """End the launch of a submitted sweep where it runs; one that is starting, once it has begun.

    Args:
        submission: The submission.
        is_now: Whether to end it at once.

    Returns:
        Whether there was anything to end.

    Raises:
        Exit: With the exit code of the command there, unless that is 0.
    """
    from sweeps.remote.head import RayHead
    from sweeps.remote.submit import goes_on

    head = _head_of(submission)
    if not isinstance(head, RayHead):
        return _stop_job(head, submission, is_now=is_now)
    arguments = ["stop", submission.sweep, *["--now"] * is_now, "--quiet", *_storage(submission)]
    started_at = time.monotonic()
    is_starting = False
    while True:
        printed: list[Text | Frame] = []
        code = head.run(arguments, printed.append)
        if not code or not goes_on(head, submission):
            break
        if time.monotonic() - started_at > _START_SECONDS:
            head.end(submission)
            say(f"Job {submission.job_id} has begun no launch, so Ray ends it.")
            return True
        if not is_starting and not is_quiet():
            say(f"Job {submission.job_id} is starting: it is stopped once its launch has begun.")
        is_starting = True
        time.sleep(_POLL_SECONDS)
    for reply in printed:
        _print(reply)
    if code:
        _print_if_starting(head, submission)
        raise typer.Exit(code)
    leave_report(head, submission)
    return True


def _stop_job(head: "Head", submission: Submission, *, is_now: bool) -> bool:
    """End the job of a sweep and wait until it has ended; return whether there was one."""
    from sweeps.remote.submit import has_ended

    if has_ended(head, submission):
        say(f"No job of '{submission.sweep}' waits or runs.")
        return False
    if not is_quiet():
        typer.echo(
            f"{head.scheduler} ends the job. Waiting until it has; Ctrl-C ends only the waiting."
        )
    state = head.end(submission, is_now=is_now)
    while not state.has_ended:
        time.sleep(_POLL_SECONDS)
        state = head.follow(submission, lambda _: None, to_its_end=False)
    leave_report(head, submission)
    return True


@contextmanager
def place_of_records(
    name: str, storage: str | None, tracking_uri: str | None
) -> Generator[tuple[str | None, str | None]]:
    """Yield the tracking store and the storage folder of a sweep while the block runs.

    Those that the command names are taken; else, of a submitted sweep, those of its cluster. Where
    these cannot be read from here, the whole command runs there.

    Raises:
        Exit: With the exit code of a command that ran there.
    """
    submission = submission_of(name, storage, tracking_uri)
    if not submission:
        check_known(name, storage, tracking_uri)
        yield tracking_uri, storage
        return
    head = _head_of(submission)
    with head.records(submission.tracking_uri) as uri:
        if uri is None:
            arguments = [*sys.argv[1:], *_places(submission)]
            code = head.run(arguments, _print, columns=_columns())
            leave_report(head, submission)
            raise typer.Exit(code)
        yield uri, None
    leave_report(head, submission)


def follow_to_end(head: "Head", submission: Submission, *, is_live: bool = True) -> int:
    """Show the progress of a submitted sweep until it has ended; return its exit code.

    Args:
        head: The cluster's head.
        submission: The submission.
        is_live: Whether a terminal shows the live view, or lines as they come.
    """
    from sweeps.remote.submit import follow

    try:
        if is_live and sys.stdout.isatty():
            with Live(console=console(), refresh_per_second=2, transient=True) as live:
                state = follow(head, submission, shown_by(live, submission.sweep), complain)
        else:
            state = follow(head, submission, _print, complain)
    except KeyboardInterrupt:
        if not (ended := _ended_state(head, submission)):
            again = f" Follow it again: {followed(submission.resume)}." * bool(submission.resume)
            stop = SuggestedCommand("stop", submission.sweep)
            say(f"'{submission.sweep}' goes on.{again} Stop it: {stop}.")
            return _INTERRUPTED
        state = ended
    if state.status == "UNKNOWN":
        complain(
            f"{head.scheduler} has lost job {submission.job_id}, as after the loss of the head. "
            f"What was trained is not lost: submit the sweep again."
        )
        return 3
    if state.exit_code is None and state.message:
        complain(state.message)
    leave_report(head, submission, shows_tables=state.exit_code in _REPORTED)
    _print_costs(submission)
    return exit_code_of(state)


def _ended_state(head: "Head", submission: Submission) -> "JobState | None":
    """Return the state of a job that has ended, None if it goes on or the cluster is silent."""
    from sweeps.remote.submit import job_state

    try:
        state, _ = job_state(head, submission)
    except BadInput:
        return None
    return state if state.has_ended else None


def _never_began(head: "Head", submission: Submission) -> bool:
    """Return whether a job ended before its launch began, so that nothing is recorded."""
    state = _ended_state(head, submission)
    return state is not None and state.status == "FAILED" and state.exit_code is None


def exit_code_of(state: "JobState") -> int:
    """Return the exit code of the launch in a job."""
    if state.exit_code is not None:
        return state.exit_code
    return {"SUCCEEDED": 0, "STOPPED": _INTERRUPTED}.get(state.status, 3)


def set_concurrency_there(submission: Submission, number: str) -> None:
    """Change how many trials the launch of a submitted sweep trains at once.

    Raises:
        Exit: With the exit code of the command there, unless that is 0.
    """
    arguments = ["limit", submission.sweep, number]
    arguments += ["--quiet"] * is_quiet()
    arguments += _storage(submission)
    if code := _head_of(submission).run(arguments, _print):
        raise typer.Exit(code)


def shown_by(live: Live, sweep: str) -> "Show":
    """Return what shows replies in a terminal: the live view in place, other lines above it."""
    rest = ""

    def show(reply: "Text | Frame") -> None:
        nonlocal rest
        if reply.type == "frame":
            live.update(Lines(showable(reply.text)))
            return
        *lines, rest = (rest + OF_RAY.sub("", reply.text)).split("\n")
        if len(rest) > _LONGEST_LINE:
            lines, rest = [*lines, rest], ""
        for line in lines:
            if not line.startswith(f"{sweep}: ") or " cells done, " not in line:
                live.console.print(Lines(showable(line)), soft_wrap=True)

    return show


def _print(reply: "Text | Frame") -> None:
    if reply.type == "text":
        text = OF_RAY.sub("", reply.text)
        typer.echo("\n".join(map(showable, text.split("\n"))), nl=False)


def leave_report(head: "Head", submission: Submission, *, shows_tables: bool = False) -> None:
    """Write the report of a sweep here once it has ended, if that was not done.

    Args:
        head: The cluster's head.
        submission: The submission of the sweep.
        shows_tables: Whether to print its tables too.
    """
    from sweeps.remote.submit import has_ended, tables_of, write_report_here

    if submission.is_reported:
        return
    try:
        if not has_ended(head, submission):
            return
        with head.records(submission.tracking_uri) as uri:
            if uri is None:
                _copy_report(head, submission, shows_tables=shows_tables)
                return
            report = write_report_here(submission, uri, tables_of(submission))
    except SweepError as error:
        if not _never_began(head, submission):
            complain(f"The report of '{submission.sweep}' is not here yet: {error}")
        return
    if shows_tables:
        print_tables(report)
    if not is_json_requested() and not is_quiet():
        typer.echo(f"On this machine, of '{submission.sweep}':")
        print_place(report)


def _print_tables_there(head: "Head", submission: Submission) -> None:
    """Print the tables of a sweep as wide as this terminal, from where its records lie."""
    from sweeps.remote.submit import sendable

    file = submission.file  # its own tables need it
    sent = sendable(file if file and Path(file).exists() else submission.sweep)
    arguments = ["report", sent.argument, f"--name={submission.sweep}", *_places(submission)]
    printed: list[str] = []
    head.run(arguments, lambda reply: printed.append(reply.text), sent.files, columns=_columns())
    tables = _PLACE.sub("", "".join(printed))
    typer.echo("\n".join(map(showable, tables.split("\n"))), nl=False)


def _columns() -> int | None:
    """Return the width of what is printed there, None where no terminal shows it."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _copy_report(head: "Head", submission: Submission, *, shows_tables: bool) -> None:
    """Copy the report of an ended sweep from where its records lie."""
    from sweeps.remote.head import SlurmLogin
    from sweeps.remote.submit import copy_report_here

    assert isinstance(head, SlurmLogin)
    if shows_tables:
        _print_tables_there(head, submission)
    folder = copy_report_here(head, submission)
    if not is_json_requested() and not is_quiet():
        say(f"On this machine, of '{submission.sweep}': {folder / 'report.html'}")


def _head_of(submission: Submission) -> "Head":
    from sweeps.remote.submit import head_of

    head = head_of(submission)
    if not is_quiet() and not is_json_requested():
        typer.echo(f"{submission.sweep}, as submitted to {head.link.name}:", err=True)
    return head


def _places(submission: Submission) -> list[str]:
    uri = submission.tracking_uri
    return [*_storage(submission), *[f"--tracking-uri={uri}"] * bool(uri)]


def _storage(submission: Submission) -> list[str]:
    return [f"--storage={submission.storage}"] * bool(submission.storage)
